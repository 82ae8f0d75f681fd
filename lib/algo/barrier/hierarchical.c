/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Barrier by nodes (MPICH's SMP-aware barrier), which may have any number of
 * ranks in any order. Phases: gather of one element to the leader of each node,
 * allgather among leaders, bcast within each node.
 *
 *   scratch  2 N and 2 c elements, N nodes of c ranks
 *
 * The elements carry no data. One copy step reads all received elements, so it
 * waits for all of their messages. The next phase sends a part of that copy.
 */
#include "algo/phase/by_nodes.h"

static struct rcx_cost cost(const struct rcx_shape *s)
{
    const size_t nodes = (size_t)s->nodes->count;
    const struct rcx_cost up =
        rcx_by_nodes_within_cost(RCX_COLL_GATHER, s, (size_t)s->nodes->most);
    const struct rcx_cost across =
        rcx_by_nodes_between_cost(RCX_COLL_ALLGATHER, s, nodes);
    const struct rcx_cost down = rcx_by_nodes_within_cost(RCX_COLL_BCAST, s, 1);

    struct rcx_cost all = rcx_cost_sum(rcx_cost_sum(up, across), down);

    all.volume = all.saved.volume = 0;
    for (int l = 0; l < RCX_LEVELS; l++)
        all.across[l].volume = 0;
    return all;
}

/* Return an element that is written only when all elements of told have
 * arrived. */
static struct rcx_span token_of(struct rcx_builder *b, struct rcx_span told)
{
    const struct rcx_span all = rcx_span_scratch(b, told.count);

    rcx_step_copy(b, all, told);
    return rcx_span_sub(all, 0, 1);
}

static void build(struct rcx_builder *b, const struct rcx_shape *s)
{
    const struct rcx_group node = rcx_by_nodes_neighbours(s);
    const struct rcx_group leaders = rcx_group_leaders(s);
    const size_t ranks = (size_t)node.size, nodes = (size_t)s->nodes->count;
    const struct rcx_phase up = rcx_by_nodes_within(
        RCX_COLL_GATHER, s, node.size, (size_t)s->nodes->most);
    const struct rcx_phase across =
        rcx_by_nodes_between(RCX_COLL_ALLGATHER, s, nodes);
    const struct rcx_phase down =
        rcx_by_nodes_within(RCX_COLL_BCAST, s, node.size, 1);
    struct rcx_span token = rcx_span_scratch(b, 1);

    if (leaders.rank >= 0) {
        const struct rcx_span told = rcx_span_scratch(b, ranks);
        const struct rcx_span heard = rcx_span_scratch(b, nodes);

        rcx_sched_within(b, &up, &node, token, told);
        rcx_sched_within(b, &across, &leaders, token_of(b, told), heard);
        token = token_of(b, heard);
    } else {
        rcx_sched_within(b, &up, &node, token, token);
        token = rcx_span_scratch(b, 1);
    }
    rcx_sched_within(b, &down, &node, token, token);
}

const struct rcx_algo rcx_barrier_hierarchical = {
    .name = "hierarchical",
    .coll = RCX_COLL_BARRIER,
    .formula =
        "gather and bcast on c ranks, allgather on N; N nodes of c ranks",
    .needs = RCX_BY_NODES_NEEDS,
    .known_as = "MPICH: smp; UCC: cl/hier",
    .source = "composition: design",
    .is_by_nodes = true,
    .level = RCX_ORDER_CANONICAL,
    .fits = rcx_by_nodes_fits,
    .cost = cost,
    .build = build,
};
