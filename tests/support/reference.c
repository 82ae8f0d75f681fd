/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The predefined ops on one element, from their definitions, for comparison
 * with the kernels: 16-bit formats, integers, reals, complex numbers and pairs.
 * Slow, and independent of the library.
 */
#include "reference.h"
#include "reference_exact.h"

#include <assert.h>
#include <float.h>
#include <limits.h>
#include <math.h>
#include <string.h>

#define PAIR(ctype)                                                            \
    struct {                                                                   \
        ctype value;                                                           \
        int index;                                                             \
    }

/* Each type: size, alignment, the type of its parts, offset of the second
 * part. */
static const struct layout {
    size_t bytes, alignment;
    rcx_datatype_t part; /* the number inside, or the type itself */
    size_t second;       /* offset of imaginary part or index, 0 if none */
} layouts[] = {
#define PLAIN(number, ctype)                                                   \
    [number] = {sizeof(ctype), _Alignof(ctype), number, 0}
#define COMPLEX(number, ctype, part)                                           \
    [number] = {2 * sizeof(ctype), _Alignof(ctype), part, sizeof(ctype)}
#define PAIRED(number, ctype, part)                                            \
    [number] = {sizeof(PAIR(ctype)), _Alignof(PAIR(ctype)), part,              \
                offsetof(PAIR(ctype), index)}
    PLAIN(RCX_INT8, int8_t),
    PLAIN(RCX_UINT8, uint8_t),
    PLAIN(RCX_INT16, int16_t),
    PLAIN(RCX_UINT16, uint16_t),
    PLAIN(RCX_INT32, int32_t),
    PLAIN(RCX_UINT32, uint32_t),
    PLAIN(RCX_INT64, int64_t),
    PLAIN(RCX_UINT64, uint64_t),
    PLAIN(RCX_FLOAT16, uint16_t),
    PLAIN(RCX_BFLOAT16, uint16_t),
    PLAIN(RCX_FLOAT32, float),
    PLAIN(RCX_FLOAT64, double),
    PLAIN(RCX_LONG_DOUBLE, long double),
    COMPLEX(RCX_COMPLEX_FLOAT, float, RCX_FLOAT32),
    COMPLEX(RCX_COMPLEX_DOUBLE, double, RCX_FLOAT64),
    COMPLEX(RCX_COMPLEX_LONG_DOUBLE, long double, RCX_LONG_DOUBLE),
    PLAIN(RCX_BOOL, _Bool),
    PLAIN(RCX_BYTE, unsigned char),
    PAIRED(RCX_FLOAT_INT, float, RCX_FLOAT32),
    PAIRED(RCX_DOUBLE_INT, double, RCX_FLOAT64),
    PAIRED(RCX_LONG_INT, long, sizeof(long) == 8 ? RCX_INT64 : RCX_INT32),
    PAIRED(RCX_2INT, int, RCX_INT32),
    PAIRED(RCX_SHORT_INT, short, RCX_INT16),
    PAIRED(RCX_LONG_DOUBLE_INT, long double, RCX_LONG_DOUBLE),
    PLAIN(RCX_EXACT_FLOAT32, rcx_exact32_t),
    PLAIN(RCX_EXACT_FLOAT64, rcx_exact64_t),
};

size_t reference_bytes(rcx_datatype_t type)
{
    return layouts[type].bytes;
}

size_t reference_alignment(rcx_datatype_t type)
{
    return layouts[type].alignment;
}

static bool is_pair(rcx_datatype_t type)
{
    return type >= RCX_FLOAT_INT && type <= RCX_LONG_DOUBLE_INT;
}

static bool is_complex(rcx_datatype_t type)
{
    return type >= RCX_COMPLEX_FLOAT && type <= RCX_COMPLEX_LONG_DOUBLE;
}

static bool is_real(rcx_datatype_t type)
{
    return type >= RCX_FLOAT16 && type <= RCX_LONG_DOUBLE;
}

static bool is_exact(rcx_datatype_t type)
{
    return type == RCX_EXACT_FLOAT32 || type == RCX_EXACT_FLOAT64;
}

