/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Allreduce by binary blocks (Thakur, Rabenseifner, Gropp 2005, 5.2).
 *
 *   scratch  n
 *   order    CANONICAL
 *
 * The ranks form cubes, one for each binary digit 1 of p. Each cube does
 * recursive halving. Partial results go from smaller to larger cubes, results
 * go back, and each cube does recursive doubling. Best if few zeros separate
 * the ones of p.
 */
#include "algo/phase/binary_blocks.h"

static struct rcx_cost cost(const struct rcx_shape *s)
{
    const int cube = rcx_pow2_floor(s->size);
    const double block = (double)s->count / cube;
    const struct rcx_cost c =
        rcx_cost_sum(rcx_binary_blocks_up_cost(s->size, cube),
                     rcx_binary_blocks_down_cost(s->size));

    return (struct rcx_cost){.rounds = c.rounds,
                             .volume = block * c.volume,
                             .combines = block * c.combines};
}

static void build(struct rcx_builder *b, const struct rcx_shape *s)
{
    const struct rcx_blocks blocks = {.count = s->count,
                                      .n = rcx_pow2_floor(s->size)};
    const struct rcx_halving mine = rcx_binary_blocks_cube(s, &blocks, s->rank);
    const struct rcx_span out = rcx_span_out(s);

    rcx_binary_blocks_up(b, s, &blocks, rcx_halving_own(&mine, out));
    rcx_binary_blocks_down(b, s, &blocks, out);
}

const struct rcx_algo rcx_allreduce_binary_blocks = {
    .name = "binary_blocks",
    .coll = RCX_COLL_ALLREDUCE,
    .formula = "p = 2^k: 2 k a + (p-1)/p (2 n b + n g), k = floor(lg p); "
               "else about 2^d a more per gap d in p's digits, up to 2 n "
               "b + n/2 g more",
    .source = "Thakur, Rabenseifner, Gropp 2005, 5.2",
    .level = RCX_ORDER_CANONICAL,
    .cost = cost,
    .build = build,
};
