/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Allreduce by a ring: reduce-scatter and allgather among neighbours
 * (Thakur, Rabenseifner, Gropp 2005, 5.3; Patarasuk, Yuan 2009).
 *
 *   scratch  2 n / p
 *   order    SAME
 */
#include "algo/phase/ring.h"

static struct rcx_cost cost(const struct rcx_shape *s)
{
    const struct rcx_blocks blocks = rcx_blocks_of(s);

    return rcx_cost_sum(rcx_ring_reduce_scatter_cost(&blocks),
                        rcx_ring_allgather_cost(&blocks, 0));
}

static void build(struct rcx_builder *b, const struct rcx_shape *s)
{
    const struct rcx_group all = rcx_group_all(s);
    const struct rcx_blocks blocks = rcx_blocks_of(s);
    const struct rcx_span out = rcx_span_out(s);

    rcx_ring_reduce_scatter(b, &all, &blocks, rcx_span_in(s),
                            rcx_block(&blocks, out, s->rank));
    rcx_ring_allgather(b, &all, &blocks, 0, out);
}

const struct rcx_algo rcx_allreduce_ring = {
    .name = "ring",
    .coll = RCX_COLL_ALLREDUCE,
    .formula = "2 (p-1) a + 2 n (p-1)/p b + n (p-1)/p g",
    .known_as = "MPICH: ring; Open MPI: ring, segmented_ring; UCC: ring",
    .source = "Thakur, Rabenseifner, Gropp 2005, 5.3",
    .level = RCX_ORDER_SAME,
    .cost = cost,
    .build = build,
};
