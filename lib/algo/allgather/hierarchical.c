/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Allgather by nodes, which may have any number of ranks in any order. Phases:
 * gather of a node's blocks to its leader, allgather among leaders, bcast
 * within each node.
 *
 *   volume   over the link of a node: n less its own blocks
 *   scratch  none where nodes are intervals of ranks; else n, from which blocks
 *            are copied to their places
 *
 * Each phase is the cheapest algorithm for its group.
 */
#include "algo/phase/by_nodes.h"

static struct rcx_cost cost(const struct rcx_shape *s)
{
    const size_t part = rcx_by_nodes_most(s);
    const size_t most = part * (size_t)s->nodes->count;

    return rcx_cost_sum(
        rcx_cost_sum(rcx_by_nodes_within_cost(RCX_COLL_GATHER, s, part),
                     rcx_by_nodes_between_cost(RCX_COLL_ALLGATHER, s, most)),
        rcx_by_nodes_within_cost(RCX_COLL_BCAST, s, s->count));
}

static void gather_all(struct rcx_builder *b, const struct rcx_shape *s,
                       const struct rcx_by_nodes_blocks *blocks)
{
    const struct rcx_group node = rcx_by_nodes_neighbours(s);
    const struct rcx_group leaders = rcx_group_leaders(s);
    const size_t part = rcx_by_nodes_most(s);
    struct rcx_phase up =
        rcx_by_nodes_within(RCX_COLL_GATHER, s, node.size, part);
    struct rcx_phase across = rcx_by_nodes_between(
        RCX_COLL_ALLGATHER, s, part * (size_t)s->nodes->count);
    const struct rcx_phase down =
        rcx_by_nodes_within(RCX_COLL_BCAST, s, node.size, s->count);
    const struct rcx_span all =
        s->nodes->in_order ? rcx_span_out(s) : rcx_span_scratch(b, s->count);
    const struct rcx_span mine = rcx_by_nodes_part(blocks, s, all);

    up.displs = blocks->own;
    across.displs = blocks->nodes;
    rcx_sched_within(b, &up, &node, rcx_span_in(s), mine);
    rcx_sched_within(b, &across, &leaders, mine, all);
    rcx_sched_within(b, &down, &node, all, all);
    if (!s->nodes->in_order)
        rcx_by_nodes_unpack(b, s, rcx_span_out(s), all);
}

static void build(struct rcx_builder *b, const struct rcx_shape *s)
{
    rcx_by_nodes_build(b, s, gather_all);
}

const struct rcx_algo rcx_allgather_hierarchical = {
    .name = "hierarchical",
    .coll = RCX_COLL_ALLGATHER,
    .formula = "gather of c blocks, allgather of N times c, bcast of n on c "
               "ranks; N nodes of c ranks",
    .needs = RCX_BY_NODES_NEEDS,
    .known_as = "Open MPI: han; UCC: cl/hier unpack",
    .source = "composition: design",
    .is_by_nodes = true,
    .level = RCX_ORDER_CANONICAL,
    .fits = rcx_by_nodes_fits,
    .cost = cost,
    .build = build,
};
