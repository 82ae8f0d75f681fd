/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Exact sums of rows (exact_rows.h): the loop over elements, by vectors of
 * doubles. The build compiles this file once for each instruction set level,
 * without contraction, as kernels.c. Everything but the table is static.
 */
#include "core/op/exact_bulk.h"
#include "core/op/exact_rows.h"
#include "core/op/isa_level.h"
#include "core/op/vectors.h"

#include <string.h>

/* Whether any bit is set. */
INLINE bool is_any(bits_t bits)
{
#if defined(__AVX512F__)
    return _mm512_test_epi64_mask((__m512i)bits, (__m512i)bits) != 0;
#elif defined(__AVX2__)
    return !_mm256_testz_si256((__m256i)bits, (__m256i)bits);
#else
    return (bits[0] | bits[1]) != 0;
#endif
}

/* a where the mask is set, else b. */
INLINE doubles_t choose(ints_t mask, doubles_t a, doubles_t b)
{
    return (doubles_t)(((bits_t)mask & (bits_t)a) |
                       (~(bits_t)mask & (bits_t)b));
}

INLINE doubles_t magnitude(doubles_t x)
{
    return (doubles_t)((bits_t)x & INT64_MAX);
}

/* What an exact result is: high + low. */
struct pair {
    doubles_t high, low;
};

/* a + b, and its rounding error, which is NaN if the sum is not finite. */
INLINE struct pair two_sum(doubles_t a, doubles_t b)
{
    const doubles_t sum = a + b, part = sum - a;

    return (struct pair){sum, (a - (sum - part)) + (b - part)};
}

/* ---- Rows ---------------------------------------------------------------- */

INLINE doubles_t load(const struct rcx_exact_rows *r, unsigned k, size_t i,
                      size_t n)
{
    const size_t bytes = r->are_doubles ? sizeof(double) : sizeof(float);
    const char *const at = (const char *)r->row[k] + i * bytes;
    double some[LANES] = {0};
    const void *from = at;

    if (n < LANES) {
        memcpy(some, at, n * bytes);
        from = some;
    }
    if (r->are_doubles)
        return *(const user_doubles_t *)from;
    return __builtin_convertvector(*(const user_floats_t *)from, doubles_t);
}

INLINE void store(const struct rcx_exact_rows *r, void *dst, size_t i, size_t n,
                  doubles_t value)
{
    const size_t bytes = r->are_doubles ? sizeof(double) : sizeof(float);
    char *const at = (char *)dst + i * bytes;
    double some[LANES];
    void *const to = n < LANES ? (void *)some : at;

    if (r->are_doubles)
        *(user_doubles_t *)to = value;
    else
        *(user_floats_t *)to = __builtin_convertvector(value, floats_t);
    if (n < LANES)
        memcpy(at, some, n * bytes);
}

/*
 * The sum of all rows, high rounded to nearest. *wrong_p has bits where it is
 * not exact, or not finite. -0 stays if there is nothing else.
 */
INLINE struct pair sum_rows(const struct rcx_exact_rows *r, size_t i, size_t n,
                            bits_t *wrong_p)
{
    struct pair sum = two_sum(load(r, 0, i, n), load(r, 1, i, n)), all;
    ints_t wrong = {0};

    for (unsigned k = 2; k < r->n; k++) {
        const struct pair next = two_sum(sum.high, load(r, k, i, n));
        const struct pair errors = two_sum(sum.low, next.low);

        wrong |= errors.low != 0;
        sum = (struct pair){next.high, errors.high};
    }
    all = two_sum(sum.high, sum.low);
    *wrong_p = (bits_t)(wrong | (all.low != all.low));
    all.high = choose(sum.low == 0, sum.high, all.high);
    return all;
}

/* The sum of floats, whose low part is mostly 0; bits are set where it may not
 * be. */
INLINE doubles_t sum_floats(const struct rcx_exact_rows *r, size_t i, size_t n,
                            bits_t *wrong_p)
{
    doubles_t sum = load(r, 0, i, n);
    ints_t wrong = {0};

    for (unsigned k = 1; k < r->n; k++) {
        const struct pair next = two_sum(sum, load(r, k, i, n));

        wrong |= next.low != 0;
        sum = next.high;
    }
    *wrong_p = (bits_t)wrong;
    return sum;
}

/* ---- Rounding ------------------------------------------------------------ */

/*
 * Quotients are rounded to double, then to float, as if once. That would be
 * wrong if the first rounding gave a half between two floats. But n such halves
 * are a double, so that any other dividend differs from it by an ulp, and its
 * quotient by more than half an ulp.
 */

/* value plus a rest that is less than its last bit: bits below it are lost to
 * it ("round to odd"). So a conversion to float rounds as that of the sum. */
INLINE doubles_t join_rest(doubles_t value, doubles_t rest)
{
    const bits_t is_less = ((bits_t)value ^ (bits_t)rest) >> 63;

    return choose(rest != 0, (doubles_t)(((bits_t)value - is_less) | 1), value);
}

#if defined(__AVX512F__)
/* c - a * b, rounded once. */
INLINE doubles_t remainder_of(doubles_t a, doubles_t b, doubles_t c)
{
    return (doubles_t)_mm512_fnmadd_pd((__m512d)a, (__m512d)b, (__m512d)c);
}
#elif defined(__FMA__)
INLINE doubles_t remainder_of(doubles_t a, doubles_t b, doubles_t c)
{
    return (doubles_t)_mm256_fnmadd_pd((__m256d)a, (__m256d)b, (__m256d)c);
}
#else
/* NaN: not known. */
INLINE doubles_t remainder_of(doubles_t a, doubles_t b, doubles_t c)
{
    return (doubles_t){} / (doubles_t){} + a + b + c;
}
#endif

