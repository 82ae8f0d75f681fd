/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Barrier by dissemination (Hensgen, Finkel, Manber 1988), of any radix r.
 *
 *   scratch  an element for each message that a rank receives, and one
 *
 * For each weight w = 1, r, r^2, ... a rank receives from the ranks w, 2 w,
 * ..., (r - 1) w below and sends to the ranks as far above. It sends the state
 * that it had before this weight, so messages of one weight do not depend on
 * each other. Each received element is copied onto the element that is sent.
 * The overlap of these spans makes a weight wait for the one before.
 */
#include "core/sched/algo.h"

#include <limits.h>

enum { RADIX }; /* parameters */

static const int64_t proved[] = {2, 3, 4, 8, INT_MAX, RCX_PARAM_END};
static int64_t radix_candidate(const struct rcx_shape *s, int i)
{
    return i < 3 || 1 << i < s->size ? 2 << i : RCX_PARAM_END;
}

static const struct rcx_param params[] = {
    [RADIX] = {.name = "radix",
               .doc = "a rank sends up to radix-1 messages for each power of "
                      "it",
               .least = 2,
               .most = INT_MAX,
               .usual = 2,
               .proved = proved,
               .candidate = radix_candidate},
    {0}};

/* Return the number of messages of a weight. */
static int messages_of(const struct rcx_shape *s, int64_t weight)
{
    const int64_t most = (s->size - 1) / weight, radix = s->params[RADIX];

    return (int)(most < radix ? most : radix - 1);
}

static int messages(const struct rcx_shape *s)
{
    int sum = 0;

    for (int64_t w = 1; w < s->size; w *= s->params[RADIX])
        sum += messages_of(s, w);
    return sum;
}

static struct rcx_cost cost(const struct rcx_shape *s)
{
    int rounds = 0;

    for (int64_t w = 1; w < s->size; w *= s->params[RADIX])
        rounds++;
    return (struct rcx_cost){.rounds = messages(s),
                             .saved.rounds = messages(s) - rounds};
}

static void tell(struct rcx_builder *b, const struct rcx_shape *s, int weight,
                 struct rcx_span known, struct rcx_span heard)
{
    for (int i = 0; i < (int)heard.count; i++) {
        const int dist = (i + 1) * weight;
        const int above = (s->rank + dist) % s->size;
        const int below = (s->rank + s->size - dist) % s->size;

        rcx_step_recv(b, below, rcx_span_sub(heard, (size_t)i, 1));
        rcx_step_send(b, above, known);
    }
    for (size_t i = 0; i < heard.count; i++)
        rcx_step_copy(b, known, rcx_span_sub(heard, i, 1));
}

static void build(struct rcx_builder *b, const struct rcx_shape *s)
{
    const struct rcx_span all = rcx_span_scratch(b, (size_t)messages(s) + 1);
    size_t next = 1;

    for (int64_t w = 1; w < s->size; w *= s->params[RADIX]) {
        const size_t n = (size_t)messages_of(s, w);

        tell(b, s, (int)w, rcx_span_sub(all, 0, 1), rcx_span_sub(all, next, n));
        next += n;
    }
}

const struct rcx_algo rcx_barrier_dissemination = {
    .name = "dissemination",
    .coll = RCX_COLL_BARRIER,
    .formula = "(k (radix-1) + min(radix-1, floor((p-1)/radix^k))) a, k = "
               "floor(lg max(p-1, 1) / lg radix)",
    .known_as = "OCC: Bruck; MPICH: dissemination, k_dissemination; Open MPI: "
                "bruck; UCC: knomial is close",
    .source = "Hensgen, Finkel, Manber 1988",
    .params = params,
    .level = RCX_ORDER_CANONICAL,
    .cost = cost,
    .build = build,
};
