/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Scatter by nodes, which may have any number of ranks anywhere: from the root
 * to a leader of each other node, and from the leaders to their nodes.
 *
 *   volume   n less the blocks of the root's node over its link
 *   scratch  a node's blocks at its leader; at the root none where nodes are
 *            intervals of ranks, else n
 *
 * The root's node sends N - 1 messages instead of one to each rank. The phases
 * are those that cost least.
 */
#include "algo/phase/by_nodes.h"

static struct rcx_cost cost(const struct rcx_shape *s)
{
    const size_t part = rcx_by_nodes_most(s);
    const size_t most = part * (size_t)s->nodes->count;

    return rcx_cost_sum(rcx_by_nodes_within_cost(RCX_COLL_SCATTER, s, part),
                        rcx_by_nodes_between_cost(RCX_COLL_SCATTER, s, most));
}

static void scatter(struct rcx_builder *b, const struct rcx_shape *s,
                    const struct rcx_by_nodes_blocks *blocks)
{
    const struct rcx_group node = rcx_by_nodes_neighbours(s);
    const struct rcx_group leaders = rcx_group_leaders(s);
    const bool is_root = s->rank == s->root, packs = !s->nodes->in_order;
    const size_t part = rcx_by_nodes_most(s);
    struct rcx_phase within =
        rcx_by_nodes_within(RCX_COLL_SCATTER, s, node.size, part);
    struct rcx_phase between = rcx_by_nodes_between(
        RCX_COLL_SCATTER, s, part * (size_t)s->nodes->count);
    struct rcx_span all = rcx_span_in(s), mine = all;

    if (is_root && packs) {
        all = rcx_span_scratch(b, s->count);
        rcx_by_nodes_pack(b, s, all, rcx_span_in(s));
    }
    if (is_root)
        mine = rcx_by_nodes_part(blocks, s, all);
    else if (leaders.rank >= 0)
        mine = rcx_span_scratch(b, blocks->own[node.size]);
    within.root = rcx_by_nodes_leader(s);
    within.displs = blocks->own;
    between.root = s->nodes->node[s->root];
    between.displs = blocks->nodes;
    rcx_sched_within(b, &between, &leaders, all, mine);
    rcx_sched_within(b, &within, &node, mine, rcx_span_out(s));
}

static void build(struct rcx_builder *b, const struct rcx_shape *s)
{
    const struct rcx_by_nodes_blocks blocks = rcx_by_nodes_cut(b, s);

    if (blocks.nodes)
        scatter(b, s, &blocks);
    rcx_heap_free(b->heap, blocks.nodes);
}

const struct rcx_algo rcx_scatter_hierarchical = {
    .name = "hierarchical",
    .coll = RCX_COLL_SCATTER,
    .formula = "scatter of N times c blocks, scatter of c; N nodes of c ranks",
    .needs = RCX_BY_NODES_NEEDS,
    .known_as = "Open MPI: han",
    .source = "composition: design",
    .is_by_nodes = true,
    .level = RCX_ORDER_CANONICAL,
    .fits = rcx_by_nodes_fits,
    .cost = cost,
    .build = build,
};
