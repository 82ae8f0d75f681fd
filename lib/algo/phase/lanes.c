/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Phases within nodes and along lanes of hierarchical allgather and
 * reduce-scatter, their costs, and blocks in the order of lanes. lanes.h says
 * what lanes are.
 */
#include "algo/phase/lanes.h"

enum { LEADERS }; /* parameters */

/* All ranks are leaders where nodes are of one size, but not in a phase between
 * groups: whether its blocks are equal is not known when it is priced. */
static int64_t candidate(const struct rcx_shape *s, int i)
{
    const bool is_even = s->nodes && s->nodes->least == s->nodes->most;

    if (i == 0)
        return 1;
    return i == 1 && is_even && s->crosses == 0 ? s->nodes->most
                                                : RCX_PARAM_END;
}

static const int64_t proved[] = {1, INT32_MAX, RCX_PARAM_END};
const struct rcx_param rcx_lanes_params[] = {
    [LEADERS] = {.name = "leaders",
                 .doc = "leaders of a node: 1, or all of its ranks for any "
                        "number from that on",
                 .least = 1,
                 .most = INT32_MAX,
                 .usual = RCX_PARAM_AUTO,
                 .proved = proved,
                 .candidate = candidate},
    {.name = NULL},
};

bool rcx_lanes_are_used(const struct rcx_shape *s)
{
    return s->params[LEADERS] > 1;
}

bool rcx_lanes_fit(const struct rcx_shape *s)
{
    if (!rcx_by_nodes_fits(s))
        return false;
    return !rcx_lanes_are_used(s) ||
           (s->nodes->least == s->nodes->most &&
            s->params[LEADERS] >= (int64_t)s->nodes->most);
}

/* ---- Phases -------------------------------------------------------------- */

/* Return the elements of the vector, as if all blocks were as long as the
 * longest. */
static size_t most_of(const struct rcx_shape *s)
{
    return rcx_by_nodes_most(s) * (size_t)s->nodes->count;
}

/* Return the cheapest phase for ranks with a share of count elements in all. If
 * blocks are unequal, so are the shares of lanes, and it is one whose rounds do
 * not depend on shares. */
static struct rcx_phase phase_for(const struct rcx_shape *s, int ranks,
                                  size_t count, struct rcx_scope scope)
{
    const char *uneven =
        s->coll == RCX_COLL_REDUCE_SCATTER ? "pairwise" : "bruck";
    struct rcx_phase phase;

    if (most_of(s) == s->count)
        return rcx_phase_cheapest(s->coll, rcx_by_nodes_needed(s), s, ranks,
                                  count, scope);
    phase = rcx_phase_of(rcx_algo_find(s->coll, uneven));
    phase.scope = scope;
    return phase;
}

static struct rcx_phase within(const struct rcx_shape *s)
{
    return phase_for(s, s->nodes->most, most_of(s), rcx_scope_within(s));
}

/* Return the elements of the phase along a lane. In an alltoall each rank has a
 * whole vector. */
static size_t most_along(const struct rcx_shape *s)
{
    return s->coll == RCX_COLL_ALLTOALL ? s->count
                                        : most_of(s) / (size_t)s->nodes->most;
}

static struct rcx_phase between(const struct rcx_shape *s)
{
    return phase_for(s, s->nodes->count, most_along(s),
                     rcx_scope_between(s, s->nodes->most));
}

struct rcx_cost rcx_lanes_cost(const struct rcx_shape *s)
{
    const int ranks = s->nodes->most, nodes = s->nodes->count;
    const struct rcx_phase in = within(s), across = between(s);

    return rcx_cost_sum(rcx_phase_cost(&in, s, ranks, most_of(s)),
                        rcx_phase_cost(&across, s, nodes, most_along(s)));
}

/* ---- Blocks, lane by lane ------------------------------------------------ */

/* Return the rank that is number i in the order of lanes. */
static int rank_of(const struct rcx_shape *s, int i)
{
    const struct rcx_nodes *n = s->nodes;

    return n->ranks[n->first[i % n->count] + i / n->count];
}

static void copy_all(struct rcx_builder *b, const struct rcx_shape *s,
                     struct rcx_span all, struct rcx_span vector, bool is_back)
{
    const bool is_there = is_back && s->alias != RCX_ALIAS_NONE;
    size_t at = 0;

    for (int i = 0; i < s->size; i++) {
        const int rank = rank_of(s, i);
        const struct rcx_span block = rcx_shape_block(s, rank);
        const struct rcx_span there = rcx_span_sub(all, at, block.count);
        const struct rcx_span here =
            rcx_span_sub(vector, block.offset, block.count);

        if (block.count > 0 && !(is_there && rank == s->rank))
            rcx_step_copy(b, is_back ? here : there, is_back ? there : here);
        at += block.count;
    }
}

void rcx_lanes_pack(struct rcx_builder *b, const struct rcx_shape *s,
                    struct rcx_span all, struct rcx_span vector)
{
    copy_all(b, s, all, vector, false);
}

void rcx_lanes_unpack(struct rcx_builder *b, const struct rcx_shape *s,
                      struct rcx_span vector, struct rcx_span all)
{
    copy_all(b, s, all, vector, true);
}

/* Store the starts of the lanes and the end, and of the blocks of this rank's
 * lane and its end. */
static void fill(struct rcx_lanes *l, const struct rcx_shape *s,
                 size_t *lane_starts, size_t *block_starts)
{
    const int nodes = s->nodes->count, own = s->nodes->place[s->rank];
    size_t at = 0;

    l->packs = false;
    for (int i = 0; i < s->size; i++) {
        const int lane = i / nodes;

        if (i % nodes == 0)
            lane_starts[lane] = at;
        if (lane == own)
            block_starts[i % nodes] = at - lane_starts[lane];
        l->packs = l->packs || rank_of(s, i) != i;
        at += rcx_shape_block(s, rank_of(s, i)).count;
    }
    lane_starts[s->nodes->most] = at;
    l->part =
        (struct rcx_span){.offset = lane_starts[own],
                          .count = lane_starts[own + 1] - lane_starts[own]};
    block_starts[nodes] = l->part.count;
}

bool rcx_lanes_open(struct rcx_lanes *l, struct rcx_builder *b,
                    const struct rcx_shape *s)
{
    const size_t ranks = (size_t)s->nodes->most;
    const size_t nodes = (size_t)s->nodes->count;

    *l = (struct rcx_lanes){
        .node = rcx_by_nodes_neighbours(s),
        .lane = rcx_group_across(s, s->nodes->place[s->rank]),
        .within = within(s),
        .between = between(s),
        .starts =
            rcx_heap_alloc(b->heap, (ranks + nodes + 2) * sizeof *l->starts)};
    if (!l->starts) {
        rcx_builder_fail(b, RCX_ERR_NOMEM);
        return false;
    }
    if (s->coll != RCX_COLL_ALLTOALL) {
        l->within.displs = l->starts;
        l->between.displs = l->starts + ranks + 1;
    }
    fill(l, s, l->starts, l->starts + ranks + 1);
    return true;
}

void rcx_lanes_close(struct rcx_lanes *l, struct rcx_builder *b)
{
    rcx_heap_free(b->heap, l->starts);
}
