/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The numbers of RCX_SUM_EXACT: ranges, forms, digits and rounding, at every
 * instruction set level. What ranks do is done here in a loop: maxima of
 * ranges, integer sums of words.
 */
#include "test.h"

#include <math.h>
#include <string.h>

#include "core/op/exact_vector.h"
#include "exact_truth.h"
#include "serial.h"

enum { RANKS_MOST = 17, WORDS_MOST = 60 * RCX_EXACT_BLOCK };

/* A block of n elements on p ranks. */
struct block {
    bool is_double;
    int p;
    size_t n;
    double x[RANKS_MOST][RCX_EXACT_BLOCK];
    float single[RANKS_MOST][RCX_EXACT_BLOCK];
};

static struct block block;
static int64_t words[RANKS_MOST][WORDS_MOST], totals[WORDS_MOST];

static const void *operand(const struct block *b, int rank)
{
    return b->is_double ? (const void *)b->x[rank]
                        : (const void *)b->single[rank];
}

static void convert(struct block *b)
{
    for (int r = 0; r < b->p; r++)
        for (size_t i = 0; i < b->n; i++) {
            b->single[r][i] = (float)b->x[r][i];
            if (!b->is_double)
                b->x[r][i] = (double)b->single[r][i];
        }
}

static int16_t larger(int16_t a, int16_t b)
{
    return a > b ? a : b;
}

static struct rcx_exact_range range_of(const struct rcx_exact_vector *v,
                                       const struct block *b)
{
    struct rcx_exact_range all, own;

    rcx_exact_range(v, operand(b, 0), b->n, &all);
    for (int r = 1; r < b->p; r++) {
        rcx_exact_range(v, operand(b, r), b->n, &own);
        all.top = larger(all.top, own.top);
        all.low = larger(all.low, own.low);
        all.is_special = larger(all.is_special, own.is_special);
        all.has_minus_zero = larger(all.has_minus_zero, own.has_minus_zero);
    }
    return all;
}

/* The exact sum of element i over the first ranks, divided. */
static double truth_of(const struct block *b, int ranks, size_t i, int by)
{
    struct truth t;

    memset(&t, 0, sizeof t);
    t.by = by;
    for (int r = 0; r < ranks; r++)
        truth_add(&t, b->x[r][i]);
    return b->is_double ? truth_to_double(&t) : (double)truth_to_float(&t);
}

static void compare(const struct rcx_exact_vector *v,
                    const struct rcx_exact_form *form, const struct block *b,
                    int ranks)
{
    double got[RCX_EXACT_BLOCK];
    const float *const singles = (const void *)got;

    rcx_exact_decode(v, form, totals, b->n, got);
    for (size_t i = 0; i < b->n; i++) {
        const double expected = truth_of(b, ranks, i, (int)v->by);
        const double value = b->is_double ? got[i] : (double)singles[i];

        if (!truth_equal(value, expected))
            fail_msg("isa %d, %d of %d ranks, element %zu, digits %d, counter "
                     "%d: %a, not %a",
                     (int)v->isa, ranks, b->p, i, form->digits, form->counter,
                     value, expected);
    }
}

/* Sums of all ranks, and of the first ones, as those of a scan; and averages of
 * short blocks. */
static void check_at(const struct block *b, enum rcx_isa isa, int job)
{
    struct rcx_exact_vector v =
        rcx_exact_vector(b->is_double ? RCX_FLOAT64 : RCX_FLOAT32, job, isa);
    const struct rcx_exact_range range = range_of(&v, b);
    const struct rcx_exact_form form = rcx_exact_form(&v, &range);
    const size_t n = b->n * rcx_exact_form_words(&form);

    assert_true(n <= WORDS_MOST);
    memset(totals, 0, sizeof totals);
    for (int r = 0; r < b->p; r++) {
        rcx_exact_encode(&v, &form, operand(b, r), b->n, words[r]);
        for (size_t i = 0; i < n; i++)
            assert_false(
                __builtin_add_overflow(totals[i], words[r][i], &totals[i]));
        if (r == b->p - 1 || r == b->p / 2)
            compare(&v, &form, b, r + 1);
    }
    v.by = (unsigned)job;
    if (isa == RCX_ISA_BASELINE && b->n <= 64)
        compare(&v, &form, b, b->p);
}

/* job: the number of ranks that forms have room for. */
static void check(struct block *b, int job)
{
    convert(b);
    for (int isa = 0; isa < RCX_ISA_COUNT; isa++)
        if (rcx_isa_available((enum rcx_isa)isa))
            check_at(b, (enum rcx_isa)isa, job);
}

/* Each rank has numbers of the set, or each element has them on all ranks. */
static void fill(struct block *b, int set, bool by_element, uint64_t seed)
{
    double column[RANKS_MOST];

    for (int r = 0; r < b->p && !by_element; r++)
        truth_numbers(set, !b->is_double, seed + (uint64_t)r, b->x[r], b->n);
    for (size_t i = 0; i < b->n && by_element; i++) {
        truth_numbers(set, !b->is_double, seed + i, column, (size_t)b->p);
        for (int r = 0; r < b->p; r++)
            b->x[r][i] = column[r];
    }
}

static const int jobs[] = {0, 1000, (1 << 22) - 1};

