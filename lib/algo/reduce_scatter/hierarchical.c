/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Reduce-scatter by nodes, which may have any number of ranks in any order.
 * Phases with one leader: reduce to a leader of each node; reduce-scatter among
 * leaders, each of which gets the blocks of its node; scatter within each node.
 * With all ranks of equal nodes as leaders: reduce-scatter within each node, in
 * which a rank gets the blocks of the ranks at its place of all nodes;
 * reduce-scatter among these.
 *
 *   volume   over the link of a node: n less its own blocks
 *   scratch  one leader: n and a node's blocks there, twice n where nodes are
 *            no intervals of ranks; all: n / c, and n unless ranks are dealt to
 *            nodes in turn; and that of the phases
 *   order    SAME; RANK where the op does not commute and nodes are intervals
 *            of ranks
 *
 * Each phase is the cheapest algorithm for its group. If nodes get unequal
 * shares, leaders use pairwise exchange instead, which costs no more for
 * unequal shares.
 */
#include "algo/phase/lanes.h"

/* Return the elements of the leaders' phase, as if all nodes had the largest
 * share. */
static size_t most_of(const struct rcx_shape *s)
{
    return rcx_by_nodes_most(s) * (size_t)s->nodes->count;
}

static struct rcx_phase between(const struct rcx_shape *s)
{
    struct rcx_phase pairwise;

    if (most_of(s) == s->count)
        return rcx_by_nodes_between(RCX_COLL_REDUCE_SCATTER, s, s->count);
    pairwise = rcx_phase_of(rcx_algo_find(RCX_COLL_REDUCE_SCATTER, "pairwise"));
    pairwise.scope = rcx_scope_between(s, 1);
    return pairwise;
}

static struct rcx_cost cost(const struct rcx_shape *s)
{
    struct rcx_phase phase;

    if (!s->nodes) /* the algorithm does not fit */
        return (struct rcx_cost){.rounds = 0};
    if (rcx_lanes_are_used(s))
        return rcx_lanes_cost(s);
    phase = between(s);
    return rcx_cost_sum(
        rcx_cost_sum(rcx_by_nodes_within_cost(RCX_COLL_REDUCE, s, s->count),
                     rcx_phase_cost(&phase, s, s->nodes->count, most_of(s))),
        rcx_by_nodes_within_cost(RCX_COLL_SCATTER, s, rcx_by_nodes_most(s)));
}

/* Reduce-scatter among leaders: from sum, that of this node, to this node's
 * part of the result, which is returned. */
static struct rcx_span exchange(struct rcx_builder *b,
                                const struct rcx_shape *s,
                                const struct rcx_group *leaders,
                                const struct rcx_by_nodes_blocks *blocks,
                                struct rcx_span sum)
{
    const struct rcx_span whole = {.count = s->count};
    const struct rcx_span part =
        rcx_span_scratch(b, rcx_by_nodes_part(blocks, s, whole).count);
    struct rcx_phase phase = between(s);
    struct rcx_span all = sum;

    if (!s->nodes->in_order) {
        all = rcx_span_scratch(b, s->count);
        rcx_by_nodes_pack(b, s, all, sum);
    }
    phase.displs = blocks->nodes;
    rcx_sched_within(b, &phase, leaders, all, part);
    return part;
}

static void reduce_scatter(struct rcx_builder *b, const struct rcx_shape *s,
                           const struct rcx_by_nodes_blocks *blocks)
{
    const struct rcx_group node = rcx_by_nodes_neighbours(s);
    const struct rcx_group leaders = rcx_group_leaders(s);
    const struct rcx_phase up =
        rcx_by_nodes_within(RCX_COLL_REDUCE, s, node.size, s->count);
    struct rcx_phase down = rcx_by_nodes_within(RCX_COLL_SCATTER, s, node.size,
                                                rcx_by_nodes_most(s));
    const struct rcx_span out = rcx_span_out(s);
    const bool leads = leaders.rank >= 0;
    const struct rcx_span sum = leads ? rcx_span_scratch(b, s->count) : out;
    struct rcx_span part = out;

    rcx_sched_within(b, &up, &node, rcx_span_in(s), sum);
    if (leads)
        part = exchange(b, s, &leaders, blocks, sum);
    down.displs = blocks->own;
    rcx_sched_within(b, &down, &node, part, out);
}

static void build_lanes(struct rcx_builder *b, const struct rcx_shape *s)
{
    struct rcx_span all = rcx_span_in(s), mine;
    struct rcx_lanes lanes;

    if (!rcx_lanes_open(&lanes, b, s))
        return;
    if (lanes.packs) {
        all = rcx_span_scratch(b, s->count);
        rcx_lanes_pack(b, s, all, rcx_span_in(s));
    }
    mine = rcx_span_scratch(b, lanes.part.count);
    rcx_sched_within(b, &lanes.within, &lanes.node, all, mine);
    rcx_sched_within(b, &lanes.between, &lanes.lane, mine, rcx_span_out(s));
    rcx_lanes_close(&lanes, b);
}

static void build(struct rcx_builder *b, const struct rcx_shape *s)
{
    if (rcx_lanes_are_used(s))
        build_lanes(b, s);
    else
        rcx_by_nodes_build(b, s, reduce_scatter);
}

const struct rcx_algo rcx_reduce_scatter_hierarchical = {
    .name = "hierarchical",
    .coll = RCX_COLL_REDUCE_SCATTER,
    .formula = "leaders = 1: reduce on c ranks, reduce_scatter on N, scatter "
               "of c blocks; all: reduce_scatter of n on c and of n/c on N; N "
               "nodes of c ranks",
    .needs = RCX_LANES_NEEDS,
    .source = "composition: design; all: Traeff, Hunold 2020; Singh et al. "
              "2026, arXiv 2504.18658",
    .params = rcx_lanes_params,
    .is_by_nodes = true,
    .fits = rcx_lanes_fit,
    .order = rcx_by_nodes_order,
    .cost = cost,
    .build = build,
};
