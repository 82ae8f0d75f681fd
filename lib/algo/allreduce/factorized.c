/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Allreduce by butterfly steps, small rings and one elimination (Rabenseifner,
 * Traeff 2004, 3.6). phase/factorized.h describes these steps.
 *
 *   scratch  n for b = 0; for unlimited b 2 n, and r n for each ring of r
 *   order    UNIFORM; CANONICAL when p is 2^k, or 2^k times one ring
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

    return rcx_factorized_cost(&f, s, RCX_FACTORIZED_ALL);
}

static void build(struct rcx_builder *b, const struct rcx_shape *s)
{
    const struct rcx_factorized f = setting(s);

    rcx_factorized_allreduce(b, &f);
}

static const struct rcx_param params[] = {[B] = RCX_FACTORIZED_B,
                                          [RING_MAX] = RCX_FACTORIZED_RING_MAX,
                                          [RADIX] = RCX_FACTORIZED_RADIX,
                                          {0}};

const struct rcx_algo rcx_allreduce_factorized = {
    .name = "factorized",
    .coll = RCX_COLL_ALLREDUCE,
    .formula =
        "b = 0, radix = 2, p = 2^k: 2 k a + (1-1/p) (2 n b + n g), k "
        "= floor(lg p); p = 2^k r1 ... rh q, q no product of primes "
        "up to ring_max; m = n, less after each step that splits it: "
        "2 a + m/2 (2 b + g) or a + m (b + g) for each 2; "
        "(r-1+ceil(lg r)) a + m (1-1/r) (2 b + g) or ceil(lg r) a + "
        "m (r-1) (b + g) for each r; (2 l + 2) a + m (3/2 - 1/2^l) "
        "(2 b + g) or (l+2) (a + m b) + (l+1) m g for q > 1, l = "
        "floor(lg q); each product f <= radix of factors: (2 f - 2) a + m "
        "(1-1/f) (2 b + g) or (f-1) (a + m b + m g)",
    .needs = RCX_FACTORIZED_NEEDS,
    .source = "Rabenseifner, Traeff 2004, 3.6",
    .params = params,
    .fits = rcx_factorized_fits,
    .order = order,
    .cost = cost,
    .build = build,
};
