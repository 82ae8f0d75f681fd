/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Barrier up and down a tree of any topology (OCC manual 2005, linear: flat;
 * Hensgen, Finkel, Manber 1988, tournament: binomial).
 *
 *   scratch  an element for each child, and one
 *
 * All ranks together send 2 (p - 1) messages, the minimum: best where ranks
 * share cores. A child's element is copied onto the rank's own element, which
 * goes to the parent. The overlap of these spans makes the send wait for all
 * children.
 */
#include "algo/phase/tree_phase.h"

enum { NONE = RCX_TOPOLOGY_NONE };

/* A barrier sends one element, which cannot be halved for the two trees of
 * double. */
static bool fits(const struct rcx_shape *s)
{
    return rcx_topology_fits(s) && rcx_topology_of(s).trees == 1;
}

static struct rcx_cost cost(const struct rcx_shape *s)
{
    const struct rcx_topology t = rcx_topology_of(s);

    return (struct rcx_cost){.rounds = 2 * rcx_topology_rounds(&t)};
}

static void tell_up(struct rcx_builder *b, const struct rcx_shape *s,
                    const struct rcx_topology *t, struct rcx_span own)
{
    const int parent = rcx_topology_parent(t, 0, s->rank);
    int child;

    for (int i = 0; (child = rcx_topology_child(t, 0, s->rank, i)) != NONE;
         i++) {
        const struct rcx_span theirs = rcx_span_scratch(b, 1);

        rcx_step_recv(b, child, theirs);
        rcx_step_copy(b, own, theirs);
    }
    if (parent != NONE)
        rcx_step_send(b, parent, own);
}

static void build(struct rcx_builder *b, const struct rcx_shape *s)
{
    const struct rcx_group all = rcx_group_all(s);
    const struct rcx_topology t = rcx_topology_of(s);
    const struct rcx_span own = rcx_span_scratch(b, 1);

    tell_up(b, s, &t, own);
    rcx_tree_phase_bcast(b, &all, &t, own);
}

const struct rcx_algo rcx_barrier_tree = {
    .name = "tree",
    .coll = RCX_COLL_BARRIER,
    .formula = "topology = binomial: 2 ceil(lg p) a; bine: the same; others: "
               "2 R a, R as of reduce",
    .needs = "a topology other than double; a fan of 2 or more for knomial, "
             "and no fan for topologies other than knomial and chain",
    .known_as = "OCC, Open MPI: linear (flat); Open MPI: tree",
    .source = "OCC manual 2005; Hensgen, Finkel, Manber 1988",
    .params = rcx_topology_params,
    .level = RCX_ORDER_CANONICAL,
    .fits = fits,
    .cost = cost,
    .build = build,
};
