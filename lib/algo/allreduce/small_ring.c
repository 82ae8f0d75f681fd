/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Allreduce by butterfly steps and small rings (Rabenseifner, Traeff 2004,
 * 3.4). The paper has p = r^q 2^k; here r may be another prime in each ring.
 *
 *   scratch  n for b = 0; up to (2 + q r) n for unlimited b
 *   order    UNIFORM; CANONICAL when q < 2
 *
 * A ring of r is a butterfly step of r instead of two ranks. They exchange
 * parts pairwise, or whole vectors by Bruck's allgather, and combine when all
 * operands have arrived. For p = 3 2^k and 9 2^k and short vectors this takes
 * ceil(lg p) rounds. A large prime in p makes long schedules.
 */
#include "algo/phase/factorized.h"

enum { B }; /* parameters */

static struct rcx_factorized setting(const struct rcx_shape *s)
{
    return (struct rcx_factorized){
        .group = rcx_group_all(s), .b = s->params[B], .how.ring_max = INT_MAX};
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

static const struct rcx_param params[] = {[B] = RCX_FACTORIZED_B, {0}};

const struct rcx_algo rcx_allreduce_small_ring = {
    .name = "small_ring",
    .coll = RCX_COLL_ALLREDUCE,
    .formula = "b = 0, p = 2^k: 2 k a + (1-1/p) (2 n b + n g), k = "
               "floor(lg p); p = r^q 2^k: q (r-1+ceil(lg r)) a more; b "
               "without end: (k + q ceil(lg r)) a + (k + q (r-1)) (n b + "
               "n g)",
    .needs = RCX_FACTORIZED_NEEDS,
    .source = "Rabenseifner, Traeff 2004, 3.4",
    .params = params,
    .fits = rcx_factorized_fits,
    .order = order,
    .cost = cost,
    .build = build,
};
