/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Allreduce of short vectors by nodes, with several ranks of each node in a
 * round (Huang et al. 2023, PiP-MColl; the rounds: Bienz, Gautam, Kharel 2022,
 * arXiv 2206.03564); nodes may have any number of ranks in any order.
 *
 *   scratch  up to 3 N n, and that of the allreduce within a node
 *   order    SAME; RANK where the op does not commute and nodes are intervals
 *            of ranks
 *
 * All ranks of a node get its sum. Then all get the sums of all N nodes, in
 * ceil(lg N / lg (c+1)) rounds between nodes of c ranks, and each combines them
 * in the order of nodes, by the fixed tree. multi_object.h has the rounds.
 */
#include "algo/phase/multi_object.h"
#include "algo/phase/tree.h"

static struct rcx_cost cost(const struct rcx_shape *s)
{
    struct rcx_cost all =
        rcx_multi_object_cost(RCX_COLL_ALLREDUCE, s, s->count, s->count);

    all.combines += (s->nodes->count - 1) * (double)s->count;
    return all;
}

static void build(struct rcx_builder *b, const struct rcx_shape *s)
{
    const struct rcx_phase within = rcx_by_nodes_within(
        RCX_COLL_ALLREDUCE, s, rcx_by_nodes_neighbours(s).size, s->count);
    const size_t n = s->count, nodes = (size_t)s->nodes->count;
    const struct rcx_blocks parts = {.count = nodes * n, .n = (int)nodes};
    const struct rcx_span sums = rcx_span_scratch(b, parts.count);
    struct rcx_combiner combiner;

    rcx_multi_object_share(b, s, &within, rcx_span_in(s), &parts, sums);
    rcx_combiner_init(&combiner, b, parts.n, rcx_span_out(s));
    for (int i = 0; i < parts.n; i++)
        rcx_combiner_add(&combiner, i, rcx_block(&parts, sums, i));
}

const struct rcx_algo rcx_allreduce_multi_object = {
    .name = "multi_object",
    .coll = RCX_COLL_ALLREDUCE,
    .formula = "allreduce of c; each w = (c+1)^i < N: a + w n b, and "
               "allgather of that on c ranks; (N-1) n g; N nodes of c ranks",
    .needs = RCX_MULTI_OBJECT_NEEDS,
    .known_as = "PiP-MColl",
    .source = RCX_MULTI_OBJECT_SOURCE,
    .is_by_nodes = true,
    .fits = rcx_multi_object_fits,
    .order = rcx_by_nodes_order,
    .cost = cost,
    .build = build,
};
