/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Rules of exact sums: special values, any order and cut, limits, and the
 * floating-point environment. Values are tested in test_exact.c, merging in
 * test_kernels.c, as the kernel of SUM.
 */
#include "exact_sums.h"

#include <fenv.h>
#include <float.h>
#include <math.h>

#ifdef __x86_64__
#include <immintrin.h>
#endif

#include "core/base/random.h"

enum { SEED = 12 };

/* ---- Special values ------------------------------------------------------ */

/* Rules for infinities, NaN and zeros, in short sums and in one that is long
 * enough for vectors, with the special terms at its end. */
static void check_special(enum rcx_exact_kind kind, const double *x,
                          const double *y, size_t n, double filler)
{
    static struct operands o;

    for (size_t before = 0; before <= 3000; before += 1500) {
        o.kind = kind;
        o.n = before + n;
        for (size_t i = 0; i < before; i++) {
            o.x[i] = filler;
            o.y[i] = 1;
        }
        memcpy(o.x + before, x, n * sizeof *x);
        memcpy(o.y + before, y, n * sizeof *y);
        convert(&o);
        check_all_levels(&o, "special values");
    }
}

static void infinities_nan_and_zeros_follow_the_rules(void **state)
{
    static const double values[] = {
        INFINITY, -INFINITY, NAN, -NAN, 0.0, -0.0, 1, -1, 0x1p-149, -0x1p127};
    enum { VALUES = sizeof(values) / sizeof(*values) };

    (void)state;
    for (int kind = 0; kind < RCX_EXACT_KINDS; kind++)
        for (int i = 0; i < VALUES * VALUES; i++) {
            const double x[2] = {values[i % VALUES], values[i / VALUES]};
            const double one[2] = {1, 1}, swapped[2] = {x[1], x[0]};

            check_special((enum rcx_exact_kind)kind, x, one, 2, 1);
            check_special((enum rcx_exact_kind)kind, x, one, 2, -0.0);
            check_special((enum rcx_exact_kind)kind, x, swapped, 1, 3);
            check_special((enum rcx_exact_kind)kind, x, swapped, 1, -0.0);
        }
}

static void the_sum_of_no_terms_is_plus_zero_and_neutral(void **state)
{
    static const double minus_zero = -0.0, number = -3;
    rcx_exact64_t none, sum, other;

    (void)state;
    rcx_exact64_zero(&none);
    rcx_exact64_add(&none, NULL, 0);
    assert_true(truth_equal(rcx_exact64_round(&none), 0));
    for (size_t i = 0; i < sizeof none; i++)
        assert_int_equal(((const char *)&none)[i], 0);
    rcx_exact64_zero(&sum);
    rcx_exact64_add(&sum, &minus_zero, 1);
    other = sum;
    rcx_exact64_merge(&sum, &none);
    assert_memory_equal(&sum, &other, sizeof sum);
    assert_true(truth_equal(rcx_exact64_round(&sum), -0.0));
    rcx_exact64_add(&sum, &number, 1);
    rcx_exact64_merge(&none, &sum);
    assert_memory_equal(&sum, &none, sizeof sum);
    assert_true(rcx_exact64_round(&none) == number);
}

/* ---- Order and cuts ------------------------------------------------------ */

static void shuffle(struct operands *o, uint64_t *random)
{
    for (size_t i = o->n; i > 1; i--) {
        const size_t k = rcx_random(random) % i;
        const double x = o->x[i - 1], y = o->y[i - 1];

        o->x[i - 1] = o->x[k];
        o->y[i - 1] = o->y[k];
        o->x[k] = x;
        o->y[k] = y;
    }
    convert(o);
}

/* Cut into parts, of which each has an accumulator, and merge these in a tree
 * of random shape. */
static struct sum sum_of_parts(const struct operands *o, uint64_t *random)
{
    struct sum parts[8];
    size_t first = 0;
    int n = 0;

    while (n < 8) {
        const size_t left = o->n - first;
        const size_t part = n < 7 ? rcx_random(random) % (left + 1) : left;

        parts[n] = sum_of(o->kind);
        add_part(&parts[n], o, first, part,
                 (enum rcx_isa)(rcx_random(random) % (rcx_exact_isa() + 1)));
        first += part;
        n++;
    }
    for (; n > 1; n--) {
        const int k = (int)(rcx_random(random) % (unsigned)(n - 1));

        merge(&parts[k], &parts[n - 1]);
    }
    return parts[0];
}

static void any_order_and_cut_gives_the_same_bytes(void **state)
{
    static struct operands o;
    uint64_t random = SEED;

    (void)state;
    for (int kind = 0; kind < RCX_EXACT_KINDS; kind++)
        for (int set = 0; set < TRUTH_SETS; set++)
            for (int i = 0; i < 20; i++) {
                struct sum whole = sum_of((enum rcx_exact_kind)kind), parts;

                fill(&o, (enum rcx_exact_kind)kind, set, (uint64_t)i,
                     1 + rcx_random(&random) % MOST);
                add_part(&whole, &o, 0, o.n, rcx_exact_isa());
                shuffle(&o, &random);
                parts = sum_of_parts(&o, &random);
                assert_same(&whole, &parts);
            }
}

