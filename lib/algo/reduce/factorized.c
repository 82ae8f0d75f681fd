/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Reduce by butterfly steps, small rings and one elimination, and a gather
 * (Rabenseifner, Traeff 2004, 2 and 3.6). With ring_max = 0 it is the paper's
 * hybrid or elimination, with ring_max = p its small rings.
 *
 *   scratch  2 n for b = 0; for unlimited b 3 n, and O(log r) n for each ring
 *            of r; n less at root
 *   order    UNIFORM; CANONICAL when p is 2^k, or 2^k times one ring
 *
 * The routing phase goes back through the rounds. In each round, parts of the
 * vector move to the members that were in the root's group before that round,
 * in the end to the root alone. If a round splits nothing, whole vectors go one
 * way only: to the root's place in that round, or to the place from which the
 * root gets the result.
 */
#include "algo/phase/factorized.h"

enum { B, RING_MAX, RADIX }; /* parameters */

static struct rcx_factorized setting(const struct rcx_shape *s)
{
    return (struct rcx_factorized){
        .group = rcx_group_all(s),
        .b = s->params[B],
        .how = rcx_factorized_how(s->params[RING_MAX], s->params[RADIX])};
}

static rcx_order_t order(const struct rcx_shape *s)
{
    const struct rcx_factorized f = setting(s);

    return rcx_factorized_order(&f);
}

static struct rcx_cost cost(const struct rcx_shape *s)
{
    const struct rcx_factorized f = setting(s);

    return rcx_factorized_cost(&f, s, s->root);
}

static void build(struct rcx_builder *b, const struct rcx_shape *s)
{
    const struct rcx_factorized f = setting(s);
    const struct rcx_span result =
        s->rank == s->root ? rcx_span_out(s) : rcx_span_scratch(b, s->count);
    struct rcx_factorized_stack stack;

    rcx_factorized_reduce(b, &f, s->root, rcx_span_in(s), result, &stack);
    rcx_factorized_gather(b, &f, &stack);
}

static const struct rcx_param params[] = {[B] = RCX_FACTORIZED_B,
                                          [RING_MAX] = RCX_FACTORIZED_RING_MAX,
                                          [RADIX] = RCX_FACTORIZED_RADIX,
                                          {0}};

const struct rcx_algo rcx_reduce_factorized = {
    .name = "factorized",
    .coll = RCX_COLL_REDUCE,
    .formula = "b = 0, radix = 2, p = 2^k: 2 k a + (1-1/p) (2 n b + n g), k "
               "= floor(lg p); p = 2^k r1 ... rh q, q no product of primes "
               "up to ring_max; m = n, less after each step that splits it: "
               "2 a + m/2 (2 b + g) or a + m (b + g) for each 2; (2 r - 2) "
               "a + m (1-1/r) (2 b + g) or (r-1) (a + m b + m g) for each "
               "r; (2 l + 1) a + m (3/2 - 1/2^l) (2 b + g) - m/2 b or (l+1) "
               "(a + m b + m g) for q > 1, l = floor(lg q), and what an "
               "eliminated root misses; products of factors up to radix as "
               "each r",
    .needs = RCX_FACTORIZED_NEEDS,
    .source = "Rabenseifner, Traeff 2004, 2 and 3.6",
    .params = params,
    .fits = rcx_factorized_fits,
    .order = order,
    .cost = cost,
    .build = build,
};