static bool is_signed(rcx_datatype_t type)
{
    return type == RCX_INT8 || type == RCX_INT16 || type == RCX_INT32 ||
           type == RCX_INT64;
}

/* ---- 16-bit floating formats --------------------------------------------- */

double reference_decode(uint16_t bits, rcx_datatype_t type)
{
    const int mantissa_bits = type == RCX_FLOAT16 ? 10 : 7;
    const int bias = type == RCX_FLOAT16 ? 15 : 127;
    const int top = 2 * bias + 1;
    const int mantissa = bits & ((1 << mantissa_bits) - 1);
    const int exponent = (bits & 0x7fff) >> mantissa_bits;
    double value;

    if (exponent == top)
        value = mantissa != 0 ? NAN : INFINITY;
    else if (exponent == 0)
        value = ldexp(mantissa, 1 - bias - mantissa_bits);
    else
        value = ldexp(mantissa + (1 << mantissa_bits),
                      exponent - bias - mantissa_bits);
    return bits & 0x8000 ? -value : value;
}

/* Find the neighbours of |value| by bisection, and round to nearest, ties to
 * even. */
uint16_t reference_encode(double value, rcx_datatype_t type)
{
    const unsigned infinity = type == RCX_FLOAT16 ? 0x7c00 : 0x7f80;
    const double beyond = ldexp(1, type == RCX_FLOAT16 ? 16 : 128);
    const unsigned sign = signbit(value) ? 0x8000 : 0;
    const double magnitude = fabs(value);
    unsigned below = 0, above = infinity;

    if (isnan(value))
        return (uint16_t)(infinity + 1);
    if (isinf(value))
        return (uint16_t)(infinity | sign);
    while (above - below > 1) {
        const unsigned middle = (below + above) / 2;

        if (reference_decode((uint16_t)middle, type) <= magnitude)
            below = middle;
        else
            above = middle;
    }
    /* Overflow rounds as if the next power of two stood for infinity. */
    const double low = reference_decode((uint16_t)below, type);
    const double high =
        above == infinity ? beyond : reference_decode((uint16_t)above, type);
    const double up = high - magnitude, down = magnitude - low;
    const bool take_above = up < down || (up == down && below % 2 == 1);

    return (uint16_t)((take_above ? above : below) | sign);
}

/* ---- Numbers in memory --------------------------------------------------- */

static uint64_t load_integer(const void *src, rcx_datatype_t type)
{
    const size_t bytes = layouts[type].bytes;
    const uint64_t top = (uint64_t)1 << (8 * bytes - 1);
    uint8_t word8;
    uint16_t word16;
    uint32_t word32;
    uint64_t word;

    switch (bytes) {
    case 1:
        memcpy(&word8, src, 1);
        word = word8;
        break;
    case 2:
        memcpy(&word16, src, 2);
        word = word16;
        break;
    case 4:
        memcpy(&word32, src, 4);
        word = word32;
        break;
    default: memcpy(&word, src, 8); break;
    }
    return is_signed(type) ? (word ^ top) - top : word;
}

static void store_integer(void *dst, rcx_datatype_t type, uint64_t word)
{
    const uint8_t word8 = (uint8_t)word;
    const uint16_t word16 = (uint16_t)word;
    const uint32_t word32 = (uint32_t)word;

    switch (layouts[type].bytes) {
    case 1: memcpy(dst, &word8, 1); break;
    case 2: memcpy(dst, &word16, 2); break;
    case 4: memcpy(dst, &word32, 4); break;
    default: memcpy(dst, &word, 8); break;
    }
}

static long double load_real(const void *src, rcx_datatype_t type)
{
    uint16_t half;
    float single;
    double twice;
    long double extended;

    switch (type) {
    case RCX_FLOAT16:
    case RCX_BFLOAT16:
        memcpy(&half, src, sizeof(half));
        return reference_decode(half, type);
    case RCX_FLOAT32: memcpy(&single, src, sizeof(single)); return single;
    case RCX_FLOAT64: memcpy(&twice, src, sizeof(twice)); return twice;
    default: memcpy(&extended, src, sizeof(extended)); return extended;
    }
}

