/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Exact sums are rounded once: compared with counters of powers of two
 * (exact_truth.h) and, if it is installed, these with GNU MPFR, on numbers that
 * are hard to sum, at every instruction set level.
 */
#include "exact_sums.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>

#ifdef HAVE_MPFR
#include <mpfr.h>
#endif

enum { SEED = 11, SEEDS = 3 };

/* Around the least number of terms for vectors, their widths, and blocks. */
static const size_t counts[] = {0,  1,   2,   3,    7,    31,   32,   33,  34,
                                63, 100, 500, 2047, 2048, 2049, 4096, 5001};
enum { COUNTS = sizeof(counts) / sizeof(*counts) };

#ifdef HAVE_MPFR

/* Precision in which no sum or product of the test is rounded. */
enum { MPFR_BITS = 4500 };

static void truth_is_that_of_mpfr(void **state)
{
    static struct operands o;
    mpfr_t sum, x, y;

    (void)state;
    mpfr_inits2(MPFR_BITS, sum, x, y, (mpfr_ptr)NULL);
    for (int set = 0; set < TRUTH_SETS; set++) {
        for (int kind = 0; kind < RCX_EXACT_KINDS; kind++) {
            struct truth t;
            int inexact = 0;

            fill(&o, (enum rcx_exact_kind)kind, set, SEED, 3000);
            t = truth_of(&o);
            mpfr_set_zero(sum, 1);
            for (size_t i = 0; i < o.n; i++) {
                mpfr_set_d(x, o.x[i], MPFR_RNDN);
                mpfr_set_d(y, is_product(o.kind) ? o.y[i] : 1, MPFR_RNDN);
                inexact |= mpfr_mul(x, x, y, MPFR_RNDN);
                inexact |= mpfr_add(sum, sum, x, MPFR_RNDN);
            }
            assert_int_equal(inexact, 0);
            assert_true(mpfr_get_d(sum, MPFR_RNDN) == truth_to_double(&t));
            assert_true(mpfr_get_flt(sum, MPFR_RNDN) == truth_to_float(&t));
        }
    }
    mpfr_clears(sum, x, y, (mpfr_ptr)NULL);
}

#endif

static void sums_are_rounded_once(void **state)
{
    static struct operands o;

    (void)state;
    for (int kind = 0; kind < RCX_EXACT_KINDS; kind++)
        for (int set = 0; set < TRUTH_SETS; set++)
            for (int c = 0; c < COUNTS; c++)
                for (uint64_t seed = 0; seed < SEEDS; seed++) {
                    fill(&o, (enum rcx_exact_kind)kind, set, seed, counts[c]);
                    check_all_levels(&o, truth_set_name(set));
                }
}

/* Every exponent, in blocks of which each has numbers of one magnitude. */
static void every_exponent_is_summed(void **state)
{
    static struct operands o;

    (void)state;
    for (int kind = 0; kind < RCX_EXACT_KINDS; kind++) {
        const int least = is_float(kind) ? -149 : -1074;
        const int most = is_float(kind) ? 127 : 1023;

        o.kind = (enum rcx_exact_kind)kind;
        o.n = 40;
        for (int e = least; e <= most; e++) {
            for (size_t i = 0; i < o.n; i++) {
                o.x[i] = ldexp(i % 3 ? 1.25 : -1, e);
                o.y[i] = ldexp(1.75, e % 2 ? e : least + most - e);
            }
            convert(&o);
            for (size_t i = 0; i < o.n && is_float(o.kind); i++) {
                o.x[i] = (double)o.single_x[i];
                o.y[i] = (double)o.single_y[i];
            }
            check_all_levels(&o, "one exponent");
        }
    }
}

static void a_million_terms_are_summed(void **state)
{
    enum { TERMS = 1 << 20 };
    double *x = malloc(TERMS * sizeof *x);

    (void)state;
    assert_non_null(x);
    for (int set = 0; set < TRUTH_SETS; set++) {
        struct truth t = {0};
        rcx_exact64_t sum;

        truth_numbers(set, false, SEED, x, TERMS);
        for (size_t i = 0; i < TERMS; i++)
            truth_add(&t, x[i]);
        rcx_exact64_zero(&sum);
        rcx_exact64_add(&sum, x, TERMS);
        assert_true(truth_equal(rcx_exact64_round(&sum), truth_to_double(&t)));
    }
    free(x);
}

/* Numbers for which folds are too few: some in each block, which cancel, are
 * far from the others, which have all bits of the mantissa, one sign and one
 * exponent. */
