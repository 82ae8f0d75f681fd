/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Reduce by binary blocks (Thakur, Rabenseifner, Gropp 2005, 5.2).
 *
 *   scratch  2 n; n at the root
 *   order    CANONICAL
 *
 * The ranks form cubes, one for each binary digit 1 of p. Each cube does
 * recursive halving; partial results go from smaller to larger cubes; the
 * largest cube gathers to the root. A root outside of it receives the part of
 * rank 0 and gathers in place of rank 0, whose part is complete before the
 * others.
 */
#include "algo/phase/binary_blocks.h"

static struct rcx_cost cost(const struct rcx_shape *s)
{
    const int cube = rcx_pow2_floor(s->size);
    const double block = (double)s->count / cube;
    const struct rcx_cost c =
        rcx_cost_sum(rcx_binary_blocks_up_cost(s->size, cube),
                     rcx_halving_allgather_cost(cube, cube));

    return (struct rcx_cost){.rounds = c.rounds,
                             .volume = block * c.volume,
                             .combines = block * c.combines};
}

/* Return member i of the largest cube, in which a root from outside replaces
 * rank 0. */
static int seat(const struct rcx_group *g, int i)
{
    return i == 0 ? g->a : i;
}

static void seat_root(struct rcx_group *g, const struct rcx_shape *s)
{
    if (s->rank == 0 || s->rank == s->root)
        g->rank = s->rank == 0 ? -1 : 0;
    g->member = seat;
    g->a = s->root;
}

static void build(struct rcx_builder *b, const struct rcx_shape *s)
{
    const struct rcx_blocks blocks = {.count = s->count,
                                      .n = rcx_pow2_floor(s->size)};
    const bool is_outside = s->root >= blocks.n;
    const struct rcx_span vector =
        s->rank == s->root ? rcx_span_out(s) : rcx_span_scratch(b, s->count);
    const struct rcx_halving mine = rcx_binary_blocks_cube(s, &blocks, s->rank);
    struct rcx_halving h = rcx_binary_blocks_cube(s, &blocks, 0);

    rcx_binary_blocks_up(b, s, &blocks, rcx_halving_own(&mine, vector));
    if (is_outside) {
        if (s->rank == 0)
            rcx_step_send(b, s->root, rcx_block(&blocks, vector, 0));
        if (s->rank == s->root)
            rcx_step_recv(b, 0, rcx_block(&blocks, vector, 0));
        seat_root(&h.group, s);
    }
    if (h.group.rank >= 0)
        rcx_halving_gather(b, &h, is_outside ? 0 : s->root, vector);
}

const struct rcx_algo rcx_reduce_binary_blocks = {
    .name = "binary_blocks",
    .coll = RCX_COLL_REDUCE,
    .formula = "p = 2^k: 2 k a + (p-1)/p (2 n b + n g), k = floor(lg p); "
               "else about 2^d a more per gap d in p's digits, up to 3/2 "
               "n b + n/2 g more",
    .source = "Thakur, Rabenseifner, Gropp 2005, 5.2",
    .level = RCX_ORDER_CANONICAL,
    .cost = cost,
    .build = build,
};
