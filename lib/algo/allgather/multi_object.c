/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Allgather by nodes with several ranks of each node in a round (Bienz, Gautam,
 * Kharel 2022, arXiv 2206.03564; Huang et al. 2023), for any counts; nodes may
 * have any number of ranks in any order.
 *
 *   scratch  less than two vectors, for messages that wrap around the vector's
 *            end; n more if nodes are no intervals of ranks
 *
 * First the ranks of a node get each other's blocks. For N nodes of c ranks
 * there are ceil(lg N / lg (c+1)) rounds between nodes, and each block enters a
 * node once: for short blocks, where a message between nodes takes much longer
 * than one within. multi_object.h has the rounds.
 */
#include "algo/phase/multi_object.h"

static struct rcx_cost cost(const struct rcx_shape *s)
{
    const size_t part = rcx_by_nodes_most(s);

    return rcx_multi_object_cost(RCX_COLL_ALLGATHER, s, part, part);
}

static void gather_all(struct rcx_builder *b, const struct rcx_shape *s,
                       const struct rcx_by_nodes_blocks *blocks)
{
    const int ranks = rcx_by_nodes_neighbours(s).size;
    const struct rcx_span all =
        s->nodes->in_order ? rcx_span_out(s) : rcx_span_scratch(b, s->count);
    const struct rcx_blocks parts = {
        .displs = blocks->nodes, .count = s->count, .n = s->nodes->count};
    struct rcx_phase within =
        rcx_by_nodes_within(RCX_COLL_ALLGATHER, s, ranks, rcx_by_nodes_most(s));

    within.displs = blocks->own;
    rcx_multi_object_share(b, s, &within, rcx_span_in(s), &parts, all);
    if (!s->nodes->in_order)
        rcx_by_nodes_unpack(b, s, rcx_span_out(s), all);
}

static void build(struct rcx_builder *b, const struct rcx_shape *s)
{
    rcx_by_nodes_build(b, s, gather_all);
}

const struct rcx_algo rcx_allgather_multi_object = {
    .name = "multi_object",
    .coll = RCX_COLL_ALLGATHER,
    .formula = "allgather of c blocks; each w = (c+1)^i < N: a + w c n/p b, "
               "and allgather of that on c ranks; N nodes of c ranks",
    .needs = RCX_MULTI_OBJECT_NEEDS,
    .known_as = "PiP-MColl; locality-aware Bruck",
    .source = RCX_MULTI_OBJECT_SOURCE,
    .is_by_nodes = true,
    .level = RCX_ORDER_CANONICAL,
    .fits = rcx_multi_object_fits,
    .cost = cost,
    .build = build,
};
