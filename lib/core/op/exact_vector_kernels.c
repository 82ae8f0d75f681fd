/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Exact sums of vectors (exact_vector.h): the loops over numbers of forms of
 * one or two digits. The build compiles this file once for each instruction set
 * level, as kernels.c. Most are plain loops without branches, which the
 * compiler vectorises. Everything but the table is static.
 */
#include "core/op/exact_term.h"
#include "core/op/exact_vector.h"
#include "core/op/isa_level.h"
/* GCC 12 vectorises no conversion to double. SSE2 cannot shift numbers by
 * different counts. */
#define BASELINE_WIDTH 8
#include "core/op/vectors.h"

#include <string.h>

/* ---- Ranges -------------------------------------------------------------- */

#define SCAN(name, word_t, int_t, largest)                                     \
    static void scan_##name(const void *x, size_t n,                           \
                            struct rcx_exact_scan *scan)                       \
    {                                                                          \
        const word_t *const w = x;                                             \
        int_t most = 0, least = (largest);                                     \
        word_t any = 0, minus = 0;                                             \
                                                                               \
        for (size_t i = 0; i < n; i++) {                                       \
            const int_t m = (int_t)(w[i] & (word_t)(largest));                 \
            const int_t below = (int_t)((word_t)(m - 1) & (word_t)(largest));  \
                                                                               \
            most = m > most ? m : most;                                        \
            least = below < least ? below : least;                             \
            any |= w[i];                                                       \
            minus |= (word_t)(w[i] == (word_t)(largest) + 1);                  \
        }                                                                      \
        scan->most = (uint64_t)most;                                           \
        scan->least = (uint64_t)least;                                         \
        scan->any = any;                                                       \
        scan->has_minus_zero = minus != 0;                                     \
    }

SCAN(float, uint32_t, int32_t, INT32_MAX)
SCAN(double, uint64_t, int64_t, INT64_MAX)

/* ---- Vectors ------------------------------------------------------------- */

/* In memory of any alignment. */
typedef int64_t words_t
    __attribute__((vector_size(WIDTH), aligned(8), may_alias));

/* 2^exponent, normal numbers. */
INLINE doubles_t powers_of_two(ints_t exponent)
{
    return (doubles_t)((exponent + 1023) << 52);
}

/* ---- Numbers to digits --------------------------------------------------- */

#ifdef __AVX512DQ__

/* Doubles are converted to integers by one instruction. All is exact. */
INLINE doubles_t load_numbers(const char *x, size_t i, bool are_doubles)
{
    if (are_doubles)
        return *(const user_doubles_t *)(const void *)(x + i * sizeof(double));
    return __builtin_convertvector(
        *(const user_floats_t *)(const void *)(x + i * sizeof(float)),
        doubles_t);
}

/* 1 for every number but -0, if a form counts them. */
INLINE ints_t counted(const struct rcx_exact_form *form, doubles_t x)
{
    const ints_t is_other = (bits_t)x != (uint64_t)1 << 63;

    return form->counter ? -is_other : (ints_t){};
}

/* high NULL: one digit. */
INLINE void encode_numbers(const struct rcx_exact_form *form, int radix,
                           doubles_t x, int64_t *low, int64_t *high)
{
    const doubles_t units = x * powers_of_two((ints_t){} - form->unit);
    ints_t upper;

    if (!high) {
        *(words_t *)low =
            __builtin_convertvector(units, ints_t) + counted(form, x);
        return;
    }
    upper = __builtin_convertvector(units * powers_of_two((ints_t){} - radix),
                                    ints_t);
    *(words_t *)high = upper;
    *(words_t *)low = __builtin_convertvector(
                          units - __builtin_convertvector(upper, doubles_t) *
                                      powers_of_two((ints_t){} + radix),
                          ints_t) +
                      counted(form, x);
}

