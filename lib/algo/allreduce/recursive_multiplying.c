/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Allreduce by recursive multiplying: recursive doubling with another radix
 * (Thakur, Rabenseifner, Gropp 2005, 4.5; radix-k: Peterka et al. 2009).
 *
 *   scratch  O(log radix) n
 *   order    UNIFORM; CANONICAL when q is a power of two, at most one team has
 *            q - 1 ranks, and radix is a power of two or k < 2
 *
 * Ranks fold in radix^k teams of q or q - 1 neighbours; the first rank of each
 * continues. In each of k rounds the teams whose numbers differ in one digit to
 * the base radix send their vectors to each other. Each combines all of them by
 * the fixed tree. Best where a rank can send several messages at once.
 */
#include "algo/phase/tree.h"

enum { RADIX }; /* parameters */

static const int64_t radixes[] = {2, 3, 4, 8, RCX_PARAM_END};

static int64_t radix_candidate(const struct rcx_shape *s, int i)
{
    return i < 6 && (i < 3 || 1 << i < s->size) ? 2 << i : RCX_PARAM_END;
}

static const struct rcx_param params[] = {
    [RADIX] = {.name = "radix",
               .doc = "vectors combined in a round; at most p",
               .least = 2,
               .most = 64,
               .usual = 4,
               .proved = radixes,
               .candidate = radix_candidate},
    {0}};

/* How p ranks are divided into radix^rounds teams. */
struct split {
    int size;
    int radix;
    int rounds;
    int teams;
    int largest; /* ranks of the largest team */
};

static struct split split_of(const struct rcx_shape *s)
{
    struct split t = {
        .size = s->size, .radix = (int)s->params[RADIX], .teams = 1};

    if (t.radix > s->size && s->size > 1)
        t.radix = s->size;
    while (t.teams <= s->size / t.radix) {
        t.teams *= t.radix;
        t.rounds++;
    }
    t.largest = (s->size + t.teams - 1) / t.teams;
    return t;
}

/* Return the first rank of team i. If one team is smaller than the others, it
 * is the last. */
static int first_rank(const struct split *t, int i)
{
    return (int)(((int64_t)i * t->size + t->teams - 1) / t->teams);
}

static int team_of(const struct split *t, int rank)
{
    return (int)((int64_t)rank * t->teams / t->size);
}

static bool is_pow2(int n)
{
    return n == rcx_pow2_floor(n);
}

/* CANONICAL if all teams, and the sets of teams that a round combines, are
 * nodes of the fixed tree. Their sizes are powers of two then, but the last
 * team may be one rank short. */
static rcx_order_t order(const struct rcx_shape *s)
{
    const struct split t = split_of(s);
    const bool canonical = is_pow2(t.largest) &&
                           (int64_t)t.largest * t.teams - t.size <= 1 &&
                           (t.rounds <= 1 || is_pow2(t.radix));

    return canonical ? RCX_ORDER_CANONICAL : RCX_ORDER_UNIFORM;
}

static struct rcx_cost cost(const struct rcx_shape *s)
{
    const struct split t = split_of(s);
    const double exchanged = t.rounds * (t.radix - 1), n = (double)s->count;
    const double folded = t.largest - 1;
    const double again = folded > 0 ? folded - 1 : 0; /* to the team */

    return (struct rcx_cost){
        .rounds = exchanged + 2 * folded,
        .volume = (exchanged + 2 * folded) * n,
        .combines = (exchanged + folded) * n,
        .saved = {t.rounds * (t.radix - 2) + 2 * again,
                  0.5 * t.rounds * (t.radix - 2) * n + 1.5 * again * n}};
}

/* Combine the operands of a team of count ranks on its first rank. Returns the
 * sum's span. */
static struct rcx_span fold_in(struct rcx_builder *b, const struct rcx_shape *s,
                               int count)
{
    const struct rcx_span out = rcx_span_out(s);
    struct rcx_combiner combiner;

    if (count == 1)
        return rcx_span_in(s);
    rcx_combiner_init(&combiner, b, count, out);
    rcx_combiner_add(&combiner, 0, rcx_span_in(s));
    for (int i = 1; i < count; i++) {
        const struct rcx_span theirs = rcx_combiner_slot(&combiner);

        rcx_step_recv(b, s->rank + i, theirs);
        rcx_combiner_add(&combiner, i, theirs);
    }
    return out;
}

/* Exchange vectors all to all among the radix teams whose numbers differ in the
 * digit of weight dist, and combine them. */
static void exchange(struct rcx_builder *b, struct rcx_combiner *combiner,
                     const struct split *t, int me, int dist,
                     struct rcx_span mine)
{
    const int digit = me / dist % t->radix, zero = me - digit * dist;

    rcx_combiner_add(combiner, digit, mine);
    for (int i = 1; i < t->radix; i++) {
        const int above = (digit + i) % t->radix;
        const int below = (digit + t->radix - i) % t->radix;
        const struct rcx_span theirs = rcx_combiner_slot(combiner);

        rcx_step_recv(b, first_rank(t, zero + below * dist), theirs);
        rcx_step_send(b, first_rank(t, zero + above * dist), mine);
        rcx_combiner_add(combiner, below, theirs);
    }
}

static void build(struct rcx_builder *b, const struct rcx_shape *s)
{
    const struct split t = split_of(s);
    const int me = team_of(&t, s->rank), first = first_rank(&t, me);
    const int count = first_rank(&t, me + 1) - first;
    const struct rcx_span out = rcx_span_out(s);
    struct rcx_combiner combiner;
    struct rcx_span mine;

    if (s->rank != first) {
        rcx_step_send(b, first, rcx_span_in(s));
        rcx_step_recv(b, first, out);
        return;
    }
    mine = fold_in(b, s, count);
    rcx_combiner_init(&combiner, b, t.radix, out);
    for (int dist = 1; dist < t.teams; dist *= t.radix) {
        exchange(b, &combiner, &t, me, dist, mine);
        mine = out;
    }
    if (s->size == 1)
        rcx_step_copy(b, out, mine);
    for (int i = 1; i < count; i++)
        rcx_step_send(b, first + i, out);
}

const struct rcx_algo rcx_allreduce_recursive_multiplying = {
    .name = "recursive_multiplying",
    .coll = RCX_COLL_ALLREDUCE,
    .formula = "k (r-1) (a + n b + n g) + (q-1) (2 a + 2 n b + n g), r = "
               "min(radix, max(p, 2)), k = floor(lg p / lg r), q = ceil(p "
               "/ r^k)",
    .known_as = "MPICH: recursive_multiplying, recexch; UCC: knomial",
    .source = "Thakur, Rabenseifner, Gropp 2005, 4.5; Peterka et al. 2009",
    .params = params,
    .order = order,
    .cost = cost,
    .build = build,
};
