/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Allreduce along a tree of any topology: reduce to rank 0, then broadcast (OCC
 * manual 2005, general allreduce).
 *
 *   scratch  n for each child, 14 n at most
 *   order    binomial, bine, and knomial of radix 2: CANONICAL; double: RANK;
 *            else UNIFORM
 *
 * It takes more rounds than recursive doubling, but the fewest messages and
 * combines of all algorithms: 2 (p - 1) and p - 1 on all ranks together. (The
 * two trees of double carry halves, so there are twice as many messages.)
 */
#include "algo/phase/tree_phase.h"

static struct rcx_cost cost(const struct rcx_shape *s)
{
    const struct rcx_topology t = rcx_topology_of(s);

    return rcx_cost_sum(rcx_tree_phase_reduce_cost(&t, s->count),
                        rcx_tree_phase_bcast_cost(&t, s->count));
}

static void build(struct rcx_builder *b, const struct rcx_shape *s)
{
    const struct rcx_group all = rcx_group_all(s);
    const struct rcx_topology t = rcx_topology_of(s);
    const struct rcx_span out = rcx_span_out(s);

    rcx_tree_phase_reduce(b, &all, &t, rcx_span_in(s), out);
    rcx_tree_phase_bcast(b, &all, &t, out);
}

const struct rcx_algo rcx_allreduce_tree = {
    .name = "tree",
    .coll = RCX_COLL_ALLREDUCE,
    .formula = "topology = binomial: ceil(lg p) (2 a + 2 n b + n g); bine: "
               "the same; others: as reduce, and back",
    .needs = rcx_topology_needs,
    .known_as = "OCC: General Allreduce; MPICH: tree, tsp_tree; Open MPI: "
                "nonoverlapping, basic_linear; UCC: dbt (double)",
    .source = "OCC manual 2005; double: Sanders, Speck, Traeff 2009; bine: De "
              "Sensi et al. 2025, arXiv 2508.17311",
    .params = rcx_topology_params,
    .fits = rcx_topology_fits,
    .order = rcx_topology_order,
    .cost = cost,
    .build = build,
};