static void many_carries_wait_and_none_is_lost(void **state)
{
    static struct operands o;

    (void)state;
    for (int kind = 0; kind < RCX_EXACT_KINDS; kind++)
        for (int e = 0; e < 32; e++) {
            o.kind = (enum rcx_exact_kind)kind;
            o.n = MOST;
            for (size_t i = 0; i < o.n; i++) {
                o.x[i] = is_float(kind) ? 0x1.fffffep0 : 0x1.fffffffffffffp0;
                o.y[i] = ldexp(o.x[i], e);
                o.x[i] = i % 500 == 3 ? 0x1p-140
                                      : ldexp(o.x[i], is_product(kind) ? 0 : e);
                if (!is_float(kind) && i % 500 == 4)
                    o.x[i] = i / 500 % 2 ? 0x1p900 : -0x1p900;
            }
            convert(&o);
            check_all_levels(&o, "one exponent and few others");
        }
}

/* The first block has its largest numbers where no sample is taken. */
static void numbers_that_samples_miss_are_summed(void **state)
{
    enum { TERMS = 1 << 18 };
    double *x = malloc(TERMS * sizeof *x);
    struct truth t = {0};
    rcx_exact64_t sum;

    (void)state;
    assert_non_null(x);
    for (size_t i = 0; i < TERMS; i++) {
        x[i] = i % 64 == 0 ? 0x1p-20 : 0x1.fffffffffffffp30;
        truth_add(&t, x[i]);
    }
    rcx_exact64_zero(&sum);
    rcx_exact64_add(&sum, x, TERMS);
    assert_true(rcx_exact64_round(&sum) == truth_to_double(&t));
    free(x);
}

static void known_sums_have_their_known_results(void **state)
{
    static const struct {
        double x[4], sum;
    } known[] = {
        {{1e16, 1, -1e16, 0}, 1},
        {{1e308, 1e308, -1e308, -1e308}, 0},
        {{DBL_MAX, DBL_MAX, -DBL_MAX, 1}, DBL_MAX},
        {{DBL_MAX, 0x1p969, 0, 0}, DBL_MAX},
        {{DBL_MAX, 0x1p970, 0, 0}, INFINITY}, /* the tie rounds to even */
        {{DBL_MAX, 0x1p970, -0x1p-1074, 0}, DBL_MAX},
        {{1, 0x1p-53, 0, 0}, 1},
        {{1, 0x1p-53, 0x1p-1074, 0}, 1 + DBL_EPSILON},
        {{1, 0x1p-53, -0x1p-1074, 0}, 1},
        {{1 + DBL_EPSILON, 0x1p-53, 0, 0}, 1 + 2 * DBL_EPSILON},
        {{0x1p-1074, 0x1p-1074, -0x1p-1073, 0x1p-1074}, 0x1p-1074},
        {{DBL_MIN, -0x1p-1074, 0, 0}, DBL_MIN - 0x1p-1074},
        {{0.1, 0.2, 0.3, 0.4}, 1},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++) {
        rcx_exact64_t sum;

        rcx_exact64_zero(&sum);
        rcx_exact64_add(&sum, known[i].x, 4);
        assert_true(rcx_exact64_round(&sum) == known[i].sum);
    }
}

/* (1 + 2^-52) (1 - 2^-52) is 1 to a double, and the rest of the product is
 * 2^-104 of it. Others, which cancel, make it lie below the last fold. */
static void rests_of_products_are_not_lost(void **state)
{
    static struct operands o;

    (void)state;
    for (int e = 0; e <= 300; e++) {
        o.kind = RCX_EXACT_PRODUCT64;
        o.n = 101; /* 50 ones and their negatives, around the term */
        for (size_t i = 0; i < o.n; i++) {
            o.x[i] = i % 2 ? 1 : -1;
            o.y[i] = 1;
        }
        o.x[100] = ldexp(1 + DBL_EPSILON, -e);
        o.y[100] = 1 - DBL_EPSILON;
        check_all_levels(&o, "rests of products");
    }
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
#ifdef HAVE_MPFR
        cmocka_unit_test(truth_is_that_of_mpfr),
#endif
        cmocka_unit_test(known_sums_have_their_known_results),
        cmocka_unit_test(sums_are_rounded_once),
        cmocka_unit_test(every_exponent_is_summed),
        cmocka_unit_test(a_million_terms_are_summed),
        cmocka_unit_test(many_carries_wait_and_none_is_lost),
        cmocka_unit_test(numbers_that_samples_miss_are_summed),
        cmocka_unit_test(rests_of_products_are_not_lost),
    };

    return cmocka_run_group_tests_name("exact", tests, NULL, NULL);
}