static void every_set_of_numbers_is_summed_and_rounded_once(void **state)
{
    (void)state;
    for (int k = 0; k < 2 * 2 * TRUTH_SETS; k++)
        for (int p = 1; p <= RANKS_MOST; p += 1 + p / 5) {
            const int job = jobs[(k + p) % 3];

            block.is_double = k % 2;
            block.p = p;
            block.n = p % 3 ? 37 : RCX_EXACT_BLOCK;
            fill(&block, k / 4, k / 2 % 2, (uint64_t)(k * 100 + p));
            check(&block, job ? job : p);
        }
}

/* Sums whose leading bit is anywhere in their digits. */
static void sums_of_every_length_round(void **state)
{
    (void)state;
    for (int k = 0; k < 2 * 120; k++) {
        block.is_double = k % 2;
        block.p = 2 + k % 4;
        block.n = 64;
        for (int r = 0; r < block.p; r++)
            for (size_t i = 0; i < block.n; i++)
                block.x[r][i] = ldexp(
                    (double)(int64_t)serial_mix((uint64_t)k, i, (uint64_t)r),
                    (int)(i % (1 + (size_t)k / 2)) -
                        (block.is_double ? 200 : 125));
        check(&block, block.p);
    }
}

/* Half an ulp, and two bits more or less, anywhere below. */
static void near_ties_round_by_the_lowest_bit(void **state)
{
    (void)state;
    for (int k = 0; k < 2 * 2 * 2 * 100; k++) {
        const int bits = k % 2 ? 52 : 23;
        const double tiny = ldexp(k & 2 ? 1 : -1, -bits - 2 - k / 8);

        block.is_double = k % 2;
        block.p = 4;
        block.n = 1;
        block.x[3][0] = tiny / 8;
        block.x[0][0] = k & 4 ? 1 + ldexp(1, -bits) : 1;
        block.x[1][0] = ldexp(1, -bits - 1);
        block.x[2][0] = tiny;
        check(&block, block.p);
        for (int r = 0; r < 4; r++)
            block.x[r][0] = -block.x[r][0];
        check(&block, block.p);
    }
}

static double special(uint64_t random)
{
    switch (random % 8) {
    case 0: return NAN;
    case 1: return INFINITY;
    case 2: return -INFINITY;
    case 3:
    case 4: return -0.0;
    case 5: return 0.0;
    default: return (double)(random % 1000) - 500;
    }
}

static void special_numbers_are_as_in_plain_sums(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < 200; seed++) {
        block.is_double = seed % 2;
        block.p = 1 + (int)(seed % 5);
        block.n = 100;
        fill(&block, (int)(seed % TRUTH_SETS), false, seed);
        for (int r = 0; r < block.p; r++)
            for (size_t i = 0; i < block.n; i++) {
                const uint64_t random = serial_mix(seed, i, (uint64_t)r);

                if (random % 3 || i < 10)
                    block.x[r][i] = special(random >> 8);
            }
        check(&block, seed % 3 ? block.p : 1 << 20);
    }
}

static void minus_zeros_alone_are_minus_zero(void **state)
{
    (void)state;
    for (int k = 0; k < 64; k++) {
        block.is_double = k % 2;
        block.p = 1 + k % 4;
        block.n = 8;
        for (int r = 0; r < block.p; r++)
            for (size_t i = 0; i < block.n; i++)
                block.x[r][i] = i == 7 && k & 16 ? ldexp(1, k & 32 ? -80 : 100)
                                : k >> (i % 4 + 1) & 1 && r == 0 ? 0.0
                                                                 : -0.0;
        check(&block, block.p);
    }
}

static void usual_numbers_have_few_words(void **state)
{
    (void)state;
    for (int is_double = 0; is_double < 2; is_double++) {
        const struct rcx_exact_vector v = rcx_exact_vector(
            is_double ? RCX_FLOAT64 : RCX_FLOAT32, 4, RCX_ISA_BASELINE);
        struct rcx_exact_range range;

        block.is_double = is_double;
        block.p = 4;
        block.n = RCX_EXACT_BLOCK;
        for (int r = 0; r < 4; r++)
            for (size_t i = 0; i < block.n; i++)
                block.x[r][i] =
                    ldexp((double)(serial_mix(9, i, (uint64_t)r) >> 11), -53);
        convert(&block);
        range = range_of(&v, &block);
        assert_int_equal(1 + is_double, rcx_exact_form(&v, &range).digits);
        /* doubles that are floats */
        for (int r = 0; r < 4; r++)
            for (size_t i = 0; i < block.n; i++)
                block.x[r][i] = (double)block.single[r][i];
        range = range_of(&v, &block);
        assert_int_equal(1, rcx_exact_form(&v, &range).digits);
        memset(block.x, 0, sizeof block.x);
        memset(block.single, 0, sizeof block.single);
        range = range_of(&v, &block);
        assert_int_equal(0, rcx_exact_form(&v, &range).digits);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_set_of_numbers_is_summed_and_rounded_once),
        cmocka_unit_test(sums_of_every_length_round),
        cmocka_unit_test(near_ties_round_by_the_lowest_bit),
        cmocka_unit_test(special_numbers_are_as_in_plain_sums),
        cmocka_unit_test(minus_zeros_alone_are_minus_zero),
        cmocka_unit_test(usual_numbers_have_few_words),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
