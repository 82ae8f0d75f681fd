/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Scan by doubling (Hillis, Steele 1986): in round k each rank has the sum of
 * the last 2^k ranks up to itself, and sends it 2^k ranks ahead.
 *
 *   scratch  2 n
 *   order    UNIFORM
 *
 * It takes as many rounds as recursive doubling, with one combine in each: for
 * expensive ops.
 */
#include "core/sched/algo.h"

static struct rcx_cost cost(const struct rcx_shape *s)
{
    const double rounds = rcx_log2_ceil(s->size);
    const double elements = rounds * (double)s->count;

    return (struct rcx_cost){
        .rounds = rounds, .volume = elements, .combines = elements};
}

static void build(struct rcx_builder *b, const struct rcx_shape *s)
{
    const struct rcx_span out = rcx_span_out(s);
    struct rcx_span mine = rcx_span_in(s);
    struct rcx_span theirs = rcx_span_scratch(b, s->count);
    struct rcx_span next = rcx_span_scratch(b, s->count);

    for (int dist = 1; dist < s->size; dist *= 2) {
        const struct rcx_span free = theirs;

        if (s->rank >= dist)
            rcx_step_recv(b, s->rank - dist, theirs);
        if (s->rank + dist < s->size)
            rcx_step_send(b, s->rank + dist, mine);
        if (s->rank < dist)
            continue;
        rcx_step_reduce(b, out, theirs, mine);
        mine = out;
        theirs = next;
        next = free;
    }
    rcx_step_copy(b, out, mine);
}

const struct rcx_algo rcx_scan_doubling = {
    .name = "doubling",
    .coll = RCX_COLL_SCAN,
    .formula = "ceil(lg p) (a + n b + n g)",
    .source = "Hillis, Steele 1986",
    .level = RCX_ORDER_UNIFORM,
    .cost = cost,
    .build = build,
};
