/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Broadcast of blocks on a circulant graph, in the minimum number of rounds
 * (Traeff 2024, arXiv 2407.18004).
 *
 *   scratch  none
 *
 * With one block it is as fast as the binomial tree. Let q = ceil(lg p). With
 * the best number of blocks, about sqrt((q-1) n b / a), it takes
 * n b + (q-1) a + 2 sqrt((q-1) n a b). No other algorithm takes less in this
 * model, for any vector.
 */
#include "algo/phase/n_blocks_phase.h"

static void build(struct rcx_builder *b, const struct rcx_shape *s)
{
    const struct rcx_group all = rcx_group_all(s);

    rcx_n_blocks_bcast(b, &all, s->root, rcx_n_blocks_of(s),
                       rcx_span_vector(s));
}

const struct rcx_algo rcx_bcast_circulant = {
    .name = "circulant",
    .coll = RCX_COLL_BCAST,
    .formula = "[p > 1] (blocks-1 + k) (a + n/blocks b), k = ceil(lg p); the "
               "largest block where n/blocks is irregular",
    .known_as = "MPICH: circ_graph",
    .source = "Traeff 2024, arXiv 2407.18004",
    .params = rcx_n_blocks_params,
    .level = RCX_ORDER_CANONICAL,
    .cost = rcx_n_blocks_bcast_cost,
    .build = build,
};
