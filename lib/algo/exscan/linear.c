/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Exclusive scan from rank to rank: each receives the sum of the ranks before
 * it, combines its own operand with it, and sends that on. With segments, a
 * pipeline.
 *
 *   scratch  n; 2 n in place
 *   order    UNIFORM: from the left
 *
 * It takes p - 1 rounds, but sends and combines the minimum: for long vectors.
 */
#include "core/sched/algo.h"

static struct rcx_cost cost(const struct rcx_shape *s)
{
    const double n = s->size - 1, combines = n > 1 ? n - 1 : 0;

    return (struct rcx_cost){.rounds = n,
                             .volume = n * (double)s->count,
                             .combines = combines * (double)s->count};
}

static void build(struct rcx_builder *b, const struct rcx_shape *s)
{
    const struct rcx_span in = rcx_span_in(s), out = rcx_span_out(s);
    struct rcx_span before = out, through = in;

    if (s->rank > 0) {
        if (s->alias != RCX_ALIAS_NONE)
            before = rcx_span_scratch(b, s->count);
        rcx_step_recv(b, s->rank - 1, before);
    }
    if (s->rank + 1 < s->size) {
        if (s->rank > 0) {
            through = rcx_span_scratch(b, s->count);
            rcx_step_reduce(b, through, before, in);
        }
        rcx_step_send(b, s->rank + 1, through);
    }
    rcx_step_copy(b, out, before);
}

const struct rcx_algo rcx_exscan_linear = {
    .name = "linear",
    .coll = RCX_COLL_EXSCAN,
    .formula = "(p-1) (a + n b) + max(p-2, 0) n g",
    .known_as = "Open MPI: linear",
    .source = "folklore",
    .level = RCX_ORDER_UNIFORM,
    .cost = cost,
    .build = build,
};
