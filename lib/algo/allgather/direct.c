/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Allgather in which every rank sends its block to all others itself (OCC
 * manual 2005, for alltoall), for any counts.
 *
 *   scratch  none
 *
 * No rank waits for another to pass a block on, so that it does best where
 * ranks share cores. In step t the peers are those t above and t below, and
 * only so many steps are under way at once.
 */
#include "algo/phase/posted.h"

static void build(struct rcx_builder *b, const struct rcx_shape *s)
{
    const struct rcx_blocks blocks = rcx_blocks_of(s);
    const struct rcx_span in = rcx_span_in(s), out = rcx_span_out(s);

    for (int t = 1; t < s->size; t++) {
        const int above = (s->rank + t) % s->size;
        const int below = (s->rank + s->size - t) % s->size;

        rcx_posted_pair(b, s);
        rcx_step_recv(b, below, rcx_block(&blocks, out, below));
        rcx_step_send(b, above, in);
    }
    rcx_step_copy(b, rcx_block(&blocks, out, s->rank), in);
}

const struct rcx_algo rcx_allgather_direct = {
    .name = "direct",
    .coll = RCX_COLL_ALLGATHER,
    .formula = "(p-1) (a + n/p b); the largest block where n/p is irregular",
    .known_as = "Open MPI: linear, direct-messaging; UCC: linear, "
                "linear_batched",
    .source = "OCC manual 2005, linear alltoall",
    .params = rcx_posted_params,
    .level = RCX_ORDER_CANONICAL,
    .cost = rcx_posted_cost,
    .build = build,
};
