/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Reduce-scatter on a circulant graph: allgather circulant backwards (Traeff
 * 2022; schedules: 2024, arXiv 2407.18004), for any counts.
 *
 *   scratch  with one block at most 7/4 n; else all that comes and goes and
 *            does not lie in one piece: less than 2 n where counts are equal;
 *            in place a result more
 *   order    SAME
 *
 * Equal blocks gain nothing from being cut. With one block each it is "Optimal,
 * Non-pipelined Reduce-scatter and Allreduce Algorithms" (Traeff 2024, arXiv
 * 2410.14234), which is the first phase of Kolmakov, Zhang 2020, 7: a rank
 * sends the upper half of its partial sums to the rank that has these blocks as
 * its lower half, whatever p is. Other counts are cut so that messages are of
 * one length; where one rank gets all it is a reduce.
 */
#include "algo/phase/n_blocks_all.h"

static struct rcx_cost cost(const struct rcx_shape *s)
{
    const struct rcx_blocks blocks = rcx_blocks_of(s);

    return rcx_n_blocks_reduce_scatter_cost(&blocks, rcx_n_blocks_parts_of(s));
}

/* In parts, the result is written while operands are still to be sent; with one
 * part only at the end, when no other than the own one is left. */
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