/* Store value, rounded once to the type. */
static void store_real(void *dst, rcx_datatype_t type, long double value)
{
    const float single = (float)value;
    const double twice = (double)value;
    uint16_t half;

    switch (type) {
    case RCX_FLOAT16:
    case RCX_BFLOAT16:
        half = reference_encode(twice, type);
        memcpy(dst, &half, sizeof(half));
        break;
    case RCX_FLOAT32: memcpy(dst, &single, sizeof(single)); break;
    case RCX_FLOAT64: memcpy(dst, &twice, sizeof(twice)); break;
    default: memcpy(dst, &value, sizeof(value)); break;
    }
}

/* ---- The ops ------------------------------------------------------------- */

static uint64_t combine_integers(uint64_t a, uint64_t b, rcx_op_t op,
                                 rcx_datatype_t type)
{
    const bool greater = is_signed(type) ? (int64_t)a > (int64_t)b : a > b;

    switch (op) {
    case RCX_MAX: return greater ? a : b;
    case RCX_MIN: return greater ? b : a;
    case RCX_SUM: return a + b;
    case RCX_PROD: return a * b;
    case RCX_LAND: return a && b;
    case RCX_LOR: return a || b;
    case RCX_LXOR: return !a != !b;
    case RCX_BAND: return a & b;
    case RCX_BOR: return a | b;
    case RCX_BXOR: return a ^ b;
    default: assert(!"an op on integers"); return 0;
    }
}

/*
 * One operation in the precision of the type; the 16-bit types compute in
 * float. A double holds more than twice the digits of a float, so rounding its
 * result to float is one rounding. volatile prevents excess precision and
 * contraction, whatever the compiler's options are.
 */
static long double calculate(long double a, char operation, long double b,
                             rcx_datatype_t type)
{
    volatile long double x = a, y = b;
    volatile long double extended;
    volatile double twice, p = (double)a, q = (double)b;
    volatile float single;

    extended = operation == '+' ? x + y : operation == '*' ? x * y : x / y;
    if (type == RCX_LONG_DOUBLE)
        return extended;
    twice = operation == '+' ? p + q : operation == '*' ? p * q : p / q;
    if (type == RCX_FLOAT64)
        return twice;
    single = (float)twice;
    return single;
}

/* Halves are exact unless they are denormal, and then the sum is. */
static long double average_of_two(long double a, long double b,
                                  rcx_datatype_t type)
{
    const long double sum = calculate(a, '+', b, type);

    return isinf(sum) ? calculate(a / 2, '+', b / 2, type)
                      : calculate(sum, '/', 2, type);
}

static long double combine_reals(long double a, long double b, rcx_op_t op,
                                 rcx_datatype_t type)
{
    const bool above = a > b || (a == b && !signbit(a));

    switch (op) {
    case RCX_MAX: return isnan(a) ? a : isnan(b) ? b : above ? a : b;
    case RCX_MIN:
        if (a == b)
            return signbit(a) ? a : b;
        return isnan(a) ? a : isnan(b) ? b : above ? b : a;
    case RCX_SUM:
    case RCX_SUM_EXACT: /* of two numbers */
    case RCX_SUM_FLOAT:
    case RCX_AVG: return calculate(a, '+', b, type);
    case RCX_AVG_EXACT: return average_of_two(a, b, type);
    case RCX_AVG_FLOAT: return ((float)a + (float)b) / 2;
    case RCX_PROD: return calculate(a, '*', b, type);
    default: assert(!"an op on reals"); return 0;
    }
}

static void combine_complex(void *dst, const void *left, const void *right,
                            rcx_op_t op, rcx_datatype_t type)
{
    const rcx_datatype_t part = layouts[type].part;
    const size_t second = layouts[type].second;
    const long double a = load_real(left, part);
    const long double b = load_real((const char *)left + second, part);
    const long double c = load_real(right, part);
    const long double d = load_real((const char *)right + second, part);
    long double re, im;

    if (op == RCX_PROD) {
        re = calculate(calculate(a, '*', c, part), '+',
                       -calculate(b, '*', d, part), part);
        im = calculate(calculate(a, '*', d, part), '+',
                       calculate(b, '*', c, part), part);
    } else {
        re = calculate(a, '+', c, part);
        im = calculate(b, '+', d, part);
    }
    store_real(dst, part, re);
    store_real((char *)dst + second, part, im);
}

