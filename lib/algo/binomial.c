/* SPDX-License-Identifier: BSD-3-Clause */
#include "algo/binomial.h"

#include "algo/tree.h"

enum { DEPTH_MAX = 32 };

static int representative(struct rcx_interval node, int root)
{
    return node.lo <= root && root < node.hi ? root : node.lo;
}

/*
 * Whom this rank meets on the way from its leaf to the whole tree's root, up
 * to the one that it sends to: the last, where the rank is not root itself.
 */
static int meet(const struct rcx_shape *s, int root, int peers[])
{
    struct rcx_interval at = {0, s->size}, other[DEPTH_MAX];
    int depth = 0, met = 0;

    while (at.hi - at.lo > 1) {
        const int mid = rcx_tree_split(at);
        const struct rcx_interval left = {at.lo, mid}, right = {mid, at.hi};

        at = s->rank < mid ? left : right;
        other[depth++] = s->rank < mid ? right : left;
    }
    while (depth-- > 0) {
        const int peer = representative(other[depth], root);

        peers[met++] = peer;
        if (peer == root || (s->rank != root && peer < s->rank))
            break;
    }
    return met;
}

void rcx_binomial_reduce(struct rcx_builder *b, const struct rcx_shape *s,
                         int root, struct rcx_span result)
{
    int peers[DEPTH_MAX];
    const int met = meet(s, root, peers);
    const int received = s->rank == root ? met : met - 1;
    const struct rcx_span scratch[] = {rcx_span_scratch(b, s->count),
                                       rcx_span_scratch(b, s->count)};
    struct rcx_span partial = rcx_span_in(s);

    if (s->size == 1)
        rcx_step_copy(b, result, partial);
    for (int i = 0; i < received; i++) {
        const struct rcx_span theirs = scratch[i % 2];

        rcx_step_recv(b, peers[i], theirs);
        if (peers[i] < s->rank)
            rcx_step_reduce(b, result, theirs, partial);
        else
            rcx_step_reduce(b, result, partial, theirs);
        partial = result;
    }
    if (s->rank != root)
        rcx_step_send(b, peers[received], partial);
}

void rcx_binomial_bcast(struct rcx_builder *b, const struct rcx_shape *s,
                        struct rcx_span vector)
{
    int peers[DEPTH_MAX];
    const int met = meet(s, 0, peers);
    const int children = s->rank == 0 ? met : met - 1;

    if (s->rank != 0)
        rcx_step_recv(b, peers[children], vector);
    for (int i = children - 1; i >= 0; i--)
        rcx_step_send(b, peers[i], vector);
}
