/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Allgather by a ring, among neighbours only (Thakur, Rabenseifner, Gropp 2005,
 * 4.1).
 *
 *   scratch  none
 */
#include "algo/phase/ring.h"

static struct rcx_cost cost(const struct rcx_shape *s)
{
    const struct rcx_blocks blocks = rcx_blocks_of(s);

    return rcx_ring_allgather_cost(&blocks);
}

static void build(struct rcx_builder *b, const struct rcx_shape *s)
{
    const struct rcx_group all = rcx_group_all(s);
    const struct rcx_blocks blocks = rcx_blocks_of(s);
    const struct rcx_span out = rcx_span_out(s);

    rcx_step_copy(b, rcx_block(&blocks, out, s->rank), rcx_span_in(s));
    rcx_ring_allgather(b, &all, &blocks, out);
}

const struct rcx_algo rcx_allgather_ring = {
    .name = "ring",
    .coll = RCX_COLL_ALLGATHER,
    .formula = "(p-1) (a + n/p b); the largest block where n/p is irregular",
    .source = "Thakur, Rabenseifner, Gropp 2005, 4.1",
    .level = RCX_ORDER_CANONICAL,
    .cost = cost,
    .build = build,
};
