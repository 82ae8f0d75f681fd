/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Allreduce in blocks on a circulant graph: reduce to rank 0, then broadcast,
 * by one schedule in reverse and forwards (Traeff 2024, arXiv 2407.18004).
 *
 *   scratch  two blocks
 *   order    SAME
 *
 * It sends about as much as the ring, in far fewer rounds: for many ranks and
 * vectors that are too short for a block per rank.
 */
#include "algo/phase/n_blocks_phase.h"

static struct rcx_cost cost(const struct rcx_shape *s)
{
    return rcx_cost_sum(rcx_n_blocks_reduce_cost(s),
                        rcx_n_blocks_bcast_cost(s));
}

static void build(struct rcx_builder *b, const struct rcx_shape *s)
{
    const struct rcx_group all = rcx_group_all(s);
    const int blocks = rcx_n_blocks_of(s);
    const struct rcx_span out = rcx_span_out(s);

    rcx_n_blocks_reduce(b, &all, 0, blocks, rcx_span_in(s), out);
    rcx_n_blocks_bcast(b, &all, 0, blocks, out);
}

const struct rcx_algo rcx_allreduce_circulant = {
    .name = "circulant",
    .coll = RCX_COLL_ALLREDUCE,
    .formula = "[p > 1] (blocks-1 + k) (2 a + n/blocks (2 b + g)), k = "
               "ceil(lg p); the largest block where n/blocks is irregular",
    .known_as = "MPICH: circ_graph",
    .source = "Traeff 2024, arXiv 2407.18004",
    .params = rcx_n_blocks_params,
    .level = RCX_ORDER_SAME,
    .cost = cost,
    .build = build,
};
