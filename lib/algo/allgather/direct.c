/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Allgather in which every rank sends its block to all other ranks directly
 * (OCC manual 2005, for alltoall), for any counts.
 *
 *   scratch  none
 *
 * No rank waits for another one to forward a block: best where ranks share
 * cores. In step t a rank sends to the rank t above and receives from the rank
 * t below. The parameter posted limits how many steps are in flight.
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
