/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Exact sums and averages of rows, at every instruction set level: against sums
 * by counters, and the kernels against accumulators for many more numbers.
 */
#include "test.h"

#include <fenv.h>
#include <math.h>
#include <string.h>

#include "core/op/exact_rows.h"
#include "exact_truth.h"
#include "serial.h"

enum { LENGTH = 100 };

/* Rows of n numbers. */
struct rows {
    bool are_doubles;
    unsigned p;
    size_t n;
    double x[RCX_EXACT_ROWS][LENGTH];
    float single[RCX_EXACT_ROWS][LENGTH];
};

static struct rows rows;

static void convert(struct rows *r)
{
    for (unsigned k = 0; k < r->p; k++)
        for (size_t i = 0; i < r->n; i++) {
            r->single[k][i] = (float)r->x[k][i];
            if (!r->are_doubles)
                r->x[k][i] = (double)r->single[k][i];
        }
}

static void *row_of(struct rows *r, unsigned k)
{
    return r->are_doubles ? (void *)r->x[k] : (void *)r->single[k];
}

static double value_at(const struct rows *r, const void *x, size_t i)
{
    return r->are_doubles ? ((const double *)x)[i]
                          : (double)((const float *)x)[i];
}

static double truth_of(const struct rows *r, size_t i, rcx_op_t op)
{
    struct truth t;

    memset(&t, 0, sizeof t);
    for (unsigned k = 0; k < r->p; k++)
        truth_add(&t, r->x[k][i]);
    t.by = op == RCX_AVG_EXACT ? (int)r->p : 0;
    return r->are_doubles ? truth_to_double(&t) : (double)truth_to_float(&t);
}

static void combine(struct rows *r, enum rcx_isa isa, rcx_op_t op, void *dst)
{
    const rcx_datatype_t type = r->are_doubles ? RCX_FLOAT64 : RCX_FLOAT32;
    const void *row[RCX_EXACT_ROWS];

    for (unsigned k = 0; k < r->p; k++)
        row[k] = row_of(r, k);
    rcx_exact_rows_find(isa, op, type)(dst, row, r->p, r->n);
}

static void check_with(struct rows *r, enum rcx_isa isa, rcx_op_t op,
                       const double expected[])
{
    double got[LENGTH];

    combine(r, isa, op, got);
    for (size_t i = 0; i < r->n; i++)
        if (!truth_equal(value_at(r, got, i), expected[i]))
            fail_msg("isa %d, %s, %s, element %zu of %u rows: %a, not %a",
                     (int)isa, op == RCX_AVG_EXACT ? "average" : "sum",
                     r->are_doubles ? "doubles" : "floats", i, r->p,
                     value_at(r, got, i), expected[i]);
}

static void visit(struct rows *r, const double sums[], const double averages[])
{
    for (int isa = 0; isa < RCX_ISA_COUNT; isa++) {
        if (!rcx_isa_available((enum rcx_isa)isa))
            continue;
        check_with(r, (enum rcx_isa)isa, RCX_SUM_EXACT, sums);
        check_with(r, (enum rcx_isa)isa, RCX_AVG_EXACT, averages);
    }
}

static void check(struct rows *r)
{
    double sums[LENGTH], averages[LENGTH];

    convert(r);
    for (size_t i = 0; i < r->n; i++) {
        sums[i] = truth_of(r, i, RCX_SUM_EXACT);
        averages[i] = truth_of(r, i, RCX_AVG_EXACT);
    }
    visit(r, sums, averages);
}

/* Each row has numbers of the set, or each element has them in all rows. */
static void fill(struct rows *r, int set, bool by_element, uint64_t seed)
{
    double column[RCX_EXACT_ROWS];

    for (unsigned k = 0; k < r->p && !by_element; k++)
        truth_numbers(set, !r->are_doubles, seed + k, r->x[k], r->n);
    for (size_t i = 0; i < r->n && by_element; i++) {
        truth_numbers(set, !r->are_doubles, seed + i, column, r->p);
        for (unsigned k = 0; k < r->p; k++)
            r->x[k][i] = column[k];
    }
}

static void every_set_of_numbers_is_rounded_once(void **state)
{
    static const unsigned counts[] = {2, 3, 4, 5, 7, 8, 9, 16, 17, 63, 64};
    enum { COUNTS = sizeof counts / sizeof *counts };

    (void)state;
    for (int k = 0; k < 2 * 2 * TRUTH_SETS; k++)
        for (int c = 0; c < COUNTS; c++) {
            rows.are_doubles = k % 2;
            rows.p = counts[c];
            rows.n = (size_t)(1 + (k + c) % 11);
            fill(&rows, k / 4, k / 2 % 2, (uint64_t)(k * 100 + c));
            check(&rows);
        }
}

/* Averages, or sums, that are half an ulp from two numbers, or nearly so: all
 * terms together are p times the number, or the number, but for the last one,
 * which is tiny or 0. */
static void fill_tie(struct rows *r, uint64_t random, bool of_average)
{
    const int bits = r->are_doubles ? 52 : 23;
    const double half = ldexp((double)(2 * (random % 1024) + 1), -bits - 1);
    const double tiny = ldexp((int)(random >> 10) % 3 - 1,
                              -bits - 2 - (int)(random >> 20) % 60);
    const double scale = of_average ? r->p : 1;

    for (unsigned k = 0; k < r->p; k++)
        r->x[k][0] = 0;
    r->x[0][0] = scale;
    r->x[1][0] = scale * half;
    r->x[r->p - 1][0] = tiny;
    for (unsigned k = 0; k < r->p && random >> 60 & 1; k++)
        r->x[k][0] = -r->x[k][0];
}