INLINE void encode(const struct rcx_exact_form *form, int radix, const char *x,
                   size_t n, int64_t *low, int64_t *high, bool are_doubles)
{
    const size_t bytes = are_doubles ? sizeof(double) : sizeof(float);
    int64_t words[2][LANES];
    double last[LANES] = {0};
    size_t i = 0;

    for (; i + LANES <= n; i += LANES)
        encode_numbers(form, radix, load_numbers(x, i, are_doubles), low + i,
                       high ? high + i : NULL);
    if (i == n)
        return;
    memcpy(last, x + i * bytes, (n - i) * bytes);
    encode_numbers(form, radix,
                   load_numbers((const char *)last, 0, are_doubles), words[0],
                   high ? words[1] : NULL);
    memcpy(low + i, words[0], (n - i) * sizeof *low);
    if (high)
        memcpy(high + i, words[1], (n - i) * sizeof *high);
}

#define ENCODE(name, are_doubles)                                              \
    static void encode_##name##_1(const struct rcx_exact_form *form,           \
                                  int radix, const void *x, size_t n,          \
                                  int64_t *words)                              \
    {                                                                          \
        encode(form, radix, x, n, words, NULL, are_doubles);                   \
    }                                                                          \
                                                                               \
    static void encode_##name##_2(const struct rcx_exact_form *form,           \
                                  int radix, const void *x, size_t n,          \
                                  int64_t *words)                              \
    {                                                                          \
        encode(form, radix, x, n, words, words + n, are_doubles);              \
    }

ENCODE(float, false)
ENCODE(double, true)

#else

/* A number's leading one is at bit 63, or below in denormal numbers. */
struct number {
    uint64_t mantissa;
    int64_t exponent; /* field of the exponent, and 1 for denormal numbers */
    int64_t sign;     /* -1: negative, else 0 */
};

static inline struct number number_of(uint64_t bits, int mantissa_bits)
{
    const uint64_t one = (uint64_t)1 << mantissa_bits;
    const uint64_t all = bits & ~((uint64_t)1 << 63);
    const uint64_t mantissa =
        (all & (one - 1)) | (all >= one ? one : (uint64_t)0);

    return (struct number){.mantissa = mantissa << (63 - mantissa_bits),
                           .exponent =
                               (int64_t)(all >> mantissa_bits) + (all < one),
                           .sign = -(int64_t)(bits >> 63)};
}

/* Bits of a float, the sign at bit 63. */
static inline uint64_t load_float(const void *x, size_t i)
{
    const uint64_t bits = ((const uint32_t *)x)[i];

    return (bits & INT32_MAX) | (bits >> 31) << 63;
}

static inline uint64_t load_double(const void *x, size_t i)
{
    return ((const uint64_t *)x)[i];
}

/* 1 for every number but -0, if a form counts them. */
static inline int64_t counted(uint64_t bits, uint64_t counts)
{
    return (int64_t)(counts & (bits != (uint64_t)1 << 63));
}

static inline int64_t with_sign(uint64_t magnitude, int64_t sign)
{
    return ((int64_t)magnitude ^ sign) - sign;
}

/* How far a mantissa of exponent 0 is to the right of bit 63: less the exponent
 * field, so far right it shifts. */
#define RIGHT(form, bits, least) (64 - (bits) - (least) + (form)->unit)

