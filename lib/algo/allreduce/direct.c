/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Allreduce by direct exchange: every rank sends its vector to every other one
 * and combines all of them by the fixed tree.
 *
 *   scratch  (p - 1) n
 *   order    CANONICAL
 *
 * A rank waits only once, as nothing that it sends depends on what it receives.
 * So this is the fastest algorithm for short vectors on few ranks, most of all
 * where ranks share cores and each wait costs a context switch.
 */
#include "algo/phase/pairwise.h"

static struct rcx_cost cost(const struct rcx_shape *s)
{
    return rcx_pairwise_allreduce_cost(s->size, (double)s->count);
}

static void build(struct rcx_builder *b, const struct rcx_shape *s)
{
    const struct rcx_group all = rcx_group_all(s);

    rcx_pairwise_allreduce(b, &all, rcx_span_in(s), rcx_span_out(s));
}

const struct rcx_algo rcx_allreduce_direct = {
    .name = "direct",
    .coll = RCX_COLL_ALLREDUCE,
    .formula = "(p-1) (a + n b + n g)",
    .source = "all-to-all broadcast and local reduction; order: design",
    .level = RCX_ORDER_CANONICAL,
    .at_once = true,
    .cost = cost,
    .build = build,
};