/* Compare a's value with b's: -1 below, 0 equal, 1 above. NaN is above all. */
static int compare_values(const void *a, const void *b, rcx_datatype_t part)
{
    if (is_real(part)) {
        const long double x = load_real(a, part);
        const long double y = load_real(b, part);

        if (isnan(x) || isnan(y))
            return isnan(x) - isnan(y);
        return (x > y) - (x < y);
    }
    const int64_t x = (int64_t)load_integer(a, part);
    const int64_t y = (int64_t)load_integer(b, part);

    return (x > y) - (x < y);
}

static void combine_pairs(void *dst, const void *left, const void *right,
                          rcx_op_t op, rcx_datatype_t type)
{
    const rcx_datatype_t part = layouts[type].part;
    const bool is_nan = is_real(part) && (isnan(load_real(left, part)) ||
                                          isnan(load_real(right, part)));
    int order = compare_values(left, right, part);
    int left_index, right_index;
    bool take_left;

    memcpy(&left_index, (const char *)left + layouts[type].second, sizeof(int));
    memcpy(&right_index, (const char *)right + layouts[type].second,
           sizeof(int));
    if (op == RCX_MINLOC && !is_nan)
        order = -order;
    if (order != 0)
        take_left = order > 0;
    else if (left_index != right_index)
        take_left = left_index < right_index;
    else /* zeros may differ in sign: + for MAXLOC, - for MINLOC */
        take_left = is_real(part) &&
                    (signbit(load_real(left, part)) != 0) == (op == RCX_MINLOC);
    memmove(dst, take_left ? left : right, layouts[type].bytes);
}

void reference_combine(void *dst, const void *left, const void *right,
                       rcx_op_t op, rcx_datatype_t type)
{
    if (op == RCX_REPLACE)
        memmove(dst, right, layouts[type].bytes);
    else if (op == RCX_NO_OP)
        memmove(dst, left, layouts[type].bytes);
    else if (is_exact(type))
        exact_combine(dst, left, right, layouts[type].bytes);
    else if (is_pair(type))
        combine_pairs(dst, left, right, op, type);
    else if (is_complex(type))
        combine_complex(dst, left, right, op, type);
    else if (is_real(type))
        store_real(dst, type,
                   combine_reals(load_real(left, type), load_real(right, type),
                                 op, type));
    else
        store_integer(dst, type,
                      combine_integers(load_integer(left, type),
                                       load_integer(right, type), op, type));
}

void reference_average(void *dst, rcx_datatype_t type, int ranks)
{
    const rcx_datatype_t part = layouts[type].part;

    for (size_t at = 0; at < layouts[type].bytes; at += layouts[part].bytes) {
        char *number = (char *)dst + at;

        store_real(number, part,
                   calculate(load_real(number, part), '/', ranks, part));
    }
}

/* ---- Comparing ----------------------------------------------------------- */

static bool equal_reals(const void *a, const void *b, rcx_datatype_t type)
{
    const long double x = load_real(a, type), y = load_real(b, type);

    if (isnan(x) || isnan(y))
        return isnan(x) && isnan(y);
    return x == y && !signbit(x) == !signbit(y);
}

bool reference_equal(const void *a, const void *b, rcx_datatype_t type)
{
    const struct layout *layout = &layouts[type];
    const char *second_a = (const char *)a + layout->second;
    const char *second_b = (const char *)b + layout->second;
    const bool first = is_real(layout->part)
                           ? equal_reals(a, b, layout->part)
                           : memcmp(a, b, layouts[layout->part].bytes) == 0;

    if (is_complex(type))
        return first && equal_reals(second_a, second_b, layout->part);
    if (is_pair(type))
        return first && memcmp(second_a, second_b, sizeof(int)) == 0;
    return first;
}

