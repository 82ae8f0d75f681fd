/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Reduce-scatter by a ring, among neighbours only: the first phase of the ring
 * allreduce (Thakur, Rabenseifner, Gropp 2005, 5.3; Patarasuk, Yuan 2009).
 *
 *   scratch  2 blocks
 *   order    SAME
 *
 * Each block travels once around the ring. Each rank that it passes combines
 * its operand with it.
 */
#include "algo/phase/ring.h"

static struct rcx_cost cost(const struct rcx_shape *s)
{
    const struct rcx_blocks blocks = rcx_blocks_of(s);

    return rcx_ring_reduce_scatter_cost(&blocks);
}

static void build(struct rcx_builder *b, const struct rcx_shape *s)
{
    const struct rcx_group all = rcx_group_all(s);
    const struct rcx_blocks blocks = rcx_blocks_of(s);

    rcx_ring_reduce_scatter(b, &all, &blocks, rcx_span_in(s), rcx_span_out(s));
}

const struct rcx_algo rcx_reduce_scatter_ring = {
    .name = "ring",
    .coll = RCX_COLL_REDUCE_SCATTER,
    .formula = "(p-1) (a + n/p b + n/p g); the largest block where n/p is "
               "irregular",
    .known_as = "Open MPI, UCC: ring",
    .source = "Thakur, Rabenseifner, Gropp 2005, 5.3",
    .level = RCX_ORDER_SAME,
    .cost = cost,
    .build = build,
};
