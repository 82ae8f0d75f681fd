/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Gather by nodes, which may have any number of ranks anywhere: to a leader of
 * each node, in the root's node to the root, and from the leaders to the root.
 *
 *   volume   n less the blocks of the root's node over its link
 *   scratch  a node's blocks at its leader; at the root none where nodes are
 *            intervals of ranks, else n
 *
 * N - 1 messages come to the root's node instead of one of each rank. The phases
 * are those that cost least.
 */
#include "algo/phase/by_nodes.h"

static struct rcx_cost cost(const struct rcx_shape *s)
{
    const size_t part = rcx_by_nodes_most(s);
    const size_t most = part * (size_t)s->nodes->count;

    return rcx_cost_sum(rcx_by_nodes_within_cost(RCX_COLL_GATHER, s, part),
                        rcx_by_nodes_between_cost(RCX_COLL_GATHER, s, most));
}

static void gather(struct rcx_builder *b, const struct rcx_shape *s,
                   const struct rcx_by_nodes_blocks *blocks)
{
    const struct rcx_group node = rcx_by_nodes_neighbours(s);
    const struct rcx_group leaders = rcx_group_leaders(s);
    const bool is_root = s->rank == s->root, packs = !s->nodes->in_order;
    const size_t part = rcx_by_nodes_most(s);
    struct rcx_phase within =
        rcx_by_nodes_within(RCX_COLL_GATHER, s, node.size, part);
    struct rcx_phase between = rcx_by_nodes_between(
        RCX_COLL_GATHER, s, part * (size_t)s->nodes->count);
    struct rcx_span all = rcx_span_out(s), mine = all;

    if (is_root && packs)
        all = rcx_span_scratch(b, s->count);
    if (is_root)
        mine = rcx_by_nodes_part(blocks, s, all);
    else if (leaders.rank >= 0)
        mine = rcx_span_scratch(b, blocks->own[node.size]);
    within.root = rcx_by_nodes_leader(s);
    within.displs = blocks->own;
    between.root = s->nodes->node[s->root];
    between.displs = blocks->nodes;
    rcx_sched_within(b, &within, &node, rcx_span_in(s), mine);
    rcx_sched_within(b, &between, &leaders, mine, all);
    if (is_root && packs)
        rcx_by_nodes_unpack(b, s, rcx_span_out(s), all);
}

static void build(struct rcx_builder *b, const struct rcx_shape *s)
{
    const struct rcx_by_nodes_blocks blocks = rcx_by_nodes_cut(b, s);

    if (blocks.nodes)
        gather(b, s, &blocks);
    rcx_heap_free(b->heap, blocks.nodes);
}

const struct rcx_algo rcx_gather_hierarchical = {
    .name = "hierarchical",
    .coll = RCX_COLL_GATHER,
    .formula = "gather of c blocks, gather of N times c; N nodes of c ranks",
    .needs = RCX_BY_NODES_NEEDS,
    .known_as = "Open MPI: han",
    .source = "composition: design",
    .is_by_nodes = true,
    .level = RCX_ORDER_CANONICAL,
    .fits = rcx_by_nodes_fits,
    .cost = cost,
    .build = build,
};
