/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Alltoall by nodes, which may have any number of ranks in any order. A leader
 * of each node gathers the operands of its ranks. Leaders exchange the blocks
 * that go from node to node, in one message for each pair and direction. Then
 * each leader scatters what it received within its node. With all ranks of
 * equal nodes as leaders, a rank first gets from those of its node all blocks
 * for the ranks at its place of other nodes. Then these exchange them, in one
 * message for each node.
 *
 *   volume   over the link of a node of c ranks: c n less what stays there; as
 *            much again to its leader, and from it
 *   scratch  2 n; at a leader 4 c n more; with all leaders 2 n, and 1 n each
 *            where ranks are not dealt to nodes in turn, and where nodes are no
 *            intervals of ranks
 *
 * A node sends N - 1 messages, or c (N - 1), instead of c (p - c): for short
 * blocks, as a leader copies each of c p blocks separately. With one leader a
 * rank's block for itself is copied directly; its place in the messages is not
 * written. Each phase within a node is the cheapest algorithm.
 */
#include "algo/phase/lanes.h"

static struct rcx_cost between_cost(const struct rcx_shape *s)
{
    const double rounds = s->nodes->count - 1;
    const double volume =
        rounds * (double)s->nodes->most * (double)rcx_by_nodes_most(s);

    const double beside = s->beside > 0 ? s->beside : 1;
    /* only leaders send */
    const double idle = rounds * (s->size - s->nodes->count) / s->size;
    struct rcx_cost cost = {.rounds = rounds, .volume = volume, .idle = idle};

    cost.across[s->nodes->level] = (struct rcx_crossing){
        .rounds = rounds, .volume = volume * beside, .idle = idle};
    rcx_cost_cross(&cost, s->nodes->outer, s,
                   (struct rcx_crossing){
                       .rounds = rounds, .volume = volume, .idle = idle});
    return cost;
}

static struct rcx_cost cost(const struct rcx_shape *s)
{
    size_t all;

    if (!s->nodes) /* the algorithm does not fit */
        return (struct rcx_cost){.rounds = 0};
    if (rcx_lanes_are_used(s))
        return rcx_lanes_cost(s);
    all = (size_t)s->nodes->most * s->count;
    return rcx_cost_sum(
        rcx_cost_sum(rcx_by_nodes_within_cost(RCX_COLL_GATHER, s, all),
                     between_cost(s)),
        rcx_by_nodes_within_cost(RCX_COLL_SCATTER, s, all));
}

/* Layouts of the data of a leader. vectors: one vector for each of its ranks,
 * in which each node has a part. parts: for each node, its parts of all vectors
 * side by side. */
struct parts {
    const struct rcx_by_nodes_blocks *blocks;
    size_t count; /* elements of a vector */
    int ranks;    /* ranks of this node */
};

static struct rcx_span part_of(const struct parts *p, struct rcx_span vectors,
                               int rank, int node)
{
    const size_t *at = &p->blocks->nodes[node];

    return rcx_span_sub(vectors, (size_t)rank * p->count + at[0],
                        at[1] - at[0]);
}

static struct rcx_span parts_of(const struct parts *p, struct rcx_span parts,
                                int node)
{
    const size_t *at = &p->blocks->nodes[node];

    return rcx_span_sub(parts, (size_t)p->ranks * at[0],
                        (size_t)p->ranks * (at[1] - at[0]));
}

/* Copy vectors, which are in the order of ranks, to parts, which are in the
 * order of nodes. */
static void sort(struct rcx_builder *b, const struct rcx_shape *s,
                 const struct parts *p, struct rcx_span parts,
                 struct rcx_span vectors)
{
    for (int node = 0; node < s->nodes->count; node++) {
        const struct rcx_span to = parts_of(p, parts, node);

        if (node == rcx_by_nodes_own(s) && p->ranks == 1)
            continue; /* only the rank's own block */
        for (int rank = 0; rank < p->ranks; rank++) {
            const struct rcx_span from = part_of(p, vectors, rank, node);

            rcx_step_copy(
                b, rcx_span_sub(to, (size_t)rank * from.count, from.count),
                from);
        }
    }
}

/* Copy received parts to vectors. The part of a node has, for each rank of that
 * node, a block for each rank of this one. */
static void deal_out(struct rcx_builder *b, const struct rcx_shape *s,
                     const struct parts *p, struct rcx_span vectors,
                     struct rcx_span parts)
{
    const size_t block = s->count / (size_t)s->size;
    const int own = rcx_by_nodes_own(s);

    for (int node = 0; node < s->nodes->count; node++) {
        const struct rcx_span from = parts_of(p, parts, node);

        for (size_t i = 0; i * block < from.count; i++) {
            const size_t there = i / (size_t)p->ranks;
            const struct rcx_span to =
                part_of(p, vectors, (int)(i % (size_t)p->ranks), node);

            if (node != own || there != i % (size_t)p->ranks)
                rcx_step_copy(b, rcx_span_sub(to, there * block, block),
                              rcx_span_sub(from, i * block, block));
        }
    }
}

static void exchange(struct rcx_builder *b, const struct rcx_shape *s,
                     const struct parts *p, struct rcx_span to,
                     struct rcx_span from)
{
    const struct rcx_nodes *n = s->nodes;
    const int own = rcx_by_nodes_own(s);

