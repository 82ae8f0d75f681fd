/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Broadcast down a tree of any topology (OCC manual 2005, generalized
 * broadcast; binomial: Thakur, Rabenseifner, Gropp 2005, 4.2; double: Sanders,
 * Speck, Traeff 2009; bine: De Sensi et al. 2025). Ranks are not renumbered for
 * any root.
 *
 *   scratch  none
 *
 * Binomial, bine and knomial take the fewest rounds, for short vectors. In bine
 * messages between near ranks go two thirds as far as in binomial, so fewer of
 * them leave a group of neighbours. Segments
 * follow each other as fast as the busiest rank sends them. In a chain and in
 * double it sends the vector once (twice if the root is in the middle), in
 * binary twice.
 */
#include "algo/phase/tree_phase.h"

static struct rcx_cost cost(const struct rcx_shape *s)
{
    const struct rcx_topology t = rcx_topology_of(s);

    return rcx_tree_phase_bcast_cost(&t, s->count);
}

static void build(struct rcx_builder *b, const struct rcx_shape *s)
{
    const struct rcx_group all = rcx_group_all(s);
    const struct rcx_topology t = rcx_topology_of(s);

    rcx_tree_phase_bcast(b, &all, &t, rcx_span_vector(s));
}

const struct rcx_algo rcx_bcast_tree = {
    .name = "tree",
    .coll = RCX_COLL_BCAST,
    .formula = "topology = binomial: ceil(lg p) (a + n b); bine: the same; "
               "others: R (a + n b), of halves for double; R as of reduce",
    .needs = rcx_topology_needs,
    .known_as = "OCC: Generalized Broadcast over Linear, Binomial, Binary, "
                "Pipeline; MPICH: binomial, tree, pipelined_tree, tsp_tree, "
                "tsp_ring; Open MPI: basic_linear, chain, pipeline, "
                "binary_tree, binomial, knomial; UCC: knomial, dbt",
    .source = "OCC manual 2005; Thakur, Rabenseifner, Gropp 2005, 4.2; bine: "
              "De Sensi et al. 2025, arXiv 2508.17311",
    .params = rcx_topology_bcast_params,
    .level = RCX_ORDER_CANONICAL,
    .fits = rcx_topology_fits,
    .cost = cost,
    .build = build,
};
