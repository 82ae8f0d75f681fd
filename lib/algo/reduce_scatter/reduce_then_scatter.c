/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Reduce-scatter by a reduction to rank 0 and a scatter, both along the fixed
 * tree (Thakur, Rabenseifner, Gropp 2005, 4.4: MPICH's old algorithm, whose
 * scatter was linear).
 *
 *   scratch  3 n; up to n / 2 more on a rank that forwards blocks
 *   order    CANONICAL
 *
 * All ranks together send 2 (p - 1) messages, the fewest of all algorithms.
 */
#include "algo/phase/gather.h"
#include "algo/phase/tree_phase.h"

static struct rcx_cost cost(const struct rcx_shape *s)
{
    const struct rcx_blocks blocks = rcx_blocks_of(s);
    const struct rcx_topology t = rcx_topology_binomial(s->size, 0);

    return rcx_cost_sum(rcx_tree_phase_reduce_cost(&t, s->count),
                        rcx_gather_cost(&blocks));
}

static void build(struct rcx_builder *b, const struct rcx_shape *s)
{
    const struct rcx_group all = rcx_group_all(s);
    const struct rcx_blocks blocks = rcx_blocks_of(s);
    const struct rcx_topology t = rcx_topology_binomial(s->size, 0);
    const struct rcx_span vector =
        rcx_span_scratch(b, s->rank == 0 ? s->count : 0);
    struct rcx_gather gather;

    rcx_tree_phase_reduce(b, &all, &t, rcx_span_in(s), vector);
    rcx_gather_begin(&gather, b, &all, &blocks, 0, vector);
    rcx_gather_reverse(&gather);
    rcx_step_copy(b, rcx_span_out(s), gather.own);
}

const struct rcx_algo rcx_reduce_scatter_reduce_then_scatter = {
    .name = "reduce_then_scatter",
    .coll = RCX_COLL_REDUCE_SCATTER,
    .formula = "k (2 a + n b + n g) + n (p-1)/p b, k = ceil(lg p)",
    .known_as = "Open MPI: non-overlapping, basic_linear",
    .source = "Thakur, Rabenseifner, Gropp 2005, 4.4; order: design",
    .level = RCX_ORDER_CANONICAL,
    .cost = cost,
    .build = build,
};
