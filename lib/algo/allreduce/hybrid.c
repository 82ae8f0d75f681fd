/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Allreduce by the hybrid butterfly (Rabenseifner, Traeff 2004, 2 and Fig. 1;
 * van de Geijn 1994).
 *
 *   scratch  n; 2 n where nothing is halved; + n when p != 2^k
 *   order    UNIFORM; CANONICAL when p = 2^k
 *
 * Let p = 2^k + r. As in the algorithms that the paper improves on, ranks
 * 0..2r-1 first fold in pairs, and the ranks that left get the result in a last
 * round. The other ranks exchange at distances 1, 2, 4, .... While their part
 * of the vector is longer than b bytes, each keeps and combines one half of it;
 * from then on, all of it. In the end the rounds that halved run in reverse, as
 * an allgather.
 */
#include "algo/phase/factorized.h"
#include "algo/phase/fold.h"

enum { B }; /* parameters */

static bool folds(const struct rcx_shape *s)
{
    return s->size != rcx_pow2_floor(s->size);
}

static struct rcx_factorized setting(const struct rcx_shape *s)
{
    return (struct rcx_factorized){
        .group = rcx_group_folded(s, s->size - rcx_pow2_floor(s->size)),
        .b = s->params[B]};
}

static rcx_order_t order(const struct rcx_shape *s)
{
    return folds(s) ? RCX_ORDER_UNIFORM : RCX_ORDER_CANONICAL;
}

static struct rcx_cost cost(const struct rcx_shape *s)
{
    const struct rcx_factorized f = setting(s);
    const struct rcx_cost core = rcx_factorized_cost(&f, s, RCX_FACTORIZED_ALL);

    return rcx_cost_sum(
        rcx_cost_sum(rcx_fold_in_cost(s), rcx_fold_core_cost(s, core)),
        rcx_fold_out_cost(s));
}

static void build(struct rcx_builder *b, const struct rcx_shape *s)
{
    const struct rcx_factorized f = setting(s);
    const struct rcx_span out = rcx_span_out(s);
    struct rcx_span mine = rcx_span_in(s);
    struct rcx_factorized_stack stack;

    rcx_fold_in(b, s, out, folds(s) ? rcx_span_scratch(b, s->count) : out,
                &mine);
    if (f.group.rank >= 0) {
        rcx_factorized_reduce(b, &f, RCX_FACTORIZED_ALL, mine, out, &stack);
        rcx_factorized_allgather(b, &f, &stack);
    }
    rcx_fold_out(b, s, out);
}

static const struct rcx_param params[] = {[B] = RCX_FACTORIZED_B, {0}};

const struct rcx_algo rcx_allreduce_hybrid = {
    .name = "hybrid",
    .coll = RCX_COLL_ALLREDUCE,
    .formula = "b = 0: 2 k a + (1 - 1/2^k) (2 n b + n g) + [p > 2^k] (2 a "
               "+ 2 n b + n g), k = floor(lg p); where only j rounds "
               "halve: (k+j) a + (2 (1-1/2^j) + (k-j)/2^j) n b + (1 - "
               "1/2^j + (k-j)/2^j) n g",
    .source = "Rabenseifner, Traeff 2004, 2; van de Geijn 1994",
    .params = params,
    .order = order,
    .cost = cost,
    .build = build,
};
