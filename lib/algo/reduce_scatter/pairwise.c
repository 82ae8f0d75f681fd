/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Reduce-scatter by pairwise exchange (Thakur, Rabenseifner, Gropp 2005, 4.4).
 * Each rank combines its own block by the fixed tree.
 *
 *   scratch  O(log p) own blocks
 *   order    CANONICAL
 */
#include "algo/phase/pairwise.h"

static struct rcx_cost cost(const struct rcx_shape *s)
{
    const struct rcx_blocks blocks = rcx_blocks_of(s);

    return rcx_pairwise_reduce_scatter_cost(&blocks);
}

static void build(struct rcx_builder *b, const struct rcx_shape *s)
{
    const struct rcx_group all = rcx_group_all(s);
    const struct rcx_blocks blocks = rcx_blocks_of(s);

    rcx_pairwise_reduce_scatter(b, &all, &blocks, rcx_span_in(s),
                                rcx_span_out(s));
}

const struct rcx_algo rcx_reduce_scatter_pairwise = {
    .name = "pairwise",
    .coll = RCX_COLL_REDUCE_SCATTER,
    .formula = "(p-1) a + n (p-1)/p b + n (p-1)/p g",
    .known_as = "MPICH: pairwise",
    .source = "Thakur, Rabenseifner, Gropp 2005, 4.4",
    .level = RCX_ORDER_CANONICAL,
    .at_once = true,
    .cost = cost,
    .build = build,
};
