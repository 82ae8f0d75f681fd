/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Gather along a tree (OCC manual 2005, for scatter; binomial, for any root:
 * Thakur, Rabenseifner, Gropp 2005, 4.5; any counts: Traeff 2017).
 *
 *   scratch  what a rank collects, with its own block: up to half of the vector
 *            by the binomial tree, (lg p - 1)/2 vectors on all ranks together;
 *            none at the root and at leaves. In segments as much of each one in
 *            the window, and at the root less than a segment more
 *
 * Binomial, bine and knomial trees are mirrored if the root would be in the
 * last, truncated part. Then the root receives without a pause, whichever rank
 * it is. In other trees it waits for blocks that inner ranks have yet to
 * forward.
 */
#include "algo/phase/gather.h"

static void build(struct rcx_builder *b, const struct rcx_shape *s)
{
    const struct rcx_group all = rcx_group_all(s);
    const struct rcx_blocks blocks = rcx_blocks_of(s);
    const struct rcx_topology t = rcx_topology_gathering(rcx_topology_of(s));
    const struct rcx_span in = rcx_span_in(s);
    struct rcx_gather gather;

    rcx_gather_begin_along(&gather, b, &all, &blocks, &t, rcx_span_out(s), in);
    rcx_step_copy(b, gather.own, in);
    rcx_gather_finish(&gather);
}

const struct rcx_algo rcx_gather_tree = {
    .name = "tree",
    .coll = RCX_COLL_GATHER,
    .formula = "topology = binomial: ceil(lg p) a + n (p-1)/p b; bine: the "
               "same; others: R a + V n/p b; R as of reduce; V for root 0: "
               "flat, knomial p-1; binary less than 3 p; chain p-1 + L "
               "(L-1)/2; the largest block where n/p is irregular",
    .needs = rcx_topology_needs,
    .known_as = "MPICH, Open MPI: binomial; MPICH: tsp_tree; UCC: knomial",
    .source = "OCC manual 2005; Thakur, Rabenseifner, Gropp 2005, 4.5",
    .params = rcx_topology_tree_params,
    .level = RCX_ORDER_CANONICAL,
    .fits = rcx_topology_fits,
    .cost = rcx_gather_tree_cost,
    .build = build,
};
