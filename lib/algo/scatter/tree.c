/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Scatter along a tree (OCC manual 2005; binomial, for any root: Thakur,
 * Rabenseifner, Gropp 2005, 4.5; any counts: Traeff 2017). The steps are those
 * of gather in reverse, so that it takes as long.
 *
 *   scratch  what a rank forwards, with its own block: up to half of the vector
 *            by the binomial tree, (lg p - 1)/2 vectors on all ranks together;
 *            none at the root and at leaves. In segments as much of each one in
 *            the window, and at the root less than a segment more
 *
 * Binomial, bine and knomial trees are mirrored if the root would be in the
 * last, truncated part. Then all ranks have their blocks when the root has sent
 * its last message, for every root. In other trees inner ranks still forward
 * blocks then.
 */
#include "algo/phase/gather.h"

static void build(struct rcx_builder *b, const struct rcx_shape *s)
{
    const struct rcx_group all = rcx_group_all(s);
    const struct rcx_blocks blocks = rcx_blocks_of(s);
    const struct rcx_topology t = rcx_topology_gathering(rcx_topology_of(s));
    const struct rcx_span out = rcx_span_out(s);
    struct rcx_gather gather;

    rcx_gather_begin_along(&gather, b, &all, &blocks, &t, rcx_span_in(s), out);
    rcx_gather_reverse(&gather);
    rcx_step_copy(b, out, gather.own);
}

const struct rcx_algo rcx_scatter_tree = {
    .name = "tree",
    .coll = RCX_COLL_SCATTER,
    .formula = "topology = binomial: ceil(lg p) a + n (p-1)/p b; bine: the "
               "same; others: as gather",
    .needs = rcx_topology_needs,
    .known_as = "OCC: Binomial, Binary Scatter; MPICH, Open MPI: binomial; "
                "MPICH: tsp_tree; UCC: knomial",
    .source = "OCC manual 2005; Thakur, Rabenseifner, Gropp 2005, 4.5",
    .params = rcx_topology_tree_params,
    .level = RCX_ORDER_CANONICAL,
    .fits = rcx_topology_fits,
    .cost = rcx_gather_tree_cost,
    .build = build,
};
