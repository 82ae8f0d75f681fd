/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Reduce along a tree of any topology (OCC manual 2005, generalized reduce;
 * double: Sanders, Speck, Traeff 2009; bine: De Sensi et al. 2025).
 *
 *   scratch  n for each child, 14 n at most; elsewhere than at the root n more
 *   order    binomial, bine, and knomial of radix 2: CANONICAL; double: RANK,
 *            since each half has its own tree; else UNIFORM
 *
 * Ranks are not renumbered for any root. In binomial, bine and knomial the root
 * represents every interval that contains it, so all roots take as long. In the
 * others the ranks below the root and those above it form two sides, which send
 * to the root one after the other.
 *
 * Segments follow each other as fast as the busiest rank receives them. In
 * double and in a single chain it receives the vector once (twice if the root
 * is in the middle), in binary twice, in f chains f times, in binomial ceil(lg
 * p) times.
 */
#include "algo/phase/tree_phase.h"

static struct rcx_cost cost(const struct rcx_shape *s)
{
    const struct rcx_topology t = rcx_topology_of(s);

    return rcx_tree_phase_reduce_cost(&t, s->count);
}

static void build(struct rcx_builder *b, const struct rcx_shape *s)
{
    const struct rcx_group all = rcx_group_all(s);
    const struct rcx_topology t = rcx_topology_of(s);

    rcx_tree_phase_reduce(b, &all, &t, rcx_span_in(s), rcx_span_out(s));
}

const struct rcx_algo rcx_reduce_tree = {
    .name = "tree",
    .coll = RCX_COLL_REDUCE,
    .formula = "topology = binomial: ceil(lg p) (a + n b + n g); bine: the "
               "same; others: R (a + n b + n g), of halves for double; R for "
               "root 0: flat p-1; binary floor(lg(p-1)) + floor(lg p), double "
               "one more; knomial the sum over f^k < p of min(f-1, "
               "floor((p-1)/f^k)); chain L-1 + ceil((p-1)/L), L = "
               "ceil((p-1)/f)",
    .needs = rcx_topology_needs,
    .known_as = "OCC: Generalized Reduce over Linear, Binomial, Binary, "
                "Pipeline; MPICH: tsp_tree, tsp_ring; Open MPI: linear, "
                "chain, pipeline, binary, in-order_binary, knomial; UCC: "
                "knomial, dbt",
    .source = "OCC manual 2005; double: Sanders, Speck, Traeff 2009; bine: De "
              "Sensi et al. 2025, arXiv 2508.17311",
    .params = rcx_topology_params,
    .fits = rcx_topology_fits,
    .order = rcx_topology_order,
    .cost = cost,
    .build = build,
};