static void near_ties_round_by_the_lowest_bit(void **state)
{
    (void)state;
    for (int k = 0; k < 8000; k++) {
        const uint64_t random = serial_mix(7, (uint64_t)k, 1);

        rows.are_doubles = k % 2;
        rows.p = 3 + (unsigned)(random >> 40) % 30;
        rows.n = 1;
        fill_tie(&rows, random, k / 2 % 2);
        check(&rows);
    }
}

static double special(uint64_t random)
{
    static const double numbers[] = {NAN, INFINITY, -INFINITY, -0.0, -0.0, 0.0};

    return random % 9 < 6 ? numbers[random % 9] : (double)(random % 1000) - 500;
}

static void special_numbers_are_as_in_plain_sums(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < 300; seed++) {
        rows.are_doubles = seed % 2;
        rows.p = 2 + (unsigned)(seed % 5);
        rows.n = 20;
        for (unsigned k = 0; k < rows.p; k++)
            for (size_t i = 0; i < rows.n; i++)
                rows.x[k][i] =
                    i < 4 ? -0.0 : special(serial_mix(seed, i, k) >> 8);
        rows.x[0][0] = seed % 3 ? -0.0 : 0.0;
        check(&rows);
    }
}

/* Random exponents within a window of any width, at any place. */
static void fill_windows(struct rows *r, uint64_t seed)
{
    const int limit = r->are_doubles ? 1000 : 120;
    const uint64_t random = serial_mix(seed, 0, 99);
    const int width = 1 + (int)(random % (seed % 4 ? 60 : 2 * (uint64_t)limit));
    const int low =
        -limit - 30 + (int)((random >> 20) % (uint64_t)(2 * limit + 30));

    for (unsigned k = 0; k < r->p; k++)
        for (size_t i = 0; i < r->n; i++) {
            const uint64_t x = serial_mix(seed, i, k);
            const int at = low + (int)(x % (uint64_t)width);

            r->x[k][i] = ldexp((double)(int64_t)(x | 1) * 0x1p-63,
                               at < limit ? at : limit);
        }
}

static void kernels_agree_with_accumulators(void **state)
{
    double sums[LENGTH], averages[LENGTH], values[2][LENGTH];
    const void *row[RCX_EXACT_ROWS];

    (void)state;
    for (uint64_t seed = 0; seed < 20000; seed++) {
        struct rcx_exact_rows slow = {.row = row};

        rows.are_doubles = seed % 2;
        rows.p = seed % 5 ? 2 + (unsigned)(seed % 11) : 64;
        rows.n = 33;
        fill_windows(&rows, seed);
        convert(&rows);
        for (unsigned k = 0; k < rows.p; k++)
            row[k] = row_of(&rows, k);
        slow.n = rows.p;
        slow.are_doubles = rows.are_doubles;
        rcx_exact_rows_slowly(&slow, sums, 0, rows.n);
        slow.divides = true;
        rcx_exact_rows_slowly(&slow, averages, 0, rows.n);
        for (size_t i = 0; i < rows.n; i++) {
            values[0][i] = value_at(&rows, sums, i);
            values[1][i] = value_at(&rows, averages, i);
        }
        visit(&rows, values[0], values[1]);
    }
}

static void the_result_may_replace_any_row(void **state)
{
    double expected[LENGTH];

    (void)state;
    for (unsigned k = 0; k < 4 * 5; k++) {
        rows.are_doubles = k % 2;
        rows.p = 5;
        rows.n = LENGTH - k % 3;
        fill(&rows, k % 4 < 2 ? 0 : 3, false, k);
        convert(&rows);
        for (size_t i = 0; i < rows.n; i++)
            expected[i] = truth_of(&rows, i, RCX_SUM_EXACT);
        combine(&rows, rcx_isa_best(), RCX_SUM_EXACT, row_of(&rows, k % 5));
        for (size_t i = 0; i < rows.n; i++)
            assert_true(truth_equal(value_at(&rows, row_of(&rows, k % 5), i),
                                    expected[i]));
    }
}

static void the_rounding_mode_of_the_caller_does_not_matter(void **state)
{
    static const int modes[] = {FE_UPWARD, FE_DOWNWARD, FE_TOWARDZERO};
    double sums[LENGTH], averages[LENGTH];

    (void)state;
    rows.p = 4;
    rows.n = 32;
    for (int k = 0; k < 6; k++) {
        rows.are_doubles = k % 2;
        fill(&rows, k / 2, true, 5);
        convert(&rows);
        for (size_t i = 0; i < rows.n; i++) {
            sums[i] = truth_of(&rows, i, RCX_SUM_EXACT);
            averages[i] = truth_of(&rows, i, RCX_AVG_EXACT);
        }
        fesetround(modes[k / 2]);
        visit(&rows, sums, averages);
        assert_int_equal(fegetround(), modes[k / 2]);
        fesetround(FE_TONEAREST);
    }
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_set_of_numbers_is_rounded_once),
        cmocka_unit_test(near_ties_round_by_the_lowest_bit),
        cmocka_unit_test(special_numbers_are_as_in_plain_sums),
        cmocka_unit_test(kernels_agree_with_accumulators),
        cmocka_unit_test(the_result_may_replace_any_row),
        cmocka_unit_test(the_rounding_mode_of_the_caller_does_not_matter),
    };

    return cmocka_run_group_tests_name("exact_rows", tests, NULL, NULL);
}
