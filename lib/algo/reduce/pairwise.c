/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Reduce by pairwise exchange: reduce-scatter, then binomial gather to the root
 * (Thakur, Rabenseifner, Gropp 2005, 5.3, where blocks go to the root one by
 * one).
 *
 *   scratch  O(log p) n / p; elsewhere than at the root up to n / 2 more, to
 *            collect blocks
 *   order    CANONICAL
 *
 * A block's operands arrive at its owner one by one and are combined there by
 * the fixed tree, for every root.
 */
#include "algo/phase/gather.h"
#include "algo/phase/pairwise.h"

static struct rcx_cost cost(const struct rcx_shape *s)
{
    const struct rcx_blocks blocks = rcx_blocks_of(s);

    return rcx_cost_sum(rcx_pairwise_reduce_scatter_cost(&blocks),
                        rcx_gather_cost(&blocks));
}

static void build(struct rcx_builder *b, const struct rcx_shape *s)
{
    rcx_gather_reduced(b, s, rcx_pairwise_reduce_scatter);
}

const struct rcx_algo rcx_reduce_pairwise = {
    .name = "pairwise",
    .coll = RCX_COLL_REDUCE,
    .formula = "(p-1 + ceil(lg p)) a + 2 n (p-1)/p b + n (p-1)/p g",
    .source = "Thakur, Rabenseifner, Gropp 2005, 5.3; gather: 4.5",
    .level = RCX_ORDER_CANONICAL,
    .at_once = true,
    .cost = cost,
    .build = build,
};
