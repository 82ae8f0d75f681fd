/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Allgather by the broadcasts of all ranks at once on a circulant graph (Traeff
 * 2022; schedules: 2024, arXiv 2407.18004), for any counts.
 *
 *   scratch  all messages that are not contiguous: less than two vectors where
 *            counts are equal
 *
 * Equal blocks gain nothing from being cut. They are sent from their places and
 * received there, in ceil(lg p) messages. If blocks are unequal, each message
 * packs a part of every block, so that its length hardly depends on how counts
 * are spread. If one rank has all elements, the algorithm is a broadcast.
 */
#include "algo/phase/n_blocks_all.h"

static struct rcx_cost cost(const struct rcx_shape *s)
{
    const struct rcx_blocks blocks = rcx_blocks_of(s);

    return rcx_n_blocks_allgather_cost(&blocks, rcx_n_blocks_parts_of(s));
}

static void build(struct rcx_builder *b, const struct rcx_shape *s)
{
    const struct rcx_group all = rcx_group_all(s);
    const struct rcx_blocks blocks = rcx_blocks_of(s);
    const struct rcx_span out = rcx_span_out(s);

    rcx_step_copy(b, rcx_block(&blocks, out, s->rank), rcx_span_in(s));
    rcx_n_blocks_allgather(b, &all, &blocks, rcx_n_blocks_parts_of(s), out);
}

const struct rcx_algo rcx_allgather_circulant = {
    .name = "circulant",
    .coll = RCX_COLL_ALLGATHER,
    .formula = "[p > 1] (blocks-1 + k) a + n (p-1)/p b, k = ceil(lg p); where "
               "n/p is irregular at most (blocks-1 + k) (n/blocks + p) b",
    .known_as = "MPICH: circ_graph",
    .source = "Traeff 2022; Traeff 2024, arXiv 2407.18004",
    .params = rcx_n_blocks_params,
    .level = RCX_ORDER_CANONICAL,
    .cost = cost,
    .build = build,
};
