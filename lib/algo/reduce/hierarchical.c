/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Reduce by nodes, which may have any number of ranks in any order (MPICH's
 * SMP-aware reduce): within each node to its leader, which in the root's node
 * is the root, then from the leaders to the root. The vector goes once over the
 * link of a node.
 *
 *   cost     that of a reduce in the largest node, and one on the nodes
 *   scratch  n at leaders but the root, and that of the phases
 *   order    SAME; RANK where the op does not commute and nodes are intervals
 *            of ranks
 *
 * Each phase is the cheapest algorithm for its group.
 */
#include "algo/phase/by_nodes.h"

static struct rcx_cost cost(const struct rcx_shape *s)
{
    return rcx_cost_sum(
        rcx_by_nodes_within_cost(RCX_COLL_REDUCE, s, s->count),
        rcx_by_nodes_between_cost(RCX_COLL_REDUCE, s, s->count));
}

static void build(struct rcx_builder *b, const struct rcx_shape *s)
{
    const struct rcx_group node = rcx_by_nodes_neighbours(s);
    const struct rcx_group leaders = rcx_group_leaders(s);
    const bool is_root = s->rank == s->root;
    struct rcx_phase between =
        rcx_by_nodes_between(RCX_COLL_REDUCE, s, s->count);
    struct rcx_phase within =
        rcx_by_nodes_within(RCX_COLL_REDUCE, s, node.size, s->count);
    struct rcx_span sum = rcx_span_out(s);

    if (leaders.rank >= 0 && !is_root)
        sum = rcx_span_scratch(b, s->count);
    between.root = s->nodes->node[s->root];
    within.root = rcx_by_nodes_leader(s);
    rcx_sched_within(b, &within, &node, rcx_span_in(s), sum);
    rcx_sched_within(b, &between, &leaders, sum, sum);
}

const struct rcx_algo rcx_reduce_hierarchical = {
    .name = "hierarchical",
    .coll = RCX_COLL_REDUCE,
    .formula = "reduce on c and on N ranks; N nodes of c ranks",
    .needs = RCX_BY_NODES_NEEDS,
    .known_as = "MPICH: smp; Open MPI: han; UCC: cl/hier 2step",
    .source = "composition: design",
    .is_by_nodes = true,
    .fits = rcx_by_nodes_fits,
    .order = rcx_by_nodes_order,
    .cost = cost,
    .build = build,
};
