/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Reduce in blocks on a circulant graph: the steps of a broadcast in reverse,
 * in the minimum number of rounds (Traeff 2024, arXiv 2407.18004).
 *
 *   scratch  two blocks; elsewhere than at the root 2 ceil(lg p) blocks more,
 *            or n if there are no more
 *   order    SAME
 *
 * With the best number of blocks it takes about as long as bcast circulant.
 * Each rank combines about a vector, the root a little more. The order in which
 * a rank combines operands depends on the block.
 */
#include "algo/phase/n_blocks_phase.h"

static void build(struct rcx_builder *b, const struct rcx_shape *s)
{
    const struct rcx_group all = rcx_group_all(s);

    rcx_n_blocks_reduce(b, &all, s->root, rcx_n_blocks_of(s), rcx_span_in(s),
                        rcx_span_out(s));
}

const struct rcx_algo rcx_reduce_circulant = {
    .name = "circulant",
    .coll = RCX_COLL_REDUCE,
    .formula = "[p > 1] (blocks-1 + k) (a + n/blocks (b + g)), k = ceil(lg p); "
               "the largest block where n/blocks is irregular",
    .source = "Traeff 2024, arXiv 2407.18004",
    .params = rcx_n_blocks_params,
    .level = RCX_ORDER_SAME,
    .cost = rcx_n_blocks_reduce_cost,
    .build = build,
};
