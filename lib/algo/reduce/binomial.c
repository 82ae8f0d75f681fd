/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Reduce along the binomial tree, in rank order for every root.
 *
 *   scratch  n for each child, 14 n at most; elsewhere than at the root n more
 *   order    CANONICAL
 *
 * A node of the fixed tree is represented by its lowest rank, or by the root if
 * it contains the root. Ranks are not rotated, so the order of operands does
 * not depend on the root. Of a node's two halves, the representative of one
 * sends to that of the other.
 */
#include "algo/phase/tree_phase.h"

static struct rcx_cost cost(const struct rcx_shape *s)
{
    const struct rcx_topology t = rcx_topology_binomial(s->size, s->root);

    return rcx_tree_phase_reduce_cost(&t, s->count);
}

static void build(struct rcx_builder *b, const struct rcx_shape *s)
{
    const struct rcx_group all = rcx_group_all(s);
    const struct rcx_topology t = rcx_topology_binomial(s->size, s->root);

    rcx_tree_phase_reduce(b, &all, &t, rcx_span_in(s), rcx_span_out(s));
}

const struct rcx_algo rcx_reduce_binomial = {
    .name = "binomial",
    .coll = RCX_COLL_REDUCE,
    .formula = "ceil(lg p) (a + n b + n g)",
    .known_as = "OCC: Generalized Reduce, binomial; MPICH, Open MPI: "
                "binomial; UCC: knomial of radix 2",
    .source = "Thakur, Rabenseifner, Gropp 2005, 4.5; order: design",
    .level = RCX_ORDER_CANONICAL,
    .cost = cost,
    .build = build,
};