/* No quotient, no remainder and no half of a last bit is denormal. */
#define LEAST 0x1p-900

/* The double nearest to sum / n, ties to even. wrong: where that is not
 * clear. */
INLINE doubles_t divide(struct pair sum, double n, bits_t *wrong)
{
    const doubles_t by = (doubles_t){} + n, first = sum.high / by;
    const ints_t is_zero = sum.high == 0;
    const doubles_t rest = remainder_of(first, by, sum.high) + sum.low;
    const doubles_t quotient = first + rest / by;
    const struct pair left =
        two_sum(remainder_of(quotient, by, sum.high), sum.low);
    /* n halves of the last bit of the quotient */
    const doubles_t half =
        (doubles_t)((bits_t)quotient & (uint64_t)0x7ff << 52) * (n * 0x1p-53);
    const ints_t is_power = ((bits_t)quotient << 12) == 0;
    const ints_t is_near = magnitude(left.high) < half * (1 - 0x1p-50);
    const ints_t is_tie = (magnitude(left.high) == half) & (left.low == 0) &
                          (((bits_t)quotient & 1) == 0);
    const ints_t is_nearest =
        (left.high == 0) | ((is_near | is_tie) & ~is_power);

    *wrong |=
        (bits_t) ~(is_zero | (is_nearest & (magnitude(sum.high) > LEAST)));
    return choose(is_zero, sum.high, quotient);
}

/* The same if n is a power of two. */
INLINE doubles_t scale(struct pair sum, double n, bits_t *wrong)
{
    *wrong |= (bits_t)((sum.high != 0) & (magnitude(sum.high) < LEAST));
    return sum.high * (1 / n);
}

INLINE doubles_t round_pair(const struct rcx_exact_rows *r, struct pair sum,
                            bits_t *wrong)
{
    if (!r->are_doubles) {
        const doubles_t odd = join_rest(sum.high, sum.low);

        return r->divides ? odd / r->n : odd;
    }
    if (!r->divides)
        return sum.high;
    return r->n & (r->n - 1) ? divide(sum, r->n, wrong)
                             : scale(sum, r->n, wrong);
}

/* ---- Functions ----------------------------------------------------------- */

/* n elements from i on, up to LANES. */
__attribute__((noinline)) static void
round_carefully(const struct rcx_exact_rows *r, void *dst, size_t i, size_t n)
{
    bits_t wrong;
    const struct pair sum = sum_rows(r, i, n, &wrong);
    const doubles_t value = round_pair(r, sum, &wrong);

    if (is_any(wrong))
        rcx_exact_rows_slowly(r, dst, i, n);
    else
        store(r, dst, i, n, value);
}

INLINE void round_floats(const struct rcx_exact_rows *r, void *dst, size_t i,
                         size_t n)
{
    bits_t wrong;
    const doubles_t sum = sum_floats(r, i, n, &wrong);

    if (__builtin_expect(is_any(wrong), 0))
        round_carefully(r, dst, i, n);
    else
        store(r, dst, i, n, r->divides ? sum / r->n : sum);
}

INLINE void round_doubles(const struct rcx_exact_rows *r, void *dst, size_t i,
                          size_t n)
{
    bits_t wrong;
    const struct pair sum = sum_rows(r, i, n, &wrong);
    const doubles_t value = round_pair(r, sum, &wrong);

    if (__builtin_expect(is_any(wrong), 0))
        rcx_exact_rows_slowly(r, dst, i, n);
    else
        store(r, dst, i, n, value);
}

INLINE void round_some(const struct rcx_exact_rows *r, void *dst, size_t i,
                       size_t n)
{
    if (r->are_doubles)
        round_doubles(r, dst, i, n);
    else
        round_floats(r, dst, i, n);
}

INLINE void round_rows(const void *const row[], unsigned n, void *dst,
                       size_t count, bool are_doubles, bool divides)
{
    const struct rcx_exact_rows r = {
        .row = row, .n = n, .are_doubles = are_doubles, .divides = divides};
    unsigned saved;
    size_t i = 0;

    if (!rcx_exact_env_enter(&saved)) {
        rcx_exact_rows_slowly(&r, dst, 0, count);
        return;
    }
    for (; i + LANES <= count; i += LANES)
        round_some(&r, dst, i, LANES);
    if (i < count)
        round_some(&r, dst, i, count - i);
    rcx_exact_env_leave(saved);
}

#define ROWS(name, are_doubles, divides)                                       \
    static void name(void *dst, const void *const row[], unsigned n,           \
                     size_t count)                                             \
    {                                                                          \
        round_rows(row, n, dst, count, are_doubles, divides);                  \
    }

ROWS(sum_floats_of_rows, false, false)
ROWS(average_floats_of_rows, false, true)
ROWS(sum_doubles_of_rows, true, false)
ROWS(average_doubles_of_rows, true, true)

const rcx_exact_rows_table_t CAT(rcx_exact_rows_, RCX_KERNELS_ISA) = {
    {sum_floats_of_rows, average_floats_of_rows},
    {sum_doubles_of_rows, average_doubles_of_rows}};
