/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Barrier by nodes, with several ranks of each node in a round (Huang et al.
 * 2023, PiP-MColl; the rounds: Bienz, Gautam, Kharel 2022, arXiv 2206.03564);
 * nodes may have any number of ranks in any order.
 *
 *   scratch  2 c and up to 3 N elements, N nodes of c ranks
 *
 * All ranks of a node tell each other that they are there. Then all hear of all
 * nodes, by dissemination to the radix c + 1. The elements carry no data; an
 * element of a node is written when all elements of its ranks have arrived.
 */
#include "algo/phase/multi_object.h"

static struct rcx_cost cost(const struct rcx_shape *s)
{
    struct rcx_cost all =
        rcx_multi_object_cost(RCX_COLL_ALLGATHER, s, (size_t)s->nodes->most, 1);

    all.volume = all.saved.volume = 0;
    for (int l = 0; l < RCX_LEVELS; l++)
        all.across[l].volume = 0;
    return all;
}

static void build(struct rcx_builder *b, const struct rcx_shape *s)
{
    const struct rcx_group node = rcx_by_nodes_neighbours(s);
    const size_t ranks = (size_t)node.size, nodes = (size_t)s->nodes->count;
    const struct rcx_phase within =
        rcx_by_nodes_within(RCX_COLL_ALLGATHER, s, node.size, ranks);
    const struct rcx_blocks parts = {.count = nodes, .n = (int)nodes};
    const struct rcx_span told = rcx_span_scratch(b, ranks);
    const struct rcx_span seen = rcx_span_scratch(b, ranks);
    const struct rcx_span all = rcx_span_scratch(b, nodes);

    rcx_sched_within(b, &within, &node, rcx_span_scratch(b, 1), told);
    rcx_step_copy(b, seen, told);
    rcx_step_copy(b, rcx_block(&parts, all, rcx_by_nodes_own(s)),
                  rcx_span_sub(seen, 0, 1));
    rcx_multi_object_allgather(b, s, &parts, all);
}

const struct rcx_algo rcx_barrier_multi_object = {
    .name = "multi_object",
    .coll = RCX_COLL_BARRIER,
    .formula = "allgather on c ranks; each w = (c+1)^i < N: a, and allgather "
               "on c ranks; N nodes of c ranks",
    .needs = RCX_MULTI_OBJECT_NEEDS,
    .known_as = "PiP-MColl",
    .source = RCX_MULTI_OBJECT_SOURCE,
    .is_by_nodes = true,
    .level = RCX_ORDER_CANONICAL,
    .fits = rcx_multi_object_fits,
    .cost = cost,
    .build = build,
};
