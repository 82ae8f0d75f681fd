/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Gather directly to the root (OCC manual 2005, linear, for scatter), for any
 * counts.
 *
 *   scratch  none
 *
 * The root receives from the next higher rank first, each block in its place.
 * The parameter posted limits how many receives are posted at once.
 */
#include "algo/phase/posted.h"

static void build(struct rcx_builder *b, const struct rcx_shape *s)
{
    const struct rcx_blocks blocks = rcx_blocks_of(s);
    const struct rcx_span out = rcx_span_out(s);

    if (s->rank != s->root) {
        rcx_step_send(b, s->root, rcx_span_in(s));
        return;
    }
    rcx_step_copy(b, rcx_block(&blocks, out, s->rank), rcx_span_in(s));
    for (int t = 1; t < s->size; t++) {
        const int peer = (s->root + t) % s->size;

        rcx_posted_pair(b, s);
        rcx_step_recv(b, peer, rcx_block(&blocks, out, peer));
    }
}

const struct rcx_algo rcx_gather_linear = {
    .name = "linear",
    .coll = RCX_COLL_GATHER,
    .formula = "(p-1) (a + n/p b); the largest block where n/p is irregular",
    .known_as = "MPICH, UCC: linear; Open MPI: basic_linear, linear_sync",
    .source = "OCC manual 2005",
    .params = rcx_posted_params,
    .level = RCX_ORDER_CANONICAL,
    .cost = rcx_posted_cost,
    .build = build,
};
