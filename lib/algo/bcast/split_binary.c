/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Broadcast of halves down the two sides of a binary tree, and an exchange of
 * halves between the sides (OCC manual 2005, splitted binary).
 *
 *   scratch  none
 *
 * Ranks are places on a line with the root in the middle. The places on each
 * side form an in-order binary tree: the lower side carries the first half of
 * the vector, the upper side the second. Then place i of the lower side
 * exchanges halves with place i of the upper side. If p is even, the last place
 * of the lower side has no partner there, and gets the other half from the
 * root.
 */
#include "algo/phase/topology.h"

enum { NONE = RCX_TOPOLOGY_NONE };

struct line {
    struct rcx_topology tree;
    int first; /* the rank of place 0 */
    int me;    /* my place */
    struct rcx_span half[2];
};

static struct line line_of(const struct rcx_shape *s)
{
    const int below = s->size / 2, p = s->size;
    const struct rcx_span vector = rcx_span_vector(s);

    return (struct line){
        .tree = rcx_topology_binary(p, below),
        .first = (s->root + p - below) % p,
        .me = (s->rank - s->root + below + p) % p,
        .half = {rcx_span_part(vector, 2, 0), rcx_span_part(vector, 2, 1)}};
}

static int rank_of(const struct line *l, int place)
{
    return (l->first + place) % l->tree.size;
}

/* Return the half of the vector that a place other than the root's gets
 * first. */
static int side_of(const struct line *l, int place)
{
    return place > l->tree.root;
}

static int partner_of(const struct line *l, int place)
{
    const int dist = l->tree.root + 1;

    if (place > l->tree.root)
        return place - dist;
    return place + dist < l->tree.size ? place + dist : l->tree.root;
}

/* Send halves down the sides: the steps of a reduction in reverse. */
static void send_down(struct rcx_builder *b, const struct line *l)
{
    const int parent = rcx_topology_parent(&l->tree, 0, l->me);
    int children = 0;

    while (rcx_topology_child(&l->tree, 0, l->me, children) != NONE)
        children++;
    if (parent != NONE)
        rcx_step_recv(b, rank_of(l, parent), l->half[side_of(l, l->me)]);
    for (int i = children - 1; i >= 0; i--) {
        const int child = rcx_topology_child(&l->tree, 0, l->me, i);

        rcx_step_send(b, rank_of(l, child), l->half[side_of(l, child)]);
    }
}

static void swap(struct rcx_builder *b, const struct line *l)
{
    const int root = l->tree.root, last = root - 1;
    const bool last_is_alone = partner_of(l, last) == root;

    if (l->me == root) {
        if (last_is_alone)
            rcx_step_send(b, rank_of(l, last), l->half[!side_of(l, last)]);
        return;
    }
    rcx_step_recv(b, rank_of(l, partner_of(l, l->me)),
                  l->half[!side_of(l, l->me)]);
    if (l->me != last || !last_is_alone)
        rcx_step_send(b, rank_of(l, partner_of(l, l->me)),
                      l->half[side_of(l, l->me)]);
}

static void build(struct rcx_builder *b, const struct rcx_shape *s)
{
    const struct line l = line_of(s);

    send_down(b, &l);
    swap(b, &l);
}

static bool fits(const struct rcx_shape *s)
{
    return s->size > 2;
}

static struct rcx_cost cost(const struct rcx_shape *s)
{
    const struct rcx_topology t = rcx_topology_binary(s->size, s->size / 2);
    const double rounds = rcx_topology_rounds(&t) + 1;
    const size_t half = s->count / 2 + s->count % 2;

    return (struct rcx_cost){.rounds = rounds, .volume = rounds * (double)half};
}

const struct rcx_algo rcx_bcast_split_binary = {
    .name = "split_binary",
    .coll = RCX_COLL_BCAST,
    .formula = "p > 2: (max(s + 1, t) + 2) (a + n/2 b), s = floor(lg l) + "
               "floor(lg (l+1)) - 1, t = floor(lg h) + floor(lg (h+1)) - 1, "
               "l = floor((p-1)/2), h = floor(p/2)",
    .needs = "more than 2 ranks",
    .known_as = "OCC: Splitted Binary; Open MPI: split_binary_tree",
    .source = "OCC manual 2005",
    .level = RCX_ORDER_CANONICAL,
    .fits = fits,
    .cost = cost,
    .build = build,
};
