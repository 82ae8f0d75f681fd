/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Exclusive scan by doubling (Traeff 2025, arXiv 2507.04785, and 2026, arXiv
 * 2604.25667). In each round a rank has the sum of the operands of the w ranks
 * before it and sends it w ranks ahead, so that w doubles. In an inclusive
 * round it first combines its own operand with the sum and sends that w + 1
 * ranks ahead, so that w becomes 2 w + 1.
 *
 *   scratch  3 n, less where inclusive = 1; in place n more
 *   order    UNIFORM
 *
 * inclusive = 1 is a shift and a scan by doubling, inclusive = 2 the paper's
 * "123". More inclusive rounds save a round, and cost a combine each. Only the
 * first round must be inclusive. Compared to recursive doubling there are fewer
 * combines: for expensive ops.
 */
#include "core/sched/algo.h"

enum { INCLUSIVE }; /* parameter */

/* A round. width: how many preceding ranks the result of a rank covers then. */
struct window {
    int64_t width;
    bool inclusive;
};

static struct window window_of(int round, int64_t inclusive)
{
    const int shift = round < inclusive ? round : (int)inclusive;

    return (struct window){.width = ((INT64_C(1) << shift) - 1)
                                    << (round - shift),
                           .inclusive = round < inclusive};
}

static int rounds_of(int size, int64_t inclusive)
{
    int rounds = 0;

    while (window_of(rounds, inclusive).width < size - 1)
        rounds++;
    return rounds;
}

/* Candidates 1, 2, ... up to the first number of inclusive rounds that takes
 * ceil(lg p) rounds in all. */
static int64_t candidate(const struct rcx_shape *s, int i)
{
    const bool more = i == 0 || rounds_of(s->size, i) > rcx_log2_ceil(s->size);

    return more ? i + 1 : RCX_PARAM_END;
}

static const int64_t proved[] = {1, 2, 3, 31, RCX_PARAM_AUTO, RCX_PARAM_END};
static const struct rcx_param params[] = {
    [INCLUSIVE] = {.name = "inclusive",
                   .doc = "rounds in which a rank includes its own operand in "
                          "the prefix that it sends",
                   .least = 1,
                   .most = 31,
                   .usual = RCX_PARAM_AUTO,
                   .proved = proved,
                   .candidate = candidate},
    {.name = NULL}};

/* An inclusive round takes two combines, except the first; other rounds take
 * one. If all rounds are inclusive, it is one combine less unless a rank that
 * receives in the last round has received in all earlier ones. */
static struct rcx_cost cost(const struct rcx_shape *s)
{
    const int64_t wanted = s->params[INCLUSIVE];
    const int rounds = rounds_of(s->size, wanted);
    const int twice = wanted < rounds ? (int)wanted : rounds;
    const bool is_short =
        twice == rounds && 4 * (int64_t)s->size <= INT64_C(3) << rounds;
    const double n = (double)s->count;

    if (rounds == 0)
        return (struct rcx_cost){0};
    return (struct rcx_cost){.rounds = rounds,
                             .volume = rounds * n,
                             .combines = (rounds + twice - 2 - is_short) * n};
}

/* State of a rank between two rounds. */
struct state {
    struct rcx_builder *b;
    const struct rcx_shape *s;
    struct rcx_span result; /* sum of ranks before it, if has_result */
    bool has_result;
    struct rcx_span through; /* result op own operand; empty: no scratch yet */
    bool has_through;        /* through is of the present result */
    struct rcx_span theirs, next;
};

/* Return the operand or sum that a rank sends in a round. */
static struct rcx_span offer(struct state *t, bool inclusive)
{
    const struct rcx_span in = rcx_span_in(t->s);

    if (!inclusive)
        return t->result;
    if (!t->has_result)
        return in;
    if (t->through.count == 0)
        t->through = rcx_span_scratch(t->b, t->s->count);
    if (!t->has_through)
        rcx_step_reduce(t->b, t->through, t->result, in);
    t->has_through = true;
    return t->through;
}

static void receive(struct state *t, int peer)
{
    const struct rcx_span theirs = t->has_result ? t->theirs : t->result;

    rcx_step_recv(t->b, peer, theirs);
    if (t->has_result) {
        rcx_step_reduce(t->b, t->result, theirs, t->result);
        t->theirs = t->next;
        t->next = theirs;
    }
    t->has_result = true;
    t->has_through = false;
}

/* Rank 0 has no result, so it sends its operand only, in inclusive rounds. */
static void build(struct rcx_builder *b, const struct rcx_shape *s)
{
    const struct rcx_span out = rcx_span_out(s);
    const bool in_place = s->alias != RCX_ALIAS_NONE;
    const int rounds = rounds_of(s->size, s->params[INCLUSIVE]);
    struct state t = {.b = b,
                      .s = s,
                      .result = in_place ? rcx_span_scratch(b, s->count) : out,
                      .theirs = rcx_span_scratch(b, s->count),
                      .next = rcx_span_scratch(b, s->count)};

    for (int round = 0; round < rounds; round++) {
        const struct window w = window_of(round, s->params[INCLUSIVE]);
        const int64_t dist = w.width + w.inclusive;

        if (s->rank + dist < s->size && (w.inclusive || s->rank > 0))
            rcx_step_send(b, s->rank + (int)dist, offer(&t, w.inclusive));
        if (s->rank - dist >= (w.inclusive ? 0 : 1))
            receive(&t, s->rank - (int)dist);
    }
    if (t.has_result)
        rcx_step_copy(b, out, t.result);
}

const struct rcx_algo rcx_exscan_doubling = {
    .name = "doubling",
    .coll = RCX_COLL_EXSCAN,
    .formula =
        "p > 1: k (a + n b) + (k + t - 2 - [t = k, p <= 3/4 2^k]) n g, t "
        "= min(inclusive, ceil(lg p)), k = t + ceil(lg((p-1)/(2^t - "
        "1)))",
    .source = "Traeff 2025, arXiv 2507.04785; 2026, arXiv 2604.25667",
    .params = params,
    .level = RCX_ORDER_UNIFORM,
    .cost = cost,
    .build = build,
};
