/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Reduce along the binomial tree, in rank order for every root.
 *
 *   time     ceil(lg p) (alpha + n beta + n gamma)
 *   scratch  3 n; 2 n at the root
 *   order    CANONICAL
 *
 * A subtree is represented by its lowest rank, the one that holds the root by
 * the root: ranks are not rotated, so the order of operands does not depend on
 * the root. Of a node's two halves one representative sends to the other.
 */
#include "algo/tree.h"

enum { DEPTH_MAX = 32 };

static rcx_order_t order(const struct rcx_shape *s)
{
    (void)s;
    return RCX_ORDER_CANONICAL;
}

static struct rcx_cost cost(const struct rcx_shape *s)
{
    const double k = rcx_log2_ceil(s->size), n = (double)s->count;

    return (struct rcx_cost){.rounds = k, .volume = k * n, .combines = k * n};
}

static int representative(struct rcx_interval node, int root)
{
    return node.lo <= root && root < node.hi ? root : node.lo;
}

/* The halves on the way from the whole tree down to me, and their siblings. */
static int descend(const struct rcx_shape *s, struct rcx_interval mine[],
                   struct rcx_interval other[])
{
    struct rcx_interval at = {0, s->size};
    int depth = 0;

    while (at.hi - at.lo > 1) {
        const int mid = rcx_tree_split(at);
        const struct rcx_interval left = {at.lo, mid}, right = {mid, at.hi};

        at = s->rank < mid ? left : right;
        mine[depth] = at;
        other[depth++] = s->rank < mid ? right : left;
    }
    return depth;
}

static void build(struct rcx_builder *b, const struct rcx_shape *s)
{
    struct rcx_interval mine[DEPTH_MAX], other[DEPTH_MAX];
    const int depth = descend(s, mine, other);
    const bool is_root = s->rank == s->root;
    const struct rcx_span scratch[] = {rcx_span_scratch(b, s->count),
                                       rcx_span_scratch(b, s->count)};
    const struct rcx_span sum =
        is_root ? rcx_span_out(s) : rcx_span_scratch(b, s->count);
    struct rcx_span partial = rcx_span_in(s);

    if (s->size == 1)
        rcx_step_copy(b, sum, partial);
    for (int i = depth - 1; i >= 0; i--) {
        const int peer = representative(other[i], s->root);
        const struct rcx_span theirs = scratch[i % 2];
        const bool peer_stays =
            peer == s->root || (!is_root && peer < s->rank);

        if (peer_stays) {
            rcx_step_send(b, peer, partial);
            return;
        }
        rcx_step_recv(b, peer, theirs);
        if (peer < s->rank)
            rcx_step_reduce(b, sum, theirs, partial);
        else
            rcx_step_reduce(b, sum, partial, theirs);
        partial = sum;
    }
}

const struct rcx_algo rcx_reduce_binomial = {
    .name = "binomial", .coll = RCX_COLL_REDUCE,
    .formula = "ceil(lg p) (a + n b + n g)",
    .source = "Thakur, Rabenseifner, Gropp 2005, 4.3; order: design",
    .order = order, .cost = cost, .build = build, .segments = true,
};