#define ENCODE(name, bits_of, least_of)                                        \
    static void encode_##name##_1(const struct rcx_exact_form *form,           \
                                  int radix, const void *x, size_t n,          \
                                  int64_t *words)                              \
    {                                                                          \
        const int64_t right = RIGHT(form, bits_of, least_of);                  \
        const uint64_t counts = form->counter > 0;                             \
                                                                               \
        (void)radix;                                                           \
        INDEPENDENT                                                            \
        for (size_t i = 0; i < n; i++) {                                       \
            const uint64_t bits = load_##name(x, i);                           \
            const struct number a = number_of(bits, bits_of);                  \
                                                                               \
            words[i] =                                                         \
                with_sign(a.mantissa >> ((right - a.exponent) & 63), a.sign) + \
                counted(bits, counts);                                         \
        }                                                                      \
    }                                                                          \
                                                                               \
    static void encode_##name##_2(const struct rcx_exact_form *form,           \
                                  int radix, const void *x, size_t n,          \
                                  int64_t *words)                              \
    {                                                                          \
        const int64_t right = RIGHT(form, bits_of, least_of);                  \
        const uint64_t counts = form->counter > 0;                             \
        const uint64_t mask = ((uint64_t)1 << radix) - 1;                      \
        int64_t *const high = words + n;                                       \
                                                                               \
        INDEPENDENT                                                            \
        for (size_t i = 0; i < n; i++) {                                       \
            const uint64_t bits = load_##name(x, i);                           \
            const struct number a = number_of(bits, bits_of);                  \
            const int64_t by = right - a.exponent;                             \
            const int64_t by_high = by + radix;                                \
            const uint64_t low = by < 0    ? a.mantissa << (-by & 63)          \
                                 : by < 64 ? a.mantissa >> (by & 63)           \
                                           : 0;                                \
            const uint64_t up =                                                \
                by_high < 64 ? a.mantissa >> (by_high & 63) : 0;               \
                                                                               \
            words[i] = with_sign(low & mask, a.sign) + counted(bits, counts);  \
            high[i] = with_sign(up, a.sign);                                   \
        }                                                                      \
    }

ENCODE(float, RCX_FLOAT_BITS, RCX_FLOAT_LEAST)
ENCODE(double, RCX_DOUBLE_BITS, RCX_DOUBLE_LEAST)

#endif

/* ---- Sums to numbers ----------------------------------------------------- */

/* Bits where a mask is set, else 0. */
INLINE bits_t where(ints_t mask, bits_t bits)
{
    return (bits_t)mask & bits;
}

/*
 * Sums to convert, high * 2^64 + low units; about is within 2^-40 of each, or
 * both are below 2^61 units. A sum is shifted right until its leading one is at
 * bit 61 or 62, and its lowest bit is set if bits are lost ("round to odd"). So
 * the conversion rounds as that of the sum itself would.
 *
 * for_float: the doubles are those that round to the floats nearest to the
 * sums. Bits below bit 10 are lost to bit 10, so that the conversion is exact.
 */
INLINE doubles_t round_sums(ints_t high, bits_t low, doubles_t about, int unit,
                            bool for_float)
{
    enum { MOST = 61, DOUBLES = 53, SPARE = 10 };
    const uint64_t below = ((uint64_t)1 << SPARE) - 1;
    const ints_t exponent =
        (ints_t)((bits_t)about >> 52 & RCX_DOUBLE_FIELD) - 1023;
    const ints_t is_far = exponent > MOST;
    const ints_t by = is_far & (exponent - MOST);
    const bits_t lost = low & ((((bits_t){} + 1) << (bits_t)by) - 1);
    bits_t kept = where(is_far, (bits_t)high << ((bits_t)-by & 63));

    kept |= low >> (bits_t)by | where(lost != 0, (bits_t){} + 1);
    if (for_float) {
        const bits_t odd = (kept & ~below) |
                           where((kept & below) != 0, (bits_t){} + below + 1);
        const ints_t is_long =
            (kept + ((uint64_t)1 << DOUBLES)) >> (DOUBLES + 1) != 0;

        kept = where(is_long, odd) | where(~is_long, kept);
    }
    return __builtin_convertvector((ints_t)kept, doubles_t) *
           powers_of_two(by + unit);
}

/* How to round the sums of a block. */
struct rounding {
    int radix, unit;
    uint64_t counter; /* the bits of the counter of terms that are not -0 */
    bool for_float;
    bool is_short; /* conversion to double rounds as it should */
};

/* Sums of one digit; without the counter's bits. */
INLINE doubles_t round_1(const struct rounding *r, ints_t digit)
{
    const bits_t number = (bits_t)digit & ~r->counter;

    if (r->is_short)
        return __builtin_convertvector((ints_t)number, doubles_t) *
               powers_of_two((ints_t){} + r->unit);
    return round_sums(digit >> 63, number,
                      __builtin_convertvector(digit, doubles_t), r->unit,
                      r->for_float);
}

