/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Allgather by nodes, which may have any number of ranks in any order. Phases
 * with one leader: gather of a node's blocks to its leader, allgather among
 * leaders, bcast within each node. With all ranks of equal nodes as leaders:
 * allgather among the ranks at one place of all nodes, then within each node.
 *
 *   volume   over the link of a node: n less its own blocks
 *   scratch  none where nodes are intervals of ranks, or with all leaders where
 *            ranks are dealt to nodes in turn; else n, from which blocks are
 *            copied to their places
 *
 * Each phase is the cheapest algorithm for its group.
 */
#include "algo/phase/lanes.h"

static struct rcx_cost cost(const struct rcx_shape *s)
{
    size_t part, most;

    if (!s->nodes) /* the algorithm does not fit */
        return (struct rcx_cost){.rounds = 0};
    if (rcx_lanes_are_used(s))
        return rcx_lanes_cost(s);
    part = rcx_by_nodes_most(s);
    most = part * (size_t)s->nodes->count;
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

static void build_lanes(struct rcx_builder *b, const struct rcx_shape *s)
{
    const struct rcx_span out = rcx_span_out(s);
    struct rcx_span all = out, mine;
    struct rcx_lanes lanes;

    if (!rcx_lanes_open(&lanes, b, s))
        return;
    if (lanes.packs)
        all = rcx_span_scratch(b, s->count);
    mine = rcx_span_sub(all, lanes.part.offset, lanes.part.count);
    rcx_sched_within(b, &lanes.between, &lanes.lane, rcx_span_in(s), mine);
    rcx_sched_within(b, &lanes.within, &lanes.node, mine, all);
    if (lanes.packs)
        rcx_lanes_unpack(b, s, out, all);
    rcx_lanes_close(&lanes, b);
}

static void build(struct rcx_builder *b, const struct rcx_shape *s)
{
    if (rcx_lanes_are_used(s))
        build_lanes(b, s);
    else
        rcx_by_nodes_build(b, s, gather_all);
}

const struct rcx_algo rcx_allgather_hierarchical = {
    .name = "hierarchical",
    .coll = RCX_COLL_ALLGATHER,
    .formula = "leaders = 1: gather of c blocks, allgather of N times c, bcast "
               "of n on c ranks; all: allgather of n/c on N and of n on c; N "
               "nodes of c ranks",
    .needs = RCX_LANES_NEEDS,
    .known_as = "Open MPI: han; UCC: cl/hier unpack",
    .source = "composition: design; all: Traeff, Hunold 2020; Singh et al. "
              "2026, arXiv 2504.18658",
    .params = rcx_lanes_params,
    .is_by_nodes = true,
    .level = RCX_ORDER_CANONICAL,
    .fits = rcx_lanes_fit,
    .cost = cost,
    .build = build,
};
