/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The formulas of Thakur, Rabenseifner, Gropp 2005, sections 4.4, 4.5 and 5.1,
 * with f_alpha = f_beta = 1, against the cost functions of the algorithms.
 * test_proofs.c shows that schedules have these costs.
 */
#include "test.h"

#include <math.h>

#include "core/sched/algo.h"
#include "core/sched/params.h"

enum { SIZE_MAX_TESTED = 1 << 12 };

static struct rcx_cost priced(double alpha, double beta, double gamma)
{
    return (struct rcx_cost){
        .rounds = alpha, .volume = beta, .combines = gamma};
}

/* Return floor(lg p); power_below() is the paper's p'. */
static int log_below(int p)
{
    int l = 0;

    while (2 << l <= p)
        l++;
    return l;
}

static int power_below(int p)
{
    return 1 << log_below(p);
}

static bool is_power(int p)
{
    return power_below(p) == p;
}

static struct rcx_cost cost_of(enum rcx_coll coll, const char *name, int p,
                               size_t n)
{
    const struct rcx_algo *algo = rcx_algo_find(coll, name);
    struct rcx_shape s = {.coll = coll,
                          .size = p,
                          .count = n,
                          .elem_bytes = 8,
                          .commutative = true};

    assert_non_null(algo);
    rcx_params_reset(algo, s.params);
    return algo->cost(&s);
}

static bool is_near(double a, double b)
{
    return fabs(a - b) <= 1e-9 * (1 + fabs(b));
}

static void check(enum rcx_coll coll, const char *name, int p, size_t n,
                  struct rcx_cost paper)
{
    const struct rcx_cost ours = cost_of(coll, name, p, n);

    if (!is_near(ours.rounds, paper.rounds) ||
        !is_near(ours.volume, paper.volume) ||
        !is_near(ours.combines, paper.combines))
        fail_msg("%s %s, p=%d n=%zu: %g a + %g b + %g g, in the paper %g a + "
                 "%g b + %g g",
                 rcx_coll_name(coll), name, p, n, ours.rounds, ours.volume,
                 ours.combines, paper.rounds, paper.volume, paper.combines);
}

/* Return the length of a vector that p parts and power_below(p) parts divide
 * evenly. */
static double even_count(int p)
{
    return (double)p * power_below(p) * 3;
}

static void reduce_scatter_costs_agree_with_section_4_4(void **state)
{
    (void)state;
    for (int p = 2; p <= SIZE_MAX_TESTED; p *= 2) {
        const double n = even_count(p), l = log_below(p);
        const double others = (p - 1) * n / p;
        const double doubled = n * l - others;

        check(RCX_COLL_REDUCE_SCATTER, "recursive_halving", p, (size_t)n,
              priced(l, others, others));
        check(RCX_COLL_REDUCE_SCATTER, "pairwise", p, (size_t)n,
              priced(p - 1, others, others));
        /* The paper also combines blocks that no rank requests any more: in
         * round i, those of 2^i - 1 ranks. */
        check(RCX_COLL_REDUCE_SCATTER, "recursive_doubling", p, (size_t)n,
              priced(l, doubled, doubled - (p - 1 - l) * n / p));
        /* The old algorithm, with a binomial scatter instead of its linear
         * one. */
        check(RCX_COLL_REDUCE_SCATTER, "reduce_then_scatter", p, (size_t)n,
              priced(2 * l, n * l + others, n * l));
    }
}

/*
 * The paper's 2 n beta + n (1 + (p - 1)/p) gamma is approximate: "some
 * processes do the work of their neighbors as well". Rank 0 of q has min(2 m, m
 * + r) blocks where m ranks share them, for m = q/2, ..., 2, 1. t is the first
 * power of two above r.
 */
static void folded_recursive_halving_costs_rcx_s_own_formula(void **state)
{
    (void)state;
    for (int p = 3; p <= 1024; p++) {
        const int q = power_below(p), r = p - q;
        const double n = even_count(p), l = log_below(q);
        double kept;
        int t;

        if (is_power(p))
            continue;
        t = 2 * power_below(r);
        kept = (q - 1 + t - 1 + r * (l - log_below(t))) * n / p;
        check(RCX_COLL_REDUCE_SCATTER, "recursive_halving", p, (size_t)n,
              priced(l + 2, n + kept + n / p, n + kept));
    }
}

static void reduce_and_allreduce_costs_agree_with_section_4_5(void **state)
{
    (void)state;
    for (int p = 2; p <= 1024; p++) {
        const double n = even_count(p), up = log_below(p) + !is_power(p);
        const double others = (p - 1) * n / p;

        check(RCX_COLL_REDUCE, "binomial", p, (size_t)n,
              priced(up, up * n, up * n));
        if (!is_power(p))
            continue;
        check(RCX_COLL_ALLREDUCE, "recursive_doubling", p, (size_t)n,
              priced(up, up * n, up * n));
        check(RCX_COLL_ALLREDUCE, "rabenseifner", p, (size_t)n,
              priced(2 * up, 2 * others, others));
        check(RCX_COLL_REDUCE, "rabenseifner", p, (size_t)n,
              priced(2 * up, 2 * others, others));
    }
}

static void halving_and_doubling_costs_agree_with_section_5_1(void **state)
{
    (void)state;
    for (int p = 2; p <= 1024; p++) {
        const double n = even_count(p), q = power_below(p), l = log_below(q);

        if (is_power(p)) {
            const struct rcx_cost both =
                priced(2 * l, 2 * n - 2 * n / p, n - n / p);

            check(RCX_COLL_ALLREDUCE, "rabenseifner", p, (size_t)n, both);
            check(RCX_COLL_REDUCE, "rabenseifner", p, (size_t)n, both);
            continue;
        }
        check(RCX_COLL_ALLREDUCE, "rabenseifner", p, (size_t)n,
              priced(2 * l + 3, 4 * n - 2 * n / q, 1.5 * n - n / q));
        check(RCX_COLL_REDUCE, "rabenseifner", p, (size_t)n,
              priced(2 * l + 2, 3 * n - 2 * n / q, 1.5 * n - n / q));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reduce_scatter_costs_agree_with_section_4_4),
        cmocka_unit_test(folded_recursive_halving_costs_rcx_s_own_formula),
        cmocka_unit_test(reduce_and_allreduce_costs_agree_with_section_4_5),
        cmocka_unit_test(halving_and_doubling_costs_agree_with_section_5_1),
    };

    return cmocka_run_group_tests_name("papers_thakur", tests, NULL, NULL);
}
