/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Scan from rank to rank: each combines the sum of the ranks before it with its
 * own operand, and sends that on. With segments, a pipeline.
 *
 *   scratch  n
 *   order    UNIFORM: from the left
 *
 * It takes p - 1 rounds, but sends and combines the minimum: for long vectors.
 */
#include "core/sched/algo.h"

static struct rcx_cost cost(const struct rcx_shape *s)
{
    const double n = s->size - 1;
    const double elements = n * (double)s->count;

    return (struct rcx_cost){
        .rounds = n, .volume = elements, .combines = elements};
}

static void build(struct rcx_builder *b, const struct rcx_shape *s)
{
    const struct rcx_span in = rcx_span_in(s), out = rcx_span_out(s);

    if (s->rank == 0) {
        rcx_step_copy(b, out, in);
    } else {
        const struct rcx_span before = rcx_span_scratch(b, s->count);

        rcx_step_recv(b, s->rank - 1, before);
        rcx_step_reduce(b, out, before, in);
    }
    if (s->rank + 1 < s->size)
        rcx_step_send(b, s->rank + 1, out);
}

const struct rcx_algo rcx_scan_linear = {
    .name = "linear",
    .coll = RCX_COLL_SCAN,
    .formula = "(p-1) (a + n b + n g)",
    .known_as = "Open MPI: linear",
    .source = "folklore",
    .level = RCX_ORDER_UNIFORM,
    .cost = cost,
    .build = build,
};
