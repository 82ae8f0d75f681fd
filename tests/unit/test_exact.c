/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Exact sums, compared with counters of powers of two (exact_truth.h) and, if
 * it is installed, GNU MPFR: on numbers that are hard to sum, at every
 * instruction set level, for any order and cut. Merging is tested in
 * test_kernels.c as well, as the kernel of SUM.
 */
#include "test.h"

#include <fenv.h>
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#ifdef HAVE_MPFR
#include <mpfr.h>
#endif
#ifdef __x86_64__
#include <immintrin.h>
#endif

#include "core/base/random.h"
#include "core/op/exact_bulk.h"
#include "exact_truth.h"

enum { MOST = 6000, SEED = 11, SEEDS = 3 };

/* Around the least number of terms for vectors, their widths, and blocks. */
static const size_t counts[] = {0,  1,   2,   3,    7,    31,   32,   33,  34,
                                63, 100, 500, 2047, 2048, 2049, 4096, 5001};
enum { COUNTS = sizeof(counts) / sizeof(*counts) };

static const char *const kind_names[RCX_EXACT_KINDS] = {
    "floats", "doubles", "products of floats", "products of doubles"};

/* Operands, as doubles and as what is added. */
struct operands {
    enum rcx_exact_kind kind;
    size_t n;
    double x[MOST], y[MOST];
    float single_x[MOST], single_y[MOST];
};

static bool is_float(enum rcx_exact_kind kind)
{
    return kind == RCX_EXACT_SUM32 || kind == RCX_EXACT_PRODUCT32;
}

static bool is_product(enum rcx_exact_kind kind)
{
    return kind == RCX_EXACT_PRODUCT32 || kind == RCX_EXACT_PRODUCT64;
}

static const void *at(const struct operands *o, bool second, size_t i)
{
    if (is_float(o->kind))
        return (second ? o->single_y : o->single_x) + i;
    return (second ? o->y : o->x) + i;
}

static void convert(struct operands *o)
{
    for (size_t i = 0; i < o->n && is_float(o->kind); i++) {
        o->single_x[i] = (float)o->x[i];
        o->single_y[i] = (float)o->y[i];
    }
}

static void fill(struct operands *o, enum rcx_exact_kind kind, int set,
                 uint64_t seed, size_t n)
{
    o->kind = kind;
    o->n = n;
    truth_numbers(set, is_float(kind), seed, o->x, n);
    truth_numbers((set + (int)(seed % 2)) % TRUTH_SETS, is_float(kind),
                  seed + 1, o->y, n);
    convert(o);
}

/* An accumulator of either type. */
struct sum {
    const struct rcx_exact_format *format;
    uint64_t words[RCX_EXACT_WORDS];
};

static struct sum sum_of(enum rcx_exact_kind kind)
{
    return (struct sum){.format = kind == RCX_EXACT_SUM32 ? &rcx_exact_float32
                                                          : &rcx_exact_float64};
}

static void add_part(struct sum *s, const struct operands *o, size_t first,
                     size_t n, enum rcx_isa isa)
{
    rcx_exact_add_many(s->words, s->format, o->kind, at(o, false, first),
                       at(o, true, first), n, isa);
}

static void merge(struct sum *s, const struct sum *other)
{
    const rcx_kernel_fn_t kernel = s->format == &rcx_exact_float32
                                       ? rcx_exact_sum_float32
                                       : rcx_exact_sum_float64;

    kernel(s->words, s->words, other->words, 1);
}

static double rounded(const struct sum *s)
{
    return rcx_exact_to_double(s->words, s->format);
}

static float rounded_to_float(const struct sum *s)
{
    return rcx_exact_to_float(s->words, s->format);
}

static void assert_same(const struct sum *a, const struct sum *b)
{
    assert_memory_equal(a->words, b->words, sizeof a->words);
}

/* ---- The truth ----------------------------------------------------------- */

static struct truth truth_of(const struct operands *o)
{
    struct truth t = {0};

    for (size_t i = 0; i < o->n; i++)
        if (is_product(o->kind))
            truth_add_product(&t, o->x[i], o->y[i]);
        else
            truth_add(&t, o->x[i]);
    return t;
}

static void check(const struct sum *s, const struct truth *t,
                  const struct operands *o, const char *what)
{
    const double expected = truth_to_double(t), got = rounded(s);
    const float expected_float = truth_to_float(t);
    const float got_float = rounded_to_float(s);

    if (!truth_equal(got, expected))
        fail_msg("%zu %s, %s: %a, expected %a", o->n, kind_names[o->kind], what,
                 got, expected);
    if (!truth_equal((double)got_float, (double)expected_float))
        fail_msg("%zu %s, %s, to float: %a, expected %a", o->n,
                 kind_names[o->kind], what, (double)got_float,
                 (double)expected_float);
}

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

/* ---- Sums ---------------------------------------------------------------- */

static void check_all_levels(const struct operands *o, const char *what)
{
    const struct truth t = truth_of(o);
    struct sum first;

    for (int isa = 0; isa < RCX_ISA_COUNT; isa++) {
        struct sum s = sum_of(o->kind);

        if (isa > (int)rcx_exact_isa())
            continue;
        add_part(&s, o, 0, o->n, (enum rcx_isa)isa);
        check(&s, &t, o, what);
        if (isa == 0)
            first = s;
        assert_same(&s, &first);
    }
}

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

/* Numbers for which folds are too few: some in each block, which cancel, are far
 * from the others, which have all bits of the mantissa, one sign and one
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

    return cmocka_run_group_tests_name("exact", tests, NULL, NULL);
}
