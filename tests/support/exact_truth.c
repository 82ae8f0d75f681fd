/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Sums by counters of powers of two (exact_truth.h), and numbers that are hard
 * to sum.
 */
#include "exact_truth.h"

#include <math.h>
#include <string.h>

#include "serial.h"

/* ---- Terms --------------------------------------------------------------- */

/* x = mantissa * 2^*exponent_p, without the sign. */
static uint64_t mantissa_of(double x, int *exponent_p)
{
    const double fraction = frexp(fabs(x), exponent_p);

    *exponent_p -= 53;
    return (uint64_t)ldexp(fraction, 53);
}

static bool is_special(struct truth *t, double value)
{
    t->is_nan |= isnan(value);
    t->has_plus |= isinf(value) && value > 0;
    t->has_minus |= isinf(value) && value < 0;
    t->has_minus_zero |= value == 0 && signbit(value);
    t->has_other |= !(value == 0 && signbit(value));
    return !isfinite(value);
}

void truth_add(struct truth *t, double x)
{
    int exponent;
    uint64_t mantissa;

    if (is_special(t, x) || x == 0)
        return;
    mantissa = mantissa_of(x, &exponent);
    for (int i = 0; i < 53; i++)
        if (mantissa >> i & 1)
            t->count[exponent + i - TRUTH_UNIT] += x < 0 ? -1 : 1;
}

void truth_add_product(struct truth *t, double x, double y)
{
    const bool negative = !signbit(x) != !signbit(y);
    int at_x, at_y;
    uint64_t left, right;

    if (!isfinite(x) || !isfinite(y)) {
        is_special(t, x * y);
        return;
    }
    is_special(t, x == 0 || y == 0 ? (negative ? -0.0 : 0.0) : 1);
    if (x == 0 || y == 0)
        return;
    left = mantissa_of(x, &at_x);
    right = mantissa_of(y, &at_y);
    for (int i = 0; i < 53; i++)
        for (int k = 0; k < 53 && left >> i & 1; k++)
            if (right >> k & 1)
                t->count[at_x + at_y + i + k - TRUTH_UNIT] += negative ? -1 : 1;
}

/* ---- Rounding ------------------------------------------------------------ */

/* Binary digits of the magnitude; returns whether the sum is negative. */
static bool digits_of(const struct truth *t, unsigned char digit[TRUTH_BITS])
{
    int64_t sign = 1;

    for (;;) {
        int64_t carry = 0;

        for (int i = 0; i < TRUTH_BITS; i++) {
            const int64_t value = sign * t->count[i] + carry;

            digit[i] = (unsigned char)(value & 1);
            carry = (value - digit[i]) / 2;
        }
        if (carry >= 0)
            return sign < 0;
        sign = -1;
    }
}

/* Divide, from the top down; returns whether there is a remainder. */
static bool divide(unsigned char digit[TRUTH_BITS], int by)
{
    int rest = 0;

    for (int i = TRUTH_BITS - 1; i >= 0; i--) {
        rest = 2 * rest + digit[i];
        digit[i] = rest >= by;
        rest -= digit[i] ? by : 0;
    }
    return rest > 0;
}

/* Round to that many digits, none below 2^least. */
static double round_to(const struct truth *t, int digits, int least)
{
    unsigned char digit[TRUTH_BITS];
    bool negative, above_half = false;
    uint64_t mantissa = 0;
    int top = TRUTH_BITS - 1, ulp;
    double value;

    if (t->is_nan || (t->has_plus && t->has_minus))
        return NAN;
    if (t->has_plus || t->has_minus)
        return t->has_plus ? INFINITY : -INFINITY;
    negative = digits_of(t, digit);
    above_half = t->by > 1 && divide(digit, t->by);
    while (top >= 0 && !digit[top])
        top--;
    if (top < 0)
        return t->has_minus_zero && !t->has_other ? -0.0 : 0.0;
    ulp = top - digits + 1;
    ulp = ulp < least - TRUTH_UNIT ? least - TRUTH_UNIT : ulp;
    for (int i = top; i >= ulp; i--)
        mantissa = 2 * mantissa + digit[i];
    for (int i = 0; i < ulp - 1; i++)
        above_half |= digit[i];
    if (digit[ulp - 1] && (above_half || mantissa & 1))
        mantissa++;
    value = ldexp((double)mantissa, ulp + TRUTH_UNIT);
    return negative ? -value : value;
}

double truth_to_double(const struct truth *t)
{
    return round_to(t, 53, -1074);
}

float truth_to_float(const struct truth *t)
{
    return (float)round_to(t, 24, -149);
}

