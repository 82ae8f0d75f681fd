/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Allreduce by direct exchange: every rank sends its vector to every other one
 * and combines all of them by the fixed tree.
 *
 *   scratch  (p - 1) n
 *   order    CANONICAL
 *
 * A rank waits only once, as nothing that it sends depends on what it receives.
 * So this is the fastest algorithm for short vectors on few ranks, most of all
 * where ranks share cores and each wait costs a context switch.
 */
#include "algo/phase/tree.h"

static struct rcx_cost cost(const struct rcx_shape *s)
{
    const double others = s->size - 1, n = (double)s->count;
    const double again = others > 0 ? others - 1 : 0; /* of the same vector */

    return (struct rcx_cost){.rounds = others,
                             .volume = others * n,
                             .combines = others * n,
                             .saved = {again, 0.5 * again * n}};
}

static void build(struct rcx_builder *b, const struct rcx_shape *s)
{
    struct rcx_combiner combiner;

    rcx_combiner_init(&combiner, b, s->size, rcx_span_out(s));
    rcx_combiner_add(&combiner, s->rank, rcx_span_in(s));
    for (int t = 1; t < s->size; t++) {
        const int above = (s->rank + t) % s->size;
        const int below = (s->rank + s->size - t) % s->size;
        const struct rcx_span theirs = rcx_span_scratch(b, s->count);

        rcx_step_recv(b, below, theirs);
        rcx_step_send(b, above, rcx_span_in(s));
        rcx_combiner_add(&combiner, below, theirs);
    }
}

const struct rcx_algo rcx_allreduce_direct = {
    .name = "direct",
    .coll = RCX_COLL_ALLREDUCE,
    .formula = "(p-1) (a + n b + n g)",
    .source = "all-to-all broadcast and local reduction; order: design",
    .level = RCX_ORDER_CANONICAL,
    .cost = cost,
    .build = build,
};
