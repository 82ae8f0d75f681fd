/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The kernels of one instruction set level. The build compiles this file once
 * per level, each time with -DRCX_KERNELS_ISA=baseline|avx2|avx512 and the
 * machine flags of that level, and always with -ffp-contract=off (same bits on
 * all levels) and -fno-strict-aliasing (the caller's memory may have been
 * written as another C type of the same format). Everything is a plain loop
 * that the compiler vectorises. Everything but the tables is static, so that
 * no code of a higher level can be linked into a lower one.
 *
 *   float MAX, MIN   IEEE 754-2019 maximum and minimum
 *   complex PROD     the plain formula, (ac - bd) + (ad + bc)i, each operation
 *                    rounded; no special rule for infinities
 *   MAXLOC, MINLOC   a total order: value (NaN wins, -0 equals +0), then the
 *                    smaller index, then, for two zeros, +0 for MAXLOC and
 *                    -0 for MINLOC. So both are associative and commutative
 *   SUM_EXACT        of two numbers: SUM in the default floating-point
 *                    environment; AVG_EXACT: the average of two
 *   SUM_FLOAT        of two numbers: SUM; AVG_FLOAT: their average
 *   AVG              SUM; afterwards one division by the number of ranks in the
 *                    element's precision (float for the 16-bit formats)
 */
#include "core/op/kernels.h"

#include "core/op/exact.h"
#include "core/op/exact_bulk.h"
#include "core/op/exact_rows.h"
#include "core/op/isa_level.h"
#include "core/op/kernels_half.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#ifdef __F16C__
#include <immintrin.h>
#endif

#define LEVEL_baseline 0
#define LEVEL_avx2 1
#define LEVEL_avx512 2
#define LEVEL CAT(LEVEL_, RCX_KERNELS_ISA) /* as in enum rcx_isa */

/* dst is the same as an operand or apart from it, so loops are INDEPENDENT. */

/* Macros and tables from here on are laid out by hand. */
/* clang-format off */
/* A kernel that stores result, an expression in the elements a and b. */
#define KERNEL(name, ctype, result)                                            \
    static void name(void *dst, const void *left, const void *right,           \
                     size_t count)                                             \
    {                                                                          \
        ctype *d = dst;                                                        \
        const ctype *l = left;                                                 \
        const ctype *r = right;                                                \
                                                                               \
        INDEPENDENT                                                            \
        for (size_t i = 0; i < count; i++) {                                   \
            const ctype a = l[i];                                              \
            const ctype b = r[i];                                              \
                                                                               \
            d[i] = (result);                                                   \
        }                                                                      \
    }

/* ---- Integers ------------------------------------------------------------ */

