/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Barrier by dissemination (Hensgen, Finkel, Manber 1988).
 *
 *   scratch  ceil(lg p) + 1 elements
 *
 * In round k every rank hears from the rank 2^k below and tells the one 2^k
 * above. What it heard it copies to where the next round sends from, so that
 * the spans alone say that a round waits for the one before it.
 */
#include "core/sched/algo.h"

static struct rcx_cost cost(const struct rcx_shape *s)
{
    return (struct rcx_cost){.rounds = rcx_log2_ceil(s->size)};
}

static void build(struct rcx_builder *b, const struct rcx_shape *s)
{
    const int rounds = rcx_log2_ceil(s->size);
    const struct rcx_span heard = rcx_span_scratch(b, (size_t)rounds + 1);

    for (int k = 0; k < rounds; k++) {
        const int dist = 1 << k;
        const int above = (s->rank + dist) % s->size;
        const int below = (s->rank + s->size - dist) % s->size;

        rcx_step_recv(b, below, rcx_span_sub(heard, (size_t)k + 1, 1));
        rcx_step_send(b, above, rcx_span_sub(heard, 0, 1));
        rcx_step_copy(b, rcx_span_sub(heard, 0, 1),
                      rcx_span_sub(heard, (size_t)k + 1, 1));
    }
}

const struct rcx_algo rcx_barrier_dissemination = {
    .name = "dissemination",
    .coll = RCX_COLL_BARRIER,
    .formula = "ceil(lg p) a",
    .source = "Hensgen, Finkel, Manber 1988",
    .level = RCX_ORDER_CANONICAL,
    .cost = cost,
    .build = build,
};
