/* SPDX-License-Identifier: BSD-3-Clause */
#include "algo/phase/ring.h"

enum { NONE = -1 };

static int wrap(const struct rcx_group *g, int i)
{
    return (i % g->size + g->size) % g->size;
}

void rcx_ring_reduce_scatter(struct rcx_builder *b, const struct rcx_group *g,
                             const struct rcx_blocks *blocks,
                             struct rcx_span operand, struct rcx_span result)
{
    const int me = g->rank, p = g->size;
    const int above = rcx_group_member(g, wrap(g, me + 1));
    const int below = rcx_group_member(g, wrap(g, me - 1));
    const size_t largest = rcx_blocks_largest(blocks);
    const struct rcx_span scratch[] = {rcx_span_scratch(b, largest),
                                       rcx_span_scratch(b, largest)};
    struct rcx_span partial = rcx_block(blocks, operand, wrap(g, me - 1));

    for (int t = 0; t < p - 1; t++) {
        const struct rcx_span own =
            rcx_block(blocks, operand, wrap(g, me - 2 - t));
        const struct rcx_span theirs =
            rcx_span_sub(scratch[t % 2], 0, own.count);
        const bool ends = t == p - 2 && !rcx_span_clash(b->shape, result, own);
        const struct rcx_span sum = ends ? result : theirs;

        rcx_step_recv(b, below, theirs);
        rcx_step_send(b, above, partial);
        rcx_step_reduce(b, sum, theirs, own);
        partial = sum;
    }
    /* a single operand, or in place where the result lies across one */
    rcx_step_copy(b, result, partial);
}

void rcx_ring_allgather(struct rcx_builder *b, const struct rcx_group *g,
                        const struct rcx_blocks *blocks, struct rcx_span vector)
{
    rcx_ring_allgather_others(b, g, blocks, vector, NONE);
}

void rcx_ring_allgather_others(struct rcx_builder *b, const struct rcx_group *g,
                               const struct rcx_blocks *blocks,
                               struct rcx_span vector, int full)
{
    const int me = g->rank, p = g->size;
    const int above = wrap(g, me + 1), below = wrap(g, me - 1);

    for (int t = 0; t < p - 1; t++) {
        if (me != full)
            rcx_step_recv(b, rcx_group_member(g, below),
                          rcx_block(blocks, vector, wrap(g, me - 1 - t)));
        if (above != full)
            rcx_step_send(b, rcx_group_member(g, above),
                          rcx_block(blocks, vector, wrap(g, me - t)));
    }
}

/* ---- Costs --------------------------------------------------------------- */

struct rcx_cost rcx_ring_reduce_scatter_cost(const struct rcx_blocks *blocks)
{
    const double steps = blocks->n - 1;
    const double elements = steps * (double)rcx_blocks_largest(blocks);

    return (struct rcx_cost){
        .rounds = steps, .volume = elements, .combines = elements};
}

struct rcx_cost rcx_ring_allgather_cost(const struct rcx_blocks *blocks)
{
    const double steps = blocks->n - 1;

    return (struct rcx_cost){
        .rounds = steps, .volume = steps * (double)rcx_blocks_largest(blocks)};
}
