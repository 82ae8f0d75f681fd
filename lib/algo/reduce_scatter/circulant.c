/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Reduce-scatter on a circulant graph: the first phase of Kolmakov, Zhang
 * 2020, 7; compare Traeff 2024, "Optimal, Non-pipelined Reduce-scatter and
 * Allreduce Algorithms".
 *
 *   scratch  at most 7/4 n
 *   order    SAME
 *
 * A rank keeps blocks and partial sums in the order in which they lie from its
 * own block on, cyclic. In a round it sends the upper half of them to the rank
 * that has these blocks as its lower half, whatever p is.
 */
#include "algo/phase/circulant.h"

static struct rcx_cost cost(const struct rcx_shape *s)
{
    const struct rcx_blocks blocks = rcx_blocks_of(s);

    return rcx_circulant_reduce_scatter_cost(&blocks, 0);
}

static void build(struct rcx_builder *b, const struct rcx_shape *s)
{
    const struct rcx_group all = rcx_group_all(s);
    const struct rcx_blocks blocks = rcx_blocks_of(s);
    const struct rcx_span out = rcx_span_out(s);
    const bool clash = rcx_span_clash(s, out, rcx_shape_block(s, s->rank));
    const struct rcx_span result = clash ? rcx_span_scratch(b, out.count) : out;

    rcx_circulant_reduce_scatter(b, &all, &blocks, rcx_span_in(s), 0, result);
    rcx_step_copy(b, out, result);
}

const struct rcx_algo rcx_reduce_scatter_circulant = {
    .name = "circulant",
    .coll = RCX_COLL_REDUCE_SCATTER,
    .formula = "k a + n (p-1)/p b + n (p-1)/p g, k = ceil(lg p)",
    .source = "Kolmakov, Zhang 2020, 7",
    .level = RCX_ORDER_SAME,
    .cost = cost,
    .build = build,
};
