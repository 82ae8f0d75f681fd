/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Gather by nodes, which may have any number of ranks in any order: within each
 * node to its leader, which in the root's node is the root, then from the
 * leaders to the root.
 *
 *   volume   n less the blocks of the root's node over its link
 *   scratch  a node's blocks at its leader; at the root none where nodes are
 *            intervals of ranks, else n
 *
 * The root's node receives N - 1 messages instead of one from each rank. Each
 * phase is the cheapest algorithm for its group.
 */
#include "algo/phase/by_nodes.h"

static void gather(struct rcx_builder *b, const struct rcx_shape *s,
                   const struct rcx_by_nodes_blocks *blocks)
{
    const struct rcx_by_nodes_rooted r =
        rcx_by_nodes_rooted(b, s, blocks, rcx_span_out(s));

    rcx_sched_within(b, &r.within, &r.node, rcx_span_in(s), r.mine);
    rcx_sched_within(b, &r.between, &r.leaders, r.mine, r.all);
    if (r.packs)
        rcx_by_nodes_unpack(b, s, rcx_span_out(s), r.all);
}

static void build(struct rcx_builder *b, const struct rcx_shape *s)
{
    rcx_by_nodes_build(b, s, gather);
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
    .cost = rcx_by_nodes_rooted_cost,
    .build = build,
};