static void equal_sums_of_other_terms_have_the_same_bytes(void **state)
{
    static const float halves[] = {0.5F, 0.5F}, one = 1, ones[] = {1e10F, 1};
    static const float minus = -1e10F, two[] = {2, 0.5F};
    rcx_exact32_t a, b;
    rcx_exact64_t c, d;

    (void)state;
    rcx_exact32_zero(&a);
    rcx_exact32_zero(&b);
    rcx_exact32_add(&a, halves, 2);
    rcx_exact32_add(&b, ones, 2);
    rcx_exact32_add(&b, &minus, 1);
    assert_memory_equal(&a, &b, sizeof a);
    rcx_exact64_zero(&c);
    rcx_exact64_zero(&d);
    rcx_exact64_add_product32(&c, two, two + 1, 1);
    rcx_exact64_add_product32(&d, &one, &one, 1);
    assert_memory_equal(&c, &d, sizeof c);
    assert_true(rcx_exact64_round_float(&c) == 1);
    assert_true(rcx_exact32_round(&a) == 1);
    assert_true(rcx_exact32_round_float(&a) == 1);
}

/* ---- Limits -------------------------------------------------------------- */

/* Double a sum of the largest terms as often as rcx.h says, and take the same
 * away: 0 is left, and the sign was right before. */
static void the_stated_number_of_additions_fits(void **state)
{
    static const struct {
        enum rcx_exact_kind kind;
        int doublings;
    } limits[] = {{RCX_EXACT_SUM32, 102}, {RCX_EXACT_PRODUCT64, 87}};
    static struct operands o;

    (void)state;
    for (size_t i = 0; i < 2; i++) {
        struct sum plus = sum_of(limits[i].kind), minus = plus;

        o.kind = limits[i].kind;
        o.n = 1;
        for (int sign = 1; sign >= -1; sign -= 2) {
            o.x[0] = sign * (is_float(o.kind) ? (double)FLT_MAX : DBL_MAX);
            o.y[0] = DBL_MAX;
            convert(&o);
            add_part(sign > 0 ? &plus : &minus, &o, 0, 1, RCX_ISA_BASELINE);
        }
        for (int k = 0; k < limits[i].doublings; k++) {
            merge(&plus, &plus);
            merge(&minus, &minus);
        }
        assert_true(rounded(&plus) > 1 && rounded(&minus) < -1);
        merge(&plus, &minus);
        assert_true(rounded(&plus) == 0);
    }
}

/* ---- Floating-point environment ------------------------------------------ */

static void check_in_env(const struct operands *o, const struct sum *expected)
{
    struct sum s = sum_of(o->kind);

    add_part(&s, o, 0, o->n, rcx_exact_isa());
    assert_same(&s, expected);
}

static void the_rounding_mode_does_not_matter(void **state)
{
    static const int modes[] = {FE_DOWNWARD, FE_UPWARD, FE_TOWARDZERO};
    static struct operands o;

    (void)state;
    for (int kind = 0; kind < RCX_EXACT_KINDS; kind++)
        for (int set = 0; set < TRUTH_SETS; set++) {
            struct sum s = sum_of((enum rcx_exact_kind)kind);

            fill(&o, (enum rcx_exact_kind)kind, set, SEED, 3000);
            add_part(&s, &o, 0, o.n, rcx_exact_isa());
            for (int i = 0; i < 3; i++) {
                const double nearest = rounded(&s);
                double other;

                assert_int_equal(fesetround(modes[i]), 0);
                check_in_env(&o, &s);
                other = rounded(&s);
                assert_int_equal(fegetround(), modes[i]);
                fesetround(FE_TONEAREST);
                assert_true(truth_equal(nearest, other));
            }
        }
}

#ifdef __x86_64__

/* FTZ and DAZ, as -ffast-math sets them, and traps on all exceptions. */
static void flushing_and_traps_do_not_matter_and_come_back(void **state)
{
    enum { FTZ_DAZ = 0x8040, TRAPS = 0x1f80, FLAGS = 0x3f };
    static struct operands o;

    (void)state;
    for (int kind = 0; kind < RCX_EXACT_KINDS; kind++)
        for (int set = 0; set < TRUTH_SETS; set++) {
            const unsigned saved = _mm_getcsr() & ~(unsigned)FLAGS;
            struct sum s = sum_of((enum rcx_exact_kind)kind);

            fill(&o, (enum rcx_exact_kind)kind, set, SEED, 3000);
            add_part(&s, &o, 0, o.n, rcx_exact_isa());
            _mm_setcsr(saved | FTZ_DAZ);
            check_in_env(&o, &s);
            assert_int_equal(_mm_getcsr(), saved | FTZ_DAZ);
            _mm_setcsr(saved & ~(unsigned)TRAPS);
            check_in_env(&o, &s);
            assert_int_equal(_mm_getcsr(), saved & ~(unsigned)TRAPS);
            _mm_setcsr(saved);
        }
}

#endif

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(infinities_nan_and_zeros_follow_the_rules),
        cmocka_unit_test(the_sum_of_no_terms_is_plus_zero_and_neutral),
        cmocka_unit_test(any_order_and_cut_gives_the_same_bytes),
        cmocka_unit_test(equal_sums_of_other_terms_have_the_same_bytes),
        cmocka_unit_test(the_stated_number_of_additions_fits),
        cmocka_unit_test(the_rounding_mode_does_not_matter),
#ifdef __x86_64__
        cmocka_unit_test(flushing_and_traps_do_not_matter_and_come_back),
#endif
    };

    return cmocka_run_group_tests_name("exact_rules", tests, NULL, NULL);
}
