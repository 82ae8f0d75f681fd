/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Bcast by nodes (MPICH's SMP-aware bcast), which may have any number of ranks
 * in any order: from the root to a leader of each other node, then from the
 * leaders within their nodes. The vector goes once over the link of a node.
 *
 *   cost     that of a bcast on the nodes, and one in the largest of them
 *   scratch  none
 *
 * Each phase is the cheapest algorithm for its group.
 */
#include "algo/phase/by_nodes.h"

static struct rcx_cost cost(const struct rcx_shape *s)
{
    return rcx_cost_sum(rcx_by_nodes_between_cost(RCX_COLL_BCAST, s, s->count),
                        rcx_by_nodes_within_cost(RCX_COLL_BCAST, s, s->count));
}

static void build(struct rcx_builder *b, const struct rcx_shape *s)
{
    const struct rcx_group node = rcx_by_nodes_neighbours(s);
    const struct rcx_group leaders = rcx_group_leaders(s);
    const struct rcx_span vector = rcx_span_vector(s);
    struct rcx_phase between =
        rcx_by_nodes_between(RCX_COLL_BCAST, s, s->count);
    struct rcx_phase within =
        rcx_by_nodes_within(RCX_COLL_BCAST, s, node.size, s->count);

    between.root = s->nodes->node[s->root];
    within.root = rcx_by_nodes_leader(s);
    rcx_sched_within(b, &between, &leaders, vector, vector);
    rcx_sched_within(b, &within, &node, vector, vector);
}

const struct rcx_algo rcx_bcast_hierarchical = {
    .name = "hierarchical",
    .coll = RCX_COLL_BCAST,
    .formula = "bcast on N and on c ranks; N nodes of c ranks",
    .needs = RCX_BY_NODES_NEEDS,
    .known_as = "MPICH: smp; Open MPI: han; UCC: cl/hier 2step",
    .source = "composition: design",
    .is_by_nodes = true,
    .level = RCX_ORDER_CANONICAL,
    .fits = rcx_by_nodes_fits,
    .cost = cost,
    .build = build,
};