INLINE doubles_t round_2(const struct rounding *r, ints_t first, ints_t second)
{
    const uint64_t mask = ((uint64_t)1 << r->radix) - 1;
    const ints_t carried = second + (first >> r->radix);
    const bits_t low =
        (bits_t)carried << r->radix | ((bits_t)first & mask & ~r->counter);
    const doubles_t about = __builtin_convertvector(second, doubles_t) *
                                powers_of_two((ints_t){} + r->radix) +
                            __builtin_convertvector(first, doubles_t);

    return round_sums(carried >> (64 - r->radix), low, about, r->unit,
                      r->for_float);
}

/* Sums from index i on; -0 where no term is another number. */
INLINE doubles_t round_at(const struct rounding *r, const int64_t *first,
                          const int64_t *second)
{
    const ints_t digit = *(const words_t *)first;
    const doubles_t value = second ? round_2(r, digit, *(const words_t *)second)
                                   : round_1(r, digit);
    const ints_t is_minus_zero = ((bits_t)digit & r->counter) == 0;

    return r->counter ? (doubles_t)((bits_t)value |
                                    where(is_minus_zero,
                                          (bits_t){} + ((uint64_t)1 << 63)))
                      : value;
}

INLINE void store(const struct rounding *r, char *to, doubles_t value)
{
    if (r->for_float)
        *(user_floats_t *)(void *)to = __builtin_convertvector(value, floats_t);
    else
        *(user_doubles_t *)(void *)to = value;
}

/* second NULL: numbers have one digit. */
INLINE void decode(const struct rcx_exact_form *form, int radix,
                   const int64_t *first, const int64_t *second, size_t n,
                   char *to, bool for_float, bool is_short)
{
    const struct rounding r = {.radix = radix,
                               .unit = form->unit,
                               .counter = ((uint64_t)1 << form->counter) - 1,
                               .for_float = for_float,
                               .is_short = is_short};
    const size_t bytes = for_float ? sizeof(float) : sizeof(double);
    int64_t last[2][LANES] = {{0}};
    double numbers[LANES];
    size_t i = 0;

    for (; i + LANES <= n; i += LANES)
        store(&r, to + i * bytes,
              round_at(&r, first + i, second ? second + i : NULL));
    if (i == n)
        return;
    memcpy(last[0], first + i, (n - i) * sizeof *first);
    if (second)
        memcpy(last[1], second + i, (n - i) * sizeof *second);
    store(&r, (char *)numbers, round_at(&r, last[0], second ? last[1] : NULL));
    memcpy(to + i * bytes, numbers, (n - i) * bytes);
}

/* Whether sums of one digit are converted to double at once: doubles, and
 * floats whose sums have 53 bits, so that the conversion is exact. */
static inline bool is_short(const struct rcx_exact_form *form, int radix,
                            bool for_float)
{
    return !for_float || form->short_bits + 62 - radix <= 53;
}

#define DECODE(name, for_float)                                                \
    static void decode_##name##_1(const struct rcx_exact_form *form,           \
                                  int radix, const int64_t *words, size_t n,   \
                                  void *x)                                     \
    {                                                                          \
        if (is_short(form, radix, for_float))                                  \
            decode(form, radix, words, NULL, n, x, for_float, true);           \
        else                                                                   \
            decode(form, radix, words, NULL, n, x, for_float, false);          \
    }                                                                          \
                                                                               \
    static void decode_##name##_2(const struct rcx_exact_form *form,           \
                                  int radix, const int64_t *words, size_t n,   \
                                  void *x)                                     \
    {                                                                          \
        decode(form, radix, words, words + n, n, x, for_float, false);         \
    }

DECODE(float, true)
DECODE(double, false)

#define KERNELS(name)                                                          \
    {                                                                          \
        .scan = scan_##name, .encode = {encode_##name##_1, encode_##name##_2}, \
        .decode = {decode_##name##_1, decode_##name##_2},                      \
    }

const rcx_exact_vector_table_t CAT(rcx_exact_vectors_, RCX_KERNELS_ISA) = {
    KERNELS(float), KERNELS(double)};
