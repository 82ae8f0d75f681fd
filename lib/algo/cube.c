/* SPDX-License-Identifier: BSD-3-Clause */
#include "algo/cube.h"

int rcx_cube_reverse(int value, int bits)
{
    int reversed = 0;

    for (int k = 0; k < bits; k++)
        reversed = reversed << 1 | (value >> k & 1);
    return reversed;
}

struct rcx_span rcx_cube_segment(const struct rcx_blocks *blocks,
                                 struct rcx_span vector, int depth, int i)
{
    const struct rcx_span first = rcx_block(
        blocks, vector, rcx_cube_first_block(blocks, depth, i));
    const struct rcx_span last = rcx_block(
        blocks, vector, rcx_cube_first_block(blocks, depth, i + 1) - 1);

    return rcx_span_sub(first, 0, last.offset + last.count - first.offset);
}

struct rcx_span rcx_cube_halve(struct rcx_builder *b, const struct rcx_group *g,
                               const struct rcx_blocks *blocks,
                               struct rcx_span operand, struct rcx_span work)
{
    struct rcx_span mine = operand; /* my segment of it counts */
    int segment = 0, depth = 0;

    for (int dist = 1; dist < g->size; dist *= 2) {
        const int peer = rcx_group_member(g, g->rank ^ dist);
        const bool is_left = (g->rank & dist) == 0;
        struct rcx_span sum, own, theirs;

        depth++;
        segment = 2 * segment + !is_left;
        sum = rcx_cube_segment(blocks, work, depth, segment);
        own = rcx_cube_segment(blocks, mine, depth, segment);
        theirs = rcx_span_scratch(b, own.count);
        rcx_step_recv(b, peer, theirs);
        rcx_step_send(b, peer,
                      rcx_cube_segment(blocks, mine, depth, segment ^ 1));
        if (is_left)
            rcx_step_reduce(b, sum, own, theirs);
        else
            rcx_step_reduce(b, sum, theirs, own);
        mine = work;
    }
    return mine;
}

void rcx_cube_double(struct rcx_builder *b, const struct rcx_group *g,
                     const struct rcx_blocks *blocks, struct rcx_span vector)
{
    int depth = rcx_log2_floor(g->size);
    int segment = rcx_cube_reverse(g->rank, depth);

    for (int dist = g->size / 2; dist > 0; dist /= 2) {
        const int peer = rcx_group_member(g, g->rank ^ dist);

        rcx_step_recv(b, peer,
                      rcx_cube_segment(blocks, vector, depth, segment ^ 1));
        rcx_step_send(b, peer,
                      rcx_cube_segment(blocks, vector, depth, segment));
        depth--;
        segment /= 2;
    }
}

void rcx_cube_gather(struct rcx_builder *b, const struct rcx_group *g,
                     const struct rcx_blocks *blocks, int root,
                     struct rcx_span vector)
{
    int depth = rcx_log2_floor(g->size);
    int segment = rcx_cube_reverse(g->rank, depth);

    for (int dist = g->size / 2; dist > 0; dist /= 2) {
        const int peer = rcx_group_member(g, g->rank ^ dist);

        if ((g->rank ^ root) & dist) {
            rcx_step_send(b, peer,
                          rcx_cube_segment(blocks, vector, depth, segment));
            return;
        }
        rcx_step_recv(b, peer,
                      rcx_cube_segment(blocks, vector, depth, segment ^ 1));
        depth--;
        segment /= 2;
    }
}
