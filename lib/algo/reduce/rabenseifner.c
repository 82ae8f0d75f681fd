/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Reduce by Rabenseifner: vector halving and distance doubling, then a binomial
 * gather (Thakur, Rabenseifner, Gropp 2005, 5.1).
 *
 *   scratch  2 n; 5/2 n where folded; n less at the root
 *   order    UNIFORM; CANONICAL when p is 1..10..0 in binary
 *
 * Let p = 2^k + r. Ranks 0..2r-1 first fold in pairs, in halves, into the even
 * rank, or into the odd rank if that is the root. The 2^k ranks that stay
 * reduce-scatter by recursive halving, neighbours first. They gather their
 * parts to the root by the same exchanges in reverse.
 */
#include "algo/phase/fold.h"
#include "algo/phase/halving.h"

static struct rcx_cost cost(const struct rcx_shape *s)
{
    const int cube = rcx_pow2_floor(s->size);
    const double n = (double)s->count;
    const struct rcx_cost core =
        rcx_cost_sum(rcx_halving_reduce_scatter_cost(cube, n),
                     rcx_halving_allgather_cost(cube, n));

    return rcx_cost_sum(rcx_fold_halves_in_cost(s),
                        rcx_fold_core_cost(s, core));
}

static void build(struct rcx_builder *b, const struct rcx_shape *s)
{
    const struct rcx_span vector =
        s->rank == s->root ? rcx_span_out(s) : rcx_span_scratch(b, s->count);
    struct rcx_span mine = rcx_span_in(s);
    struct rcx_halving h = {.near_first = true};

    h.group = rcx_fold_halves_in(b, s, s->root, vector, &mine);
    if (h.group.rank < 0)
        return;
    h.blocks = (struct rcx_blocks){.count = s->count, .n = h.group.size};
    rcx_halving_reduce_scatter(b, &h, mine, rcx_halving_own(&h, vector));
    rcx_halving_gather(b, &h, rcx_fold_member(s, s->root), vector);
}

const struct rcx_algo rcx_reduce_rabenseifner = {
    .name = "rabenseifner",
    .coll = RCX_COLL_REDUCE,
    .formula = "2 k a + (1 - 1/2^k) (2 n b + n g) + [p > 2^k] (2 a + n b "
               "+ n/2 g), k = floor(lg p)",
    .known_as = "MPICH: reduce_scatter_gather; Open MPI: rabenseifner "
                "(redscat_gather); UCC: srg_knomial of radix 2",
    .source = "Thakur, Rabenseifner, Gropp 2005, 5.1",
    .order = rcx_fold_order,
    .cost = cost,
    .build = build,
};
