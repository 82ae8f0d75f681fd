/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Ring reduce-scatter and allgather over a group, with their costs, as phases
 * of the ring algorithms and of others. ring.h has the contracts.
 */
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
    /* needed for one operand, and in place if result clashes with it */
    rcx_step_copy(b, result, partial);
}

static size_t chunks_in(size_t count, size_t chunk)
{
    if (chunk == 0)
        return count > 0;
    return count / chunk + (count % chunk != 0);
}

/* Return chunk i of a block; empty after the last one. */
static struct rcx_span chunk_of(struct rcx_span block, size_t chunk, size_t i)
{
    const size_t at =
        i < chunks_in(block.count, chunk) ? i * chunk : block.count;
    const size_t left = block.count - at;

    return rcx_span_sub(block, at, chunk && chunk < left ? chunk : left);
}

/* Allgather along the ring. Member full, which may be NONE, receives
 * nothing. */
static void pass_on(struct rcx_builder *b, const struct rcx_group *g,
                    const struct rcx_blocks *blocks, size_t chunk,
                    struct rcx_span vector, int full)
{
    const int me = g->rank, p = g->size;
    const int above = wrap(g, me + 1), below = wrap(g, me - 1);

    for (int t = 0; t < p - 1; t++) {
        const struct rcx_span coming =
            rcx_block(blocks, vector, wrap(g, me - 1 - t));
        const struct rcx_span going =
            rcx_block(blocks, vector, wrap(g, me - t));
        const size_t longer =
            coming.count > going.count ? coming.count : going.count;

        for (size_t i = 0; i < chunks_in(longer, chunk); i++) {
            if (me != full)
                rcx_step_recv(b, rcx_group_member(g, below),
                              chunk_of(coming, chunk, i));
            if (above != full)
                rcx_step_send(b, rcx_group_member(g, above),
                              chunk_of(going, chunk, i));
        }
    }
}

void rcx_ring_allgather(struct rcx_builder *b, const struct rcx_group *g,
                        const struct rcx_blocks *blocks, size_t chunk,
                        struct rcx_span vector)
{
    pass_on(b, g, blocks, chunk, vector, NONE);
}

void rcx_ring_allgather_others(struct rcx_builder *b, const struct rcx_group *g,
                               const struct rcx_blocks *blocks,
                               struct rcx_span vector, int full)
{
    pass_on(b, g, blocks, 0, vector, full);
}

/* ---- Costs --------------------------------------------------------------- */

struct rcx_cost rcx_ring_reduce_scatter_cost(const struct rcx_blocks *blocks)
{
    const double steps = blocks->n - 1;
    const double elements = steps * (double)rcx_blocks_largest(blocks);

    return (struct rcx_cost){
        .rounds = steps, .volume = elements, .combines = elements};
}

static double lesser(double a, double b)
{
    return a < b ? a : b;
}

/* Return the chunks of all blocks but the shortest one. */
static double chunks_of_most(const struct rcx_blocks *blocks, size_t chunk)
{
    const struct rcx_span vector = {.count = blocks->count};
    size_t least = SIZE_MAX, sum = 0;

    for (int i = 0; i < blocks->n; i++) {
        const size_t n = chunks_in(rcx_block(blocks, vector, i).count, chunk);

        sum += n;
        least = n < least ? n : least;
    }
    return (double)(sum - least);
}

/* The cost is that of blocks as long as the longest. With chunks it is less if
 * blocks are unequal: the last chunk waits for at most p - 2 others. */
struct rcx_cost rcx_ring_allgather_cost(const struct rcx_blocks *blocks,
                                        size_t chunk)
{
    const double steps = blocks->n - 1;
    const size_t largest = rcx_blocks_largest(blocks);
    struct rcx_cost cost = {.rounds = steps, .volume = steps * (double)largest};
    double flow;

    if (chunk == 0 || blocks->n == 1)
        return cost;
    flow = chunks_of_most(blocks, chunk) + steps - 1;
    cost.rounds = lesser(steps * (double)chunks_in(largest, chunk), flow);
    cost.volume = lesser(cost.volume, flow * (double)chunk);
    return cost;
}