#define ORDER_KERNELS(type)                                                    \
    KERNEL(max_##type, type##_t, a > b ? a : b)                                \
    KERNEL(min_##type, type##_t, a < b ? a : b)

/* On unsigned words, whose arithmetic wraps: the bits are the signed ones. */
#define WORD_KERNELS(type)                                                     \
    KERNEL(sum_##type, type##_t, (type##_t)(a + b))                            \
    KERNEL(prod_##type, type##_t, (type##_t)(1u * a * b))                      \
    KERNEL(land_##type, type##_t, (a != 0) & (b != 0))                         \
    KERNEL(lor_##type, type##_t, (a | b) != 0)                                 \
    KERNEL(lxor_##type, type##_t, (a != 0) ^ (b != 0))                         \
    KERNEL(band_##type, type##_t, (type##_t)(a & b))                           \
    KERNEL(bor_##type, type##_t, (type##_t)(a | b))                            \
    KERNEL(bxor_##type, type##_t, (type##_t)(a ^ b))

ORDER_KERNELS(int8)
ORDER_KERNELS(int16)
ORDER_KERNELS(int32)
ORDER_KERNELS(int64)
ORDER_KERNELS(uint8)
ORDER_KERNELS(uint16)
ORDER_KERNELS(uint32)
ORDER_KERNELS(uint64)
WORD_KERNELS(uint8)
WORD_KERNELS(uint16)
WORD_KERNELS(uint32)
WORD_KERNELS(uint64)

/* ---- Floating types ------------------------------------------------------ */

/*
 * "a > b ? a : b" is b for two equal values and for a NaN. Asked both ways it
 * gives both zeros, or the NaN and the other operand. So AND the two results:
 * equal values stay, and the AND of two different zeros is +0, the greater
 * one; OR them and it is -0, the smaller one. All bits set is a NaN.
 */
#define FLOAT_KERNELS(type, ctype, word_t)                                     \
    static inline word_t type##_word(ctype value)                              \
    {                                                                          \
        word_t word;                                                           \
                                                                               \
        memcpy(&word, &value, sizeof(word));                                   \
        return word;                                                           \
    }                                                                          \
    static inline ctype type##_value(word_t word, bool nan)                    \
    {                                                                          \
        ctype value;                                                           \
                                                                               \
        word |= nan ? (word_t)-1 : 0;                                          \
        memcpy(&value, &word, sizeof(value));                                  \
        return value;                                                          \
    }                                                                          \
    KERNEL(max_##type, ctype,                                                  \
           type##_value(type##_word(a > b ? a : b) &                           \
                            type##_word(b > a ? b : a),                        \
                        __builtin_isunordered(a, b)))                          \
    KERNEL(min_##type, ctype,                                                  \
           type##_value(type##_word(a < b ? a : b) |                           \
                            type##_word(b < a ? b : a),                        \
                        __builtin_isunordered(a, b)))                          \
    KERNEL(sum_##type, ctype, a + b)                                           \
    KERNEL(prod_##type, ctype, a * b)

FLOAT_KERNELS(float32, float, uint32_t)
FLOAT_KERNELS(float64, double, uint64_t)

KERNEL(max_float16, uint16_t, max_half(a, b, 0x7c00))
KERNEL(min_float16, uint16_t, min_half(a, b, 0x7c00))
KERNEL(max_bfloat16, uint16_t, max_half(a, b, 0x7f80))
KERNEL(min_bfloat16, uint16_t, min_half(a, b, 0x7f80))

#define HALF_KERNEL(op, type, operator)                                        \
    KERNEL(op##_##type, uint16_t,                                              \
           to_##type(from_##type(a) operator from_##type(b)))

#define HALF_AVERAGE(type)                                                     \
    KERNEL(avg_float_##type, uint16_t,                                         \
           to_##type((from_##type(a) + from_##type(b)) * 0.5f))

HALF_KERNEL(sum, bfloat16, +)
HALF_KERNEL(prod, bfloat16, *)
HALF_AVERAGE(bfloat16)

#if LEVEL == LEVEL_baseline

HALF_KERNEL(sum, float16, +)
HALF_KERNEL(prod, float16, *)
HALF_AVERAGE(float16)

#elif LEVEL == LEVEL_avx2

/*
 * By F16C, which compilers do not find by themselves: about ten times as fast.
 * The AVX-512 level has no version of its own and uses this one.
 */
#define F16C_KERNEL(op, vector_op, result)                                     \
    static void op##_float16(void *dst, const void *left, const void *right,   \
                             size_t count)                                     \
    {                                                                          \
        uint16_t *d = dst;                                                     \
        const uint16_t *l = left;                                              \
        const uint16_t *r = right;                                             \
        size_t i = 0;                                                          \
                                                                               \
        for (; i + 8 <= count; i += 8)                                         \
            store8(d + i, vector_op(load8(l + i), load8(r + i)));              \
        for (; i < count; i++) {                                               \
            const float a = from_float16(l[i]), b = from_float16(r[i]);        \
                                                                               \
            d[i] = to_float16(result);                                         \
        }                                                                      \
    }

static inline __m256 load8(const uint16_t *halves)
{
    return _mm256_cvtph_ps(_mm_loadu_si128((const void *)halves));
}

static inline __m128i to_halves(__m256 values)
{
    return _mm256_cvtps_ph(values, _MM_FROUND_TO_NEAREST_INT);
}

static inline void store8(uint16_t *halves, __m256 values)
{
    _mm_storeu_si128((void *)halves, to_halves(values));
}

static inline __m256 average8(__m256 a, __m256 b)
{
    return _mm256_mul_ps(_mm256_add_ps(a, b), _mm256_set1_ps(0.5f));
}

F16C_KERNEL(sum, _mm256_add_ps, a + b)
F16C_KERNEL(prod, _mm256_mul_ps, a * b)
F16C_KERNEL(avg_float, average8, (a + b) * 0.5f)

#endif

/* ---- Complex types ------------------------------------------------------- */

#define COMPLEX(ctype)                                                         \
    struct {                                                                   \
        ctype re, im;                                                          \
    }
typedef COMPLEX(float) complex_float;
typedef COMPLEX(double) complex_double;

#define COMPLEX_SUM(type, part)                                                \
    static void sum_##type(void *dst, const void *left, const void *right,     \
                           size_t count)                                       \
    {                                                                          \
        sum_##part(dst, left, right, 2 * count);                               \
    }

#define COMPLEX_PROD(type)                                                     \
    KERNEL(prod_##type, type,                                                  \
           ((type){a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re}))

COMPLEX_SUM(complex_float, float32)
COMPLEX_SUM(complex_double, float64)

/*
 * Not for AVX-512: GCC 12 turns the formula into fused multiply-adds there,
 * -ffp-contract=off or not.
 */
#if LEVEL < LEVEL_avx512
COMPLEX_PROD(complex_float)
COMPLEX_PROD(complex_double)
#endif

/* ---- Pairs --------------------------------------------------------------- */

#define PAIR(ctype)                                                            \
    struct {                                                                   \
        ctype value;                                                           \
        int index;                                                             \
    }
typedef PAIR(float) float_int;
typedef PAIR(double) double_int;
typedef PAIR(long) long_int;
typedef PAIR(int) int_int;
typedef PAIR(short) short_int;

#define INTEGER_PAIR_KERNELS(type)                                             \
    KERNEL(maxloc_##type, type,                                                \
           (a.value > b.value) |                                               \
                   ((a.value == b.value) & (a.index < b.index))                \
               ? a                                                             \
               : b)                                                            \
    KERNEL(minloc_##type, type,                                                \
           (a.value < b.value) |                                               \
                   ((a.value == b.value) & (a.index < b.index))                \
               ? a                                                             \
               : b)

INTEGER_PAIR_KERNELS(long_int)
INTEGER_PAIR_KERNELS(int_int)
INTEGER_PAIR_KERNELS(short_int)

#define IS_NAN(value) __builtin_isunordered(value, value)
#define IS_NEGATIVE(value) (__builtin_signbit(value) != 0)

/* Whether a goes first: it is better, or as good and further in front. */
#define FLOAT_PAIR_FIRST(a, b, better, negative)                               \
    (((a).value better (b).value) |                                            \
     (IS_NAN((a).value) & !IS_NAN((b).value)) |                                \
     (((a).value == (b).value || (IS_NAN((a).value) & IS_NAN((b).value))) &    \
      (((a).index < (b).index) |                                               \
       (((a).index == (b).index) &                                             \
        (IS_NEGATIVE((a).value) == (negative))))))

#define FLOAT_PAIR_KERNELS(type)                                               \
    KERNEL(maxloc_##type, type, FLOAT_PAIR_FIRST(a, b, >, false) ? a : b)      \
    KERNEL(minloc_##type, type, FLOAT_PAIR_FIRST(a, b, <, true) ? a : b)

FLOAT_PAIR_KERNELS(float_int)
FLOAT_PAIR_KERNELS(double_int)

/* ---- Baseline only: nothing that wider registers would speed up ---------- */

#if LEVEL == LEVEL_baseline

typedef long double long_double;
typedef COMPLEX(long double) complex_long_double;
typedef PAIR(long double) long_double_int;

static inline long double max_of(long double a, long double b)
{
    if (IS_NAN(a) || IS_NAN(b))
        return a + b;
    if (a == b)
        return __builtin_signbit(a) ? b : a;
    return a > b ? a : b;
}

static inline long double min_of(long double a, long double b)
{
    if (IS_NAN(a) || IS_NAN(b))
        return a + b;
    if (a == b)
        return __builtin_signbit(a) ? a : b;
    return a < b ? a : b;
}

KERNEL(max_long_double, long_double, max_of(a, b))
KERNEL(min_long_double, long_double, min_of(a, b))
KERNEL(sum_long_double, long_double, a + b)
KERNEL(prod_long_double, long_double, a * b)
COMPLEX_SUM(complex_long_double, long_double)
COMPLEX_PROD(complex_long_double)
FLOAT_PAIR_KERNELS(long_double_int)

/* Accumulators, see core/op/exact.h. */
#define sum_exact_float32 rcx_exact_sum_float32
#define sum_exact_float64 rcx_exact_sum_float64

/* An element whose bits are only copied. */
#define COPY_KERNELS(name, bytes)                                              \
    static void replace_##name(void *dst, const void *left, const void *right, \
                               size_t count)                                   \
    {                                                                          \
        (void)left;                                                            \
        if (dst != right && count > 0)                                         \
            memcpy(dst, right, count * (bytes));                               \
    }                                                                          \
    static void no_op_##name(void *dst, const void *left, const void *right,   \
                             size_t count)                                     \
    {                                                                          \
        (void)right;                                                           \
        if (dst != left && count > 0)                                          \
            memcpy(dst, left, count * (bytes));                                \
    }

COPY_KERNELS(uint8, 1)
COPY_KERNELS(uint16, 2)
COPY_KERNELS(uint32, 4)
COPY_KERNELS(uint64, 8)
COPY_KERNELS(complex_double, 16)
COPY_KERNELS(long_double, sizeof(long_double))
COPY_KERNELS(complex_long_double, sizeof(complex_long_double))
COPY_KERNELS(float_int, sizeof(float_int))
COPY_KERNELS(double_int, sizeof(double_int))
COPY_KERNELS(long_int, sizeof(long_int))
COPY_KERNELS(int_int, sizeof(int_int))
COPY_KERNELS(short_int, sizeof(short_int))
COPY_KERNELS(long_double_int, sizeof(long_double_int))
COPY_KERNELS(exact_float32, sizeof(rcx_exact32_t))
COPY_KERNELS(exact_float64, sizeof(rcx_exact64_t))

#endif

/* ---- Averages ------------------------------------------------------------ */

/* A number of ranks that is a power of two has an exact reciprocal, by which a
 * product has the bits of the quotient, in less time. A sum is rounded to the
 * type first. */
#define AVERAGE_LOOP(value)                                                    \
    do {                                                                       \
        INDEPENDENT                                                            \
        for (size_t i = 0; i < count; i++)                                     \
            d[i] = (value);                                                    \
    } while (0)

#define AVERAGE(name, ctype, from, to, part_t)                                 \
    static void average_##name(void *dst, const void *left, const void *right, \
                               size_t count, int ranks)                        \
    {                                                                          \
        const part_t all = (part_t)ranks, part = 1 / all;                      \
        const bool is_exact = (ranks & (ranks - 1)) == 0;                      \
        const ctype *l = left, *r = right;                                     \
        ctype *d = dst;                                                        \
                                                                               \
        if (r && is_exact)                                                     \
            AVERAGE_LOOP(to(from(to(from(l[i]) + from(r[i]))) * part));        \
        else if (r)                                                            \
            AVERAGE_LOOP(to(from(to(from(l[i]) + from(r[i]))) / all));         \
        else if (is_exact)                                                     \
            AVERAGE_LOOP(to(from(l[i]) * part));                               \
        else                                                                   \
            AVERAGE_LOOP(to(from(l[i]) / all));                                \
    }

#define COMPLEX_AVERAGE(type, part)                                            \
    static void average_##type(void *dst, const void *left, const void *right, \
                               size_t count, int ranks)                        \
    {                                                                          \
        average_##part(dst, left, right, 2 * count, ranks);                    \
    }

AVERAGE(float32, float, , , float)
AVERAGE(float64, double, , , double)
AVERAGE(bfloat16, uint16_t, from_bfloat16, to_bfloat16, float)
COMPLEX_AVERAGE(complex_float, float32)
COMPLEX_AVERAGE(complex_double, float64)

#if LEVEL == LEVEL_avx2
static void average_float16(void *dst, const void *left, const void *right,
                            size_t count, int ranks)
{
    const __m256 all = _mm256_set1_ps((float)ranks);
    const __m256 part = _mm256_set1_ps(1 / (float)ranks);
    const bool is_exact = (ranks & (ranks - 1)) == 0;
    const uint16_t *l = left, *r = right;
    uint16_t *d = dst;
    size_t i = 0;

    for (; i + 8 <= count; i += 8) {
        __m256 sum = load8(l + i);

        if (r)
            sum = _mm256_cvtph_ps(to_halves(_mm256_add_ps(sum, load8(r + i))));
        store8(d + i, is_exact ? _mm256_mul_ps(sum, part)
                               : _mm256_div_ps(sum, all));
    }
    for (; i < count; i++) {
        float sum = from_float16(l[i]);

        if (r)
            sum = from_float16(to_float16(sum + from_float16(r[i])));
        d[i] = to_float16(sum / (float)ranks);
    }
}
#endif

#if LEVEL == LEVEL_baseline
AVERAGE(float16, uint16_t, from_float16, to_float16, float)
AVERAGE(long_double, long_double, , , long_double)
COMPLEX_AVERAGE(complex_long_double, long_double)
#endif

/* ---- Exact sums and averages of two numbers ------------------------------ */

static void combine_exactly(void *dst, const void *left, const void *right,
                            size_t count, rcx_op_t op, rcx_datatype_t type)
{
    const void *const row[] = {left, right};

    rcx_exact_rows_find((enum rcx_isa)LEVEL, op, type)(dst, row, 2, count);
}

/* A sum of two numbers is rounded once. */
#define EXACT(type, datatype)                                                  \
    static void exact_sum_##type(void *dst, const void *left,                  \
                                 const void *right, size_t count)              \
    {                                                                          \
        unsigned saved;                                                        \
        const bool is_default = rcx_exact_env_enter(&saved);                   \
                                                                               \
        if (is_default)                                                        \
            sum_##type(dst, left, right, count);                               \
        rcx_exact_env_leave(saved);                                            \
        if (!is_default)                                                       \
            combine_exactly(dst, left, right, count, RCX_SUM_EXACT, datatype); \
    }                                                                          \
                                                                               \
    static void exact_avg_##type(void *dst, const void *left,                  \
                                 const void *right, size_t count)              \
    {                                                                          \
        combine_exactly(dst, left, right, count, RCX_AVG_EXACT, datatype);     \
    }

EXACT(float32, RCX_FLOAT32)
EXACT(float64, RCX_FLOAT64)

/* ---- The table ----------------------------------------------------------- */

#if LEVEL == LEVEL_baseline
#define BASELINE_ONLY(...) __VA_ARGS__
#else
#define BASELINE_ONLY(...)
#endif

#if LEVEL < LEVEL_avx512
#define NOT_AVX512(...) __VA_ARGS__
#else
#define NOT_AVX512(...)
#endif

const rcx_finish_table_t CAT(rcx_averages_, RCX_KERNELS_ISA) = {
    [RCX_FLOAT32] = average_float32,
    [RCX_FLOAT64] = average_float64,
    [RCX_BFLOAT16] = average_bfloat16,
    [RCX_COMPLEX_FLOAT] = average_complex_float,
    [RCX_COMPLEX_DOUBLE] = average_complex_double,
    NOT_AVX512([RCX_FLOAT16] = average_float16,)
    BASELINE_ONLY([RCX_LONG_DOUBLE] = average_long_double,
                  [RCX_COMPLEX_LONG_DOUBLE] = average_complex_long_double,)
};

/*
 * Parts of a row of the table: the kernels of op for each type of a family,
 * with a comma behind each.
 */
#define INTEGERS(op)                                                           \
    [RCX_INT8] = op##_int8, [RCX_UINT8] = op##_uint8,                          \
    [RCX_INT16] = op##_int16, [RCX_UINT16] = op##_uint16,                      \
    [RCX_INT32] = op##_int32, [RCX_UINT32] = op##_uint32,                      \
    [RCX_INT64] = op##_int64, [RCX_UINT64] = op##_uint64,

#define WORDS(op)                                                              \
    [RCX_INT8] = op##_uint8, [RCX_UINT8] = op##_uint8,                         \
    [RCX_INT16] = op##_uint16, [RCX_UINT16] = op##_uint16,                     \
    [RCX_INT32] = op##_uint32, [RCX_UINT32] = op##_uint32,                     \
    [RCX_INT64] = op##_uint64, [RCX_UINT64] = op##_uint64,

#define REALS(op)                                                              \
    [RCX_BFLOAT16] = op##_bfloat16,                                            \
    [RCX_FLOAT32] = op##_float32, [RCX_FLOAT64] = op##_float64,                \
    BASELINE_ONLY([RCX_LONG_DOUBLE] = op##_long_double,)

#define FLOAT16(op) [RCX_FLOAT16] = op##_float16,

#define COMPLEXES(op)                                                          \
    [RCX_COMPLEX_FLOAT] = op##_complex_float,                                  \
    [RCX_COMPLEX_DOUBLE] = op##_complex_double,                                \
    BASELINE_ONLY([RCX_COMPLEX_LONG_DOUBLE] = op##_complex_long_double,)

#define PAIRS(op)                                                              \
    [RCX_FLOAT_INT] = op##_float_int, [RCX_DOUBLE_INT] = op##_double_int,      \
    [RCX_LONG_INT] = op##_long_int, [RCX_2INT] = op##_int_int,                 \
    [RCX_SHORT_INT] = op##_short_int,                                          \
    BASELINE_ONLY([RCX_LONG_DOUBLE_INT] = op##_long_double_int,)

#define EXACTS(op)                                                             \
    [RCX_EXACT_FLOAT32] = op##_exact_float32,                                  \
    [RCX_EXACT_FLOAT64] = op##_exact_float64,

#define COPIES(op)                                                             \
    WORDS(op) [RCX_BOOL] = op##_uint8, [RCX_BYTE] = op##_uint8,                \
    [RCX_FLOAT16] = op##_uint16, [RCX_BFLOAT16] = op##_uint16,                 \
    [RCX_FLOAT32] = op##_uint32, [RCX_FLOAT64] = op##_uint64,                  \
    [RCX_LONG_DOUBLE] = op##_long_double,                                      \
    [RCX_COMPLEX_FLOAT] = op##_uint64,                                         \
    [RCX_COMPLEX_DOUBLE] = op##_complex_double,                                \
    [RCX_COMPLEX_LONG_DOUBLE] = op##_complex_long_double, PAIRS(op)            \
    EXACTS(op)

const rcx_kernel_table_t CAT(rcx_kernels_, RCX_KERNELS_ISA) = {
    [RCX_OP_INDEX(RCX_MAX)] = {INTEGERS(max) FLOAT16(max) REALS(max)},
    [RCX_OP_INDEX(RCX_MIN)] = {INTEGERS(min) FLOAT16(min) REALS(min)},
    [RCX_OP_INDEX(RCX_SUM)] = {WORDS(sum) REALS(sum) COMPLEXES(sum)
                 NOT_AVX512(FLOAT16(sum)) BASELINE_ONLY(EXACTS(sum))},
    [RCX_OP_INDEX(RCX_AVG)] = {REALS(sum) COMPLEXES(sum) NOT_AVX512(FLOAT16(sum))},
    /* of two numbers; more: see exact_rows.h, exact_vector.h */
    [RCX_OP_INDEX(RCX_SUM_EXACT)] = {[RCX_FLOAT32] = exact_sum_float32,
                                     [RCX_FLOAT64] = exact_sum_float64},
    [RCX_OP_INDEX(RCX_AVG_EXACT)] = {[RCX_FLOAT32] = exact_avg_float32,
                                     [RCX_FLOAT64] = exact_avg_float64},
    /* of two numbers; more: see float_rows.h */
    [RCX_OP_INDEX(RCX_SUM_FLOAT)] = {[RCX_BFLOAT16] = sum_bfloat16,
                                     NOT_AVX512(FLOAT16(sum))},
    [RCX_OP_INDEX(RCX_AVG_FLOAT)] = {[RCX_BFLOAT16] = avg_float_bfloat16,
                                     NOT_AVX512(FLOAT16(avg_float))},
    [RCX_OP_INDEX(RCX_PROD)] = {WORDS(prod) REALS(prod)
                  NOT_AVX512(FLOAT16(prod) COMPLEXES(prod))},
    /* A RCX_BOOL is one byte: its bitwise ops are the logical ones. */
    [RCX_OP_INDEX(RCX_LAND)] = {WORDS(land) [RCX_BOOL] = land_uint8},
    [RCX_OP_INDEX(RCX_LOR)] = {WORDS(lor) [RCX_BOOL] = lor_uint8},
    [RCX_OP_INDEX(RCX_LXOR)] = {WORDS(lxor) [RCX_BOOL] = lxor_uint8},
    [RCX_OP_INDEX(RCX_BAND)] = {WORDS(band) [RCX_BYTE] = band_uint8, [RCX_BOOL] = land_uint8},
    [RCX_OP_INDEX(RCX_BOR)] = {WORDS(bor) [RCX_BYTE] = bor_uint8, [RCX_BOOL] = lor_uint8},
    [RCX_OP_INDEX(RCX_BXOR)] = {WORDS(bxor) [RCX_BYTE] = bxor_uint8, [RCX_BOOL] = lxor_uint8},
    [RCX_OP_INDEX(RCX_MAXLOC)] = {PAIRS(maxloc)},
    [RCX_OP_INDEX(RCX_MINLOC)] = {PAIRS(minloc)},
    BASELINE_ONLY([RCX_OP_INDEX(RCX_REPLACE)] = {COPIES(replace)},
                  [RCX_OP_INDEX(RCX_NO_OP)] = {COPIES(no_op)},)
};