    for (int t = 1; t < n->count; t++) {
        const int above = (own + t) % n->count;
        const int below = (own + n->count - t) % n->count;

        rcx_step_recv(b, n->ranks[n->first[below]], parts_of(p, to, below));
        rcx_step_send(b, n->ranks[n->first[above]], parts_of(p, from, above));
    }
    if (p->ranks > 1)
        rcx_step_copy(b, parts_of(p, to, own), parts_of(p, from, own));
}

static void exchange_all(struct rcx_builder *b, const struct rcx_shape *s,
                         const struct rcx_by_nodes_blocks *blocks)
{
    const struct rcx_group node = rcx_by_nodes_neighbours(s);
    const struct parts p = {blocks, s->count, node.size};
    const size_t all = (size_t)node.size * s->count;
    const struct rcx_phase up =
        rcx_by_nodes_within(RCX_COLL_GATHER, s, node.size, all);
    const struct rcx_phase down =
        rcx_by_nodes_within(RCX_COLL_SCATTER, s, node.size, all);
    const struct rcx_blocks own = rcx_blocks_in(s, RCX_BUFFER_IN);
    const bool leads = node.rank == 0;
    const struct rcx_span given = rcx_span_scratch(b, s->count);
    const struct rcx_span gotten = rcx_span_scratch(b, s->count);
    const struct rcx_span vectors = rcx_span_scratch(b, leads ? all : 0);
    const struct rcx_span came = rcx_span_scratch(b, leads ? all : 0);

    rcx_by_nodes_pack_others(b, s, given, rcx_span_in(s));
    rcx_sched_within(b, &up, &node, given, vectors);
    if (leads) {
        const struct rcx_span parts = rcx_span_scratch(b, all);
        const struct rcx_span back = rcx_span_scratch(b, all);

        sort(b, s, &p, parts, vectors);
        exchange(b, s, &p, came, parts);
        deal_out(b, s, &p, back, came);
        rcx_sched_within(b, &down, &node, back, gotten);
    } else {
        rcx_sched_within(b, &down, &node, came, gotten);
    }
    rcx_by_nodes_unpack_others(b, s, rcx_span_out(s), gotten);
    rcx_step_copy(b, rcx_block(&own, rcx_span_out(s), s->rank),
                  rcx_block(&own, rcx_span_in(s), s->rank));
}

/* ---- All ranks as leaders ------------------------------------------------ */

/* Copy what came from the ranks of this node, a block for each node from each
 * of them, to what goes to each node. */
static void turn(struct rcx_builder *b, const struct rcx_shape *s,
                 struct rcx_span to, struct rcx_span from)
{
    const size_t block = s->count / (size_t)s->size;
    const size_t nodes = (size_t)s->nodes->count;
    const size_t ranks = (size_t)s->nodes->most;

    for (size_t k = 0; k < nodes && block > 0; k++)
        for (size_t i = 0; i < ranks; i++)
            rcx_step_copy(b, rcx_span_sub(to, (k * ranks + i) * block, block),
                          rcx_span_sub(from, (i * nodes + k) * block, block));
}

static void build_lanes(struct rcx_builder *b, const struct rcx_shape *s)
{
    const struct rcx_span out = rcx_span_out(s);
    const struct rcx_span came = rcx_span_scratch(b, s->count);
    const struct rcx_span goes = rcx_span_scratch(b, s->count);
    const bool in_order = s->nodes->in_order;
    const struct rcx_span gotten =
        in_order ? out : rcx_span_scratch(b, s->count);
    struct rcx_span given = rcx_span_in(s);
    struct rcx_lanes lanes;

    if (!rcx_lanes_open(&lanes, b, s))
        return;
    if (lanes.packs) {
        given = rcx_span_scratch(b, s->count);
        rcx_lanes_pack(b, s, given, rcx_span_in(s));
    }
    rcx_sched_within(b, &lanes.within, &lanes.node, given, came);
    turn(b, s, goes, came);
    rcx_sched_within(b, &lanes.between, &lanes.lane, goes, gotten);
    if (!in_order)
        rcx_by_nodes_unpack(b, s, out, gotten);
    rcx_lanes_close(&lanes, b);
}

static void build(struct rcx_builder *b, const struct rcx_shape *s)
{
    if (rcx_lanes_are_used(s))
        build_lanes(b, s);
    else
        rcx_by_nodes_build(b, s, exchange_all);
}

const struct rcx_algo rcx_alltoall_hierarchical = {
    .name = "hierarchical",
    .coll = RCX_COLL_ALLTOALL,
    .formula =
        "leaders = 1: gather of c n, (N-1) (a + c^2 n/p b), scatter of c n; "
        "all: alltoall of n on c and on N; N nodes of c ranks",
    .needs = RCX_LANES_NEEDS,
    .known_as = "Open MPI: han",
    .source = "composition: design; all: Kinkead et al. 2025, arXiv 2601.17606",
    .params = rcx_lanes_params,
    .is_by_nodes = true,
    .level = RCX_ORDER_CANONICAL,
    .fits = rcx_lanes_fit,
    .cost = cost,
    .build = build,
};