/* ---- Samples ------------------------------------------------------------- */

static size_t integer_samples(char *dst, rcx_datatype_t type)
{
    const uint64_t top = (uint64_t)1 << (8 * layouts[type].bytes - 1);
    const uint64_t words[] = {
        0,
        1,
        2,
        3,
        7,
        (uint64_t)-1,
        top,
        top - 1,
        top + 1,
        top + 2,
        (uint64_t)-2,
        top >> 1,
        100,
        181,
        46341,
        3037000500,
        0x5555555555555555,
        0xaaaaaaaaaaaaaaaa,
        0x0123456789abcdef,
        0xfedcba9876543210,
    };
    const size_t n = type == RCX_BOOL ? 2 : sizeof(words) / sizeof(*words);

    for (size_t i = 0; i < n; i++)
        store_integer(dst + i * layouts[type].bytes, type, words[i]);
    return n;
}

static size_t real_samples(char *dst, rcx_datatype_t type)
{
    /* epsilon, smallest subnormal, smallest normal, largest of each type */
    static const long double limits[][4] = {
        [RCX_FLOAT16] = {0x1p-10L, 0x1p-24L, 0x1p-14L, 65504},
        [RCX_BFLOAT16] = {0x1p-7L, 0x1p-133L, 0x1p-126L, 0x1.fep127L},
        [RCX_FLOAT32] = {FLT_EPSILON, FLT_TRUE_MIN, FLT_MIN, FLT_MAX},
        [RCX_FLOAT64] = {DBL_EPSILON, DBL_TRUE_MIN, DBL_MIN, DBL_MAX},
        [RCX_LONG_DOUBLE] = {LDBL_EPSILON, LDBL_TRUE_MIN, LDBL_MIN, LDBL_MAX},
    };
    const long double epsilon = limits[type][0], tiny = limits[type][1];
    const long double small = limits[type][2], large = limits[type][3];
    const long double values[] = {
        0,
        -0.0L,
        1,
        -1,
        NAN,
        -NAN,
        INFINITY,
        -INFINITY,
        tiny,
        -tiny,
        3 * tiny,
        small,
        -small,
        small - tiny,
        large,
        -large,
        large / 2,
        1 + epsilon,
        1 - epsilon / 2,
        epsilon / 2,
        1e16L,
        -1e16L,
        1 / 3.0L,
        -0.1L,
        3.14159265358979L,
        2047,
        1 / small,
        2.5e-7L,
    };
    const size_t n = sizeof(values) / sizeof(*values);

    for (size_t i = 0; i < n; i++)
        store_real(dst + i * layouts[type].bytes, type, values[i]);
    return n;
}

static size_t number_samples(char *dst, rcx_datatype_t type)
{
    return is_real(type) ? real_samples(dst, type) : integer_samples(dst, type);
}

static size_t number_or_pair_samples(void *dst, rcx_datatype_t type)
{
    static const int indexes[] = {0, 5, -1, INT_MAX, INT_MIN};
    const struct layout *layout = &layouts[type];
    const size_t part_bytes = layouts[layout->part].bytes;
    char numbers[REFERENCE_SAMPLES * REFERENCE_BYTES];
    const size_t n = number_samples(numbers, layout->part);
    const size_t total = is_pair(type) ? 2 * n : n;

    memset(dst, 0, total * layout->bytes);
    for (size_t i = 0; i < total; i++) {
        char *element = (char *)dst + i * layout->bytes;

        memcpy(element, numbers + i % n * part_bytes, part_bytes);
        if (is_complex(type))
            memcpy(element + layout->second,
                   numbers + (5 * i + 3) % n * part_bytes, part_bytes);
        /* The first values of pairs, around zero, occur with the same and with
         * other indexes. */
        if (is_pair(type))
            memcpy(element + layout->second,
                   &indexes[i < n && i < 6 ? 0 : i % 5], sizeof(int));
    }
    return total;
}

size_t reference_samples(void *dst, rcx_datatype_t type)
{
    if (is_exact(type))
        return exact_samples(dst, layouts[type].bytes);
    return number_or_pair_samples(dst, type);
}
