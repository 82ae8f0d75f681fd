/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Scatter directly from the root (OCC manual 2005, linear), for any counts.
 *
 *   scratch  none
 *
 * The root sends to the next higher rank first, cyclic. The parameter posted
 * limits how many sends are posted at once.
 */
#include "algo/phase/posted.h"

static void build(struct rcx_builder *b, const struct rcx_shape *s)
{
    const struct rcx_blocks blocks = rcx_blocks_of(s);
    const struct rcx_span in = rcx_span_in(s);

    if (s->rank != s->root) {
        rcx_step_recv(b, s->root, rcx_span_out(s));
        return;
    }
    for (int t = 1; t < s->size; t++) {
        const int peer = (s->root + t) % s->size;

        rcx_posted_pair(b, s);
        rcx_step_send(b, peer, rcx_block(&blocks, in, peer));
    }
    rcx_step_copy(b, rcx_span_out(s), rcx_block(&blocks, in, s->rank));
}

const struct rcx_algo rcx_scatter_linear = {
    .name = "linear",
    .coll = RCX_COLL_SCATTER,
    .formula = "(p-1) (a + n/p b); the largest block where n/p is irregular",
    .known_as = "OCC: Linear; MPICH, UCC: linear; Open MPI: basic_linear, "
                "linear_nb",
    .source = "OCC manual 2005",
    .params = rcx_posted_params,
    .level = RCX_ORDER_CANONICAL,
    .cost = rcx_posted_cost,
    .build = build,
};
