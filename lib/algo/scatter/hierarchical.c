/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Scatter by nodes, which may have any number of ranks in any order: from the
 * root to a leader of each other node, then from the leaders within their
 * nodes.
 *
 *   volume   n less the blocks of the root's node over its link
 *   scratch  a node's blocks at its leader; at the root none where nodes are
 *            intervals of ranks, else n
 *
 * The root's node sends N - 1 messages instead of one to each rank. Each phase
 * is the cheapest algorithm for its group.
 */
#include "algo/phase/by_nodes.h"

/* Where this rank's block goes. If the root has it in place, it stays in the
 * packed copy: the operand may be constant. */
static struct rcx_span place_of(const struct rcx_shape *s,
                                const struct rcx_by_nodes_blocks *blocks,
                                const struct rcx_by_nodes_rooted *r)
{
    const struct rcx_blocks own = {
        .displs = blocks->own, .count = r->mine.count, .n = r->node.size};

    return r->packs && s->alias == RCX_ALIAS_BLOCK
               ? rcx_block(&own, r->mine, r->node.rank)
               : rcx_span_out(s);
}

static void scatter(struct rcx_builder *b, const struct rcx_shape *s,
                    const struct rcx_by_nodes_blocks *blocks)
{
    const struct rcx_by_nodes_rooted r =
        rcx_by_nodes_rooted(b, s, blocks, rcx_span_in(s));

    if (r.packs)
        rcx_by_nodes_pack(b, s, r.all, rcx_span_in(s));
    rcx_sched_within(b, &r.between, &r.leaders, r.all, r.mine);
    rcx_sched_within(b, &r.within, &r.node, r.mine, place_of(s, blocks, &r));
}

static void build(struct rcx_builder *b, const struct rcx_shape *s)
{
    rcx_by_nodes_build(b, s, scatter);
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
    .cost = rcx_by_nodes_rooted_cost,
    .build = build,
};