bool truth_equal(double a, double b)
{
    if (isnan(a) || isnan(b))
        return isnan(a) && isnan(b);
    return memcmp(&a, &b, sizeof a) == 0;
}

/* ---- Numbers ------------------------------------------------------------- */

enum sets {
    ANY_BITS,
    DENORMAL,
    ONE_SIGN,
    NEAR,
    APART,
    LARGEST,
    CANCELLING,
    CANCELLING_TO_ULP,
    TIES,
    SMALL_INTEGERS,
    ZEROS,
    FEW_OUTLIERS
};

const char *truth_set_name(int set)
{
    static const char *const names[TRUTH_SETS] = {
        [ANY_BITS] = "any bits",
        [DENORMAL] = "denormal numbers",
        [ONE_SIGN] = "numbers of one sign",
        [NEAR] = "numbers near each other",
        [APART] = "numbers of 600 orders of magnitude",
        [LARGEST] = "the largest numbers",
        [CANCELLING] = "numbers that cancel",
        [CANCELLING_TO_ULP] = "numbers that cancel to one ulp",
        [TIES] = "halves of an ulp, and a little more or less",
        [SMALL_INTEGERS] = "small integers",
        [ZEROS] = "zeros of both signs",
        [FEW_OUTLIERS] = "few numbers far from the others",
    };

    return names[set];
}

/* A format: bits of the mantissa, exponents of the smallest number and of the
 * largest power of two. */
struct format {
    int bits, least, most;
};

static double scaled(uint64_t random, int exponent, const struct format *f)
{
    const double fraction =
        ldexp((double)(random >> 12 >> (52 - f->bits)), -f->bits);

    return ldexp(random & 1 ? -1 - fraction : 1 + fraction, exponent);
}

/* All bit patterns of finite numbers. */
static double any_number(uint64_t random, const struct format *f)
{
    const uint32_t bits = (uint32_t)(random >> 32);
    double twice;
    float once;

    memcpy(&twice, &random, sizeof twice);
    memcpy(&once, &bits, sizeof once);
    if (f->bits == 23)
        return isfinite(once) ? (double)once : 1;
    return isfinite(twice) ? twice : 1;
}

/* A number whose sum with its neighbours is 0, or hard to round. */
static double in_group(int set, size_t i, const double *x, uint64_t random,
                       const struct format *f)
{
    const int exponent = (int)(random >> 8 & 63) - 32;

    if (set == CANCELLING)
        return i % 2 ? -x[i - 1] : scaled(random, exponent, f);
    if (set == CANCELLING_TO_ULP)
        return i == 0   ? ldexp(1, -f->bits)
               : i == 1 ? 1
               : i % 2  ? -x[i - 1]
                        : scaled(random, exponent, f);
    switch (i % 4) { /* TIES */
    case 0: return i == 0 ? 1 + (double)(random & 1) * ldexp(1, -f->bits) : 0;
    case 1: return i == 1 ? ldexp(1, -f->bits - 1) : 0;
    case 2: return i == 2 ? ldexp((int)(random % 3) - 1, f->least) : 0;
    default: return 0;
    }
}

static double number_of(int set, size_t i, const double *x, uint64_t random,
                        const struct format *f)
{
    const int range = f->most - f->least - f->bits;
    const int apart = f->most - 2 - (int)((random >> 32) % (unsigned)range);

    switch (set) {
    case DENORMAL:
        return ldexp((double)((int64_t)(random >> 12 >> (52 - f->bits)) -
                              ((int64_t)1 << (f->bits - 1))),
                     f->least);
    case ONE_SIGN: return fabs(scaled(random, (int)(random >> 8 & 7), f));
    case NEAR: return scaled(random, (int)(random >> 8 & 31), f);
    case ANY_BITS: return any_number(random, f);
    case APART: return scaled(random, apart, f);
    case LARGEST: return scaled(random, f->most, f);
    case SMALL_INTEGERS: return (double)(random % 2001) - 1000;
    case ZEROS: return random % 16 == 0 ? 0.0 : -0.0;
    case FEW_OUTLIERS: return scaled(random, random >> 8 & 1023 ? 3 : apart, f);
    default: return in_group(set, i, x, random, f);
    }
}

void truth_numbers(int set, bool are_floats, uint64_t seed, double *x, size_t n)
{
    const struct format f = are_floats ? (struct format){23, -149, 127}
                                       : (struct format){52, -1074, 1023};

    for (size_t i = 0; i < n; i++) {
        const uint64_t random = serial_mix(seed, i, (uint64_t)set);

        x[i] = number_of(set, i, x, random, &f);
    }
}
