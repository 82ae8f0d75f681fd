/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Reduce-scatter by binary blocks (Thakur, Rabenseifner, Gropp 2005, 5.2, up to
 * the gather).
 *
 *   scratch  n when p = 2^k, else at most 2 n
 *   order    CANONICAL
 *
 * The ranks form cubes, one for each binary digit 1 of p. Each cube does
 * recursive halving; partial results go from smaller to larger cubes. In the
 * largest cube each rank ends with a part of one or two whole blocks, spread
 * evenly. To keep rank order the parts end in bit-reversed order, so one or two
 * last messages take blocks to their ranks.
 */
#include "algo/phase/binary_blocks.h"

static double smaller(double a, double b)
{
    return a < b ? a : b;
}

/* Irregular blocks count as if all were as long as the longest, but no message
 * is longer than the vector. */
static struct rcx_cost cost(const struct rcx_shape *s)
{
    const struct rcx_blocks blocks = rcx_blocks_of(s);
    const double block = (double)rcx_blocks_largest(&blocks);
    const struct rcx_cost up = rcx_binary_blocks_up_cost(s->size, s->size);
    const struct rcx_cost out =
        rcx_halving_hand_out_cost(s, rcx_halving_handed(s->size));
    const double rounds = up.rounds + out.rounds;
    const double most = rounds * (double)s->count;

    return (struct rcx_cost){.rounds = rounds,
                             .volume =
                                 smaller(block * up.volume + out.volume, most),
                             .combines = smaller(block * up.combines, most)};
}

static void build(struct rcx_builder *b, const struct rcx_shape *s)
{
    const struct rcx_blocks blocks = rcx_blocks_of(s);
    const struct rcx_halving mine = rcx_binary_blocks_cube(s, &blocks, s->rank);
    const struct rcx_halving largest = rcx_binary_blocks_cube(s, &blocks, 0);
    const struct rcx_span part = rcx_halving_place(b, &mine);

    rcx_binary_blocks_up(b, s, &blocks, part);
    rcx_halving_hand_out(b, &largest, part);
}

const struct rcx_algo rcx_reduce_scatter_binary_blocks = {
    .name = "binary_blocks",
    .coll = RCX_COLL_REDUCE_SCATTER,
    .formula = "p = 2^k: (k + e) a + n (p-1+e)/p b + n (p-1)/p g, k = "
               "floor(lg p), e = [p > 2]; else about 2^d a more per gap d "
               "in p's digits, up to 3/2 n b + n/2 g more",
    .source = "Thakur, Rabenseifner, Gropp 2005, 5.2",
    .level = RCX_ORDER_CANONICAL,
    .cost = cost,
    .build = build,
};
