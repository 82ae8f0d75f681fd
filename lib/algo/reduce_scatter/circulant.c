/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Reduce-scatter on a circulant graph: allgather circulant in reverse (Traeff
 * 2022; schedules: 2024, arXiv 2407.18004), for any counts.
 *
 *   scratch  with one block at most 7/4 n; else all that is received, and all
 *            that is sent and not contiguous: less than 2 n where counts are
 *            equal; in place a result more
 *   order    SAME
 *
 * Equal blocks gain nothing from being cut into parts. With blocks=1 the
 * algorithm is that of "Optimal, Non-pipelined Reduce-scatter and Allreduce
 * Algorithms" (Traeff 2024, arXiv 2410.14234), the first phase of Kolmakov,
 * Zhang 2020, 7. In it a rank sends the upper half of its partial sums to the
 * rank that has the same blocks as its lower half, for every p. Unequal blocks
 * are cut so that messages are of one length. If one rank gets all elements,
 * the algorithm is a reduce.
 */
#include "algo/phase/n_blocks_all.h"

static struct rcx_cost cost(const struct rcx_shape *s)
{
    const struct rcx_blocks blocks = rcx_blocks_of(s);

    return rcx_n_blocks_reduce_scatter_cost(&blocks, rcx_n_blocks_parts_of(s));
}

/* Whether the result needs scratch of its own because of the operand. With
 * several parts it is written while operands are yet to be sent. With one
 * part it is written at the end, when only the operand's own block is still
 * needed. */
static bool is_in_the_way(const struct rcx_shape *s)
{
    return rcx_n_blocks_parts_of(s) > 1
               ? s->alias == RCX_ALIAS_SAME
               : rcx_span_clash(s, rcx_span_out(s),
                                rcx_shape_block(s, s->rank));
}

static void build(struct rcx_builder *b, const struct rcx_shape *s)
{
    const struct rcx_group all = rcx_group_all(s);
    const struct rcx_blocks blocks = rcx_blocks_of(s);
    const struct rcx_span out = rcx_span_out(s);
    const struct rcx_span result =
        is_in_the_way(s) ? rcx_span_scratch(b, out.count) : out;

    rcx_n_blocks_reduce_scatter(b, &all, &blocks, rcx_n_blocks_parts_of(s),
                                rcx_span_in(s), result);
    rcx_step_copy(b, out, result);
}

const struct rcx_algo rcx_reduce_scatter_circulant = {
    .name = "circulant",
    .coll = RCX_COLL_REDUCE_SCATTER,
    .formula = "[p > 1] (blocks-1 + k) a + n (p-1)/p (b + g), k = ceil(lg p); "
               "where n/p is irregular at most (blocks-1 + k) (n/blocks + p) "
               "(b + g)",
    .source = "Traeff 2022; Traeff 2024, arXiv 2407.18004, 2410.14234; "
              "Kolmakov, Zhang 2020, 7",
    .params = rcx_n_blocks_params,
    .level = RCX_ORDER_SAME,
    .cost = cost,
    .build = build,
};
