/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Bcast of short vectors by nodes, with several ranks of each node in a round
 * (Huang et al. 2023, PiP-MColl; the rounds: Bienz, Gautam, Kharel 2022, arXiv
 * 2206.03564); nodes may have any number of ranks in any order.
 *
 *   scratch  none
 *
 * Let there be N nodes of c ranks or more, numbered from the root's. At weight
 * w = 1, c + 1, (c + 1)^2, ..., all ranks of nodes 0 to w - 1 have the vector.
 * Rank number d - 1 of node x sends it to the leader of node x + d w, and a
 * bcast within that node follows. So there are ceil(lg N / lg (c+1)) rounds
 * between nodes in place of ceil(lg N), but a bcast within a node after each,
 * where `hierarchical` has one in all.
 */
#include "algo/phase/multi_object.h"

/* ---- Cost ---------------------------------------------------------------- */

/* The longest chain of messages between nodes. Its nodes that forward the
 * vector have a bcast within them each. */
struct chain {
    int messages; /* those that the nodes send before are included */
    int forwards;
};

/*
 * A node's number has a digit, to radix c + 1, for each weight. For a digit
 * that is not 0 there is a message and a bcast within a node. For one that is
 * 0, a node on the way sends to another one first. Return the longest chain to
 * a number below nodes.
 */
static struct chain chain_to(int64_t nodes, int64_t radix)
{
    int64_t ones = 1, weight = 1; /* ones: the number 1...1 */
    int digits = 1;

    while (weight * radix < nodes) {
        weight *= radix;
        ones += weight;
        digits++;
    }
    if (ones < nodes)
        return (struct chain){digits, digits};
    if (ones - weight / radix < nodes) /* the number 101...1 */
        return (struct chain){digits, digits - 1};
    return (struct chain){digits - 1, digits - 1};
}

/* Return the vectors that the root's node sends at once at a weight. No node
 * sends more. */
static double sent_at(const struct rcx_shape *s, int64_t w)
{
    const int64_t targets = (s->nodes->count - 1) / w;

    return (double)(targets < s->nodes->least ? targets : s->nodes->least);
}

static struct rcx_cost cost(const struct rcx_shape *s)
{
    const int64_t radix = s->nodes->least + 1;
    const struct chain chain = chain_to(s->nodes->count, radix);
    const struct rcx_cost within =
        rcx_by_nodes_within_cost(RCX_COLL_BCAST, s, s->count);
    const double n = (double)s->count;
    const double beside = s->beside > 0 ? s->beside : 1;
    struct rcx_cost all = within;
    struct rcx_crossing *across = &all.across[s->nodes->level];

    all.rounds += chain.messages;
    all.volume += chain.messages * n;
    for (int64_t w = 1; w < s->nodes->count; w *= radix) {
        across->rounds++;
        across->volume += sent_at(s, w) * n * beside;
    }
    for (int i = 0; i < chain.forwards; i++)
        all = rcx_cost_sum(all, within);
    return all;
}

/* ---- Steps --------------------------------------------------------------- */

/* The nodes, numbered from the root's, and this rank's. */
struct ring {
    const struct rcx_nodes *nodes;
    int root, own;
};

static int rank_at(const struct ring *r, int64_t node, int64_t place)
{
    const struct rcx_nodes *n = r->nodes;

    return n->ranks[n->first[(r->root + node) % n->count] + place];
}

static void build(struct rcx_builder *b, const struct rcx_shape *s)
{
    const struct rcx_nodes *n = s->nodes;
    const struct rcx_group node = rcx_by_nodes_neighbours(s);
    const int home = n->node[s->root], own = rcx_by_nodes_own(s);
    const struct ring ring = {n, home, (own - home + n->count) % n->count};
    const struct rcx_span vector = rcx_span_vector(s);
    const int64_t radix = n->least + 1, far = node.rank + 1;
    struct rcx_phase within =
        rcx_by_nodes_within(RCX_COLL_BCAST, s, node.size, s->count);
    int64_t w = 1;

    within.root = rcx_by_nodes_leader(s);
    while (w * radix <= ring.own)
        w *= radix;
    if (ring.own > 0 && node.rank == within.root)
        rcx_step_recv(b, rank_at(&ring, ring.own % w, ring.own / w - 1),
                      vector);
    rcx_sched_within(b, &within, &node, vector, vector);
    for (w = ring.own > 0 ? w * radix : 1; w < n->count; w *= radix)
        if (far < radix && ring.own + far * w < n->count)
            rcx_step_send(b, rank_at(&ring, ring.own + far * w, 0), vector);
}

const struct rcx_algo rcx_bcast_multi_object = {
    .name = "multi_object",
    .coll = RCX_COLL_BCAST,
    .formula = "bcast on c ranks; each w = (c+1)^i < N: a + n b, and bcast on "
               "c ranks; N nodes of c ranks",
    .needs = RCX_MULTI_OBJECT_NEEDS,
    .known_as = "PiP-MColl",
    .source = RCX_MULTI_OBJECT_SOURCE,
    .is_by_nodes = true,
    .level = RCX_ORDER_CANONICAL,
    .fits = rcx_multi_object_fits,
    .cost = cost,
    .build = build,
};
