/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Arithmetic of exact accumulators (exact.h) on integers only: addition of
 * terms and of accumulators, and rounding to a floating-point number. Additions
 * of many terms are in exact_bulk.c.
 */
#include "core/op/exact.h"
#include "core/op/exact_term.h"

#include <stdbool.h>
#include <string.h>

#ifdef __x86_64__
#include <immintrin.h>
#endif

enum { WORDS32 = sizeof(rcx_exact32_t) / sizeof(uint64_t) };

/*
 * The smallest number of each type is one unit: 2^-149 of float, and the square
 * of 2^-1074 for products of double. 64 words - 4 flags - 1 sign leave 102 bits
 * above the largest float, and 87 above the largest product.
 */
const struct rcx_exact_format rcx_exact_float32 = {.words = WORDS32,
                                                   .unit = -149};
const struct rcx_exact_format rcx_exact_float64 = {.words = RCX_EXACT_WORDS,
                                                   .unit = -2148};

#define VALUE_MASK (((uint64_t)1 << RCX_EXACT_VALUE_BITS) - 1)

_Static_assert(RCX_EXACT_FLAGS == ~VALUE_MASK, "flags are above the value");

/* ---- Accumulators -------------------------------------------------------- */

/* Join flags of a result into its last word. Special values have no integer. */
static void set_flags(uint64_t *acc, int words, uint64_t flags)
{
    if (flags & RCX_EXACT_SPECIAL)
        memset(acc, 0, (size_t)words * sizeof *acc);
    acc[words - 1] = (acc[words - 1] & VALUE_MASK) | flags;
}

/* Add or subtract low + high * 2^64, shifted by whole words. */
static void add_words(uint64_t *acc, int words, int at, uint64_t low,
                      uint64_t high, int negative)
{
    const uint64_t flip = negative ? UINT64_MAX : 0;
    /* -v is ~v + 1: all words are added, inverted, with a first carry */
    unsigned carry = negative;
    const uint64_t parts[2] = {low, high};

    for (int i = at; i < words; i++) {
        const uint64_t part = (i - at < 2 ? parts[i - at] : 0) ^ flip;

        /* the rest is 0 with no carry, or all ones with one: no change */
        if (i - at >= 2 && carry == (unsigned)negative)
            return;
        carry = (unsigned)__builtin_add_overflow(acc[i], carry, &acc[i]);
        carry += (unsigned)__builtin_add_overflow(acc[i], part, &acc[i]);
    }
}

static void add_bits(uint64_t *acc, int words, uint64_t mantissa, unsigned bit,
                     int negative)
{
    const unsigned shift = bit % 64;

    if (mantissa != 0)
        add_words(acc, words, (int)(bit / 64), mantissa << shift,
                  shift ? mantissa >> (64 - shift) : 0, negative);
}

void rcx_exact_add_term(uint64_t *acc, const struct rcx_exact_format *f,
                        const struct rcx_exact_term *term)
{
    const uint64_t flags = (acc[f->words - 1] & RCX_EXACT_FLAGS) | term->flags;
    const unsigned bit = (unsigned)(term->exponent - f->unit);

    if (!(flags & RCX_EXACT_SPECIAL)) {
        add_bits(acc, f->words, term->low, bit, term->negative);
        add_bits(acc, f->words, term->high, bit + 53, term->negative);
    }
    set_flags(acc, f->words, flags);
}

/* dst = left + right + carry; returns the carry. */
static inline unsigned char add_carry(unsigned char carry, uint64_t left,
                                      uint64_t right, uint64_t *dst)
{
#ifdef __x86_64__
    unsigned long long sum;

    carry = _addcarry_u64(carry, left, right, &sum);
    *dst = sum;
    return carry;
#else
    uint64_t sum;
    const bool first = __builtin_add_overflow(left, carry, &sum);

    return (unsigned char)(first | __builtin_add_overflow(sum, right, dst));
#endif
}

static inline __attribute__((always_inline)) void
merge(uint64_t *dst, const uint64_t *left, const uint64_t *right, int words)
{
    const uint64_t flags =
        (left[words - 1] | right[words - 1]) & RCX_EXACT_FLAGS;
    unsigned char carry = 0;

#pragma GCC unroll 8
    for (int i = 0; i < words; i++)
        carry = add_carry(carry, left[i], right[i], &dst[i]);
    set_flags(dst, words, flags);
}

void rcx_exact_sum_float32(void *dst, const void *left, const void *right,
                           size_t count)
{
    rcx_exact32_t *d = dst;
    const rcx_exact32_t *l = left, *r = right;

    for (size_t i = 0; i < count; i++)
        merge(d[i].words, l[i].words, r[i].words, WORDS32);
}

void rcx_exact_sum_float64(void *dst, const void *left, const void *right,
                           size_t count)
{
    rcx_exact64_t *d = dst;
    const rcx_exact64_t *l = left, *r = right;

    for (size_t i = 0; i < count; i++)
        merge(d[i].words, l[i].words, r[i].words, RCX_EXACT_WORDS);
}

void rcx_exact_add_words(uint64_t *dst, const uint64_t *acc, int words, int at,
                         const uint64_t *from, int count, uint64_t rest,
                         uint64_t flags)
{
    unsigned char carry = 0;

    flags |= acc[words - 1] & RCX_EXACT_FLAGS;
    if (dst != acc)
        memcpy(dst, acc, (size_t)words * sizeof *dst);
    for (int i = 0; i < count; i++)
        carry = add_carry(carry, acc[at + i], from[i], &dst[at + i]);
    /* 0 with no carry, or all ones with one: no change */
    for (int i = at + count; i < words && carry != (rest & 1); i++)
        carry = add_carry(carry, acc[i], rest, &dst[i]);
    set_flags(dst, words, flags);
}

/* ---- Limbs --------------------------------------------------------------- */

void rcx_exact_limbs_open(struct rcx_exact_limbs *l,
                          const struct rcx_exact_format *f)
{
    memset(l->limb, 0, 2 * (size_t)f->words * sizeof *l->limb);
    l->format = f;
    l->flags = 0;
    l->waiting = 0;
}

/* Every limb but the last is in 0..2^32 - 1 afterwards. */
static void carry(struct rcx_exact_limbs *l)
{
    const int last = 2 * l->format->words - 1;

    for (int i = 0; i < last; i++) {
        l->limb[i + 1] += l->limb[i] >> 32; /* rounds down */
        l->limb[i] &= UINT32_MAX;
    }
    l->waiting = 0;
}

void rcx_exact_limbs_reserve(struct rcx_exact_limbs *l, unsigned additions)
{
    l->waiting += additions;
    if (l->waiting > RCX_EXACT_WAITING) {
        carry(l);
        l->waiting = additions;
    }
}

void rcx_exact_limbs_add(struct rcx_exact_limbs *l, int64_t value, int exponent)
{
    const int64_t sign = value < 0 ? -1 : 0;
    uint64_t magnitude = ((uint64_t)value ^ (uint64_t)sign) - (uint64_t)sign;
    int bit = exponent - l->format->unit;

    if (bit < 0) { /* what is shifted out is 0 */
        magnitude = bit > -64 ? magnitude >> -bit : 0;
        bit = 0;
    }
    rcx_exact_limbs_add_bits(l, magnitude & UINT32_MAX, (unsigned)bit, sign);
    if (magnitude >> 32)
        rcx_exact_limbs_add_bits(l, magnitude >> 32, (unsigned)bit + 32, sign);
}

void rcx_exact_limbs_close(struct rcx_exact_limbs *l, uint64_t *acc)
{
    const int words = l->format->words;
    const uint64_t flags = (acc[words - 1] & RCX_EXACT_FLAGS) | l->flags;
    unsigned char over = 0;

    carry(l);
    for (int i = 0; i < words; i++) {
        const uint64_t word =
            (uint64_t)l->limb[2 * i] | (uint64_t)l->limb[2 * i + 1] << 32;

        over = add_carry(over, acc[i], word, &acc[i]);
    }
    set_flags(acc, words, flags);
}

/* ---- Rounding ------------------------------------------------------------ */

/* A binary format to round to. */
struct binary {
    int bits;   /* of the mantissa, without the leading one */
    int least;  /* exponent of the smallest number */
    int fields; /* the exponent field of infinity */
};

/* The magnitude of the integer; returns whether it is negative. */
static bool magnitude_of(const uint64_t *acc, int words, uint64_t *magnitude)
{
    const uint64_t sign_bit = (uint64_t)1 << (RCX_EXACT_VALUE_BITS - 1);
    const bool negative = acc[words - 1] & sign_bit;
    int i = 0;

    memcpy(magnitude, acc, (size_t)words * sizeof *acc);
    if (negative) { /* -v is ~v + 1: a carry passes over words of 0 */
        while (i < words - 1 && magnitude[i] == 0)
            i++;
        magnitude[i] = 0 - magnitude[i];
        while (++i < words)
            magnitude[i] = ~magnitude[i];
    }
    magnitude[words - 1] &= VALUE_MASK;
    return negative;
}

void rcx_exact_divide(uint64_t *acc, const struct rcx_exact_format *f,
                      unsigned by)
{
    const int words = f->words;
    const uint64_t flags = acc[words - 1] & RCX_EXACT_FLAGS;
    uint64_t quotient[RCX_EXACT_WORDS];
    const bool negative = magnitude_of(acc, words, quotient);
    unsigned __int128 rest = 0;

    for (int i = words - 1; i >= 0; i--) {
        rest = rest << 64 | quotient[i];
        quotient[i] = (uint64_t)(rest / by);
        rest %= by;
    }
    quotient[0] |= rest != 0;
    memset(acc, 0, (size_t)words * sizeof *acc);
    for (int i = 0; i < words; i++)
        add_words(acc, words, i, quotient[i], 0, negative);
    set_flags(acc, words, flags);
}

/* Up to 64 bits from bit first on, which may be negative: zeros are below. */
static uint64_t bits_from(const uint64_t *v, int words, int first)
{
    const int at = first >= 0 ? first / 64 : 0;
    const int shift = first >= 0 ? first % 64 : 0;
    uint64_t bits = v[at] >> shift;

    if (shift > 0 && at + 1 < words)
        bits |= v[at + 1] << (64 - shift);
    return first < 0 ? bits << -first : bits;
}

static bool any_below(const uint64_t *v, int bit)
{
    for (int i = 0; i < bit / 64; i++)
        if (v[i])
            return true;
    return bit % 64 && v[bit / 64] << (64 - bit % 64);
}

/* The bits of magnitude in the binary format, without a sign. */
static uint64_t round_magnitude(const uint64_t *v,
                                const struct rcx_exact_format *f,
                                const struct binary *to)
{
    const uint64_t one = (uint64_t)1 << to->bits;
    const uint64_t infinity = (uint64_t)to->fields << to->bits;
    int top = f->words - 1, ulp, cut;
    uint64_t mantissa, result;

    while (top > 0 && v[top] == 0)
        top--;
    if (v[top] == 0)
        return 0;
    top = 64 * top + 63 - __builtin_clzll(v[top]);
    ulp = top + f->unit - to->bits;
    ulp = ulp < to->least ? to->least : ulp;
    cut = ulp - f->unit; /* bits below are rounded */
    if (ulp - to->least + 1 >= to->fields)
        return infinity;
    mantissa = bits_from(v, f->words, cut) & (2 * one - 1);
    /* The leading one counts as one more of the exponent field. */
    result = ((uint64_t)(ulp - to->least) << to->bits) + mantissa;
    if (cut > 0 && bits_from(v, f->words, cut - 1) & 1)
        result += mantissa & 1 || any_below(v, cut - 1);
    return result; /* a carry enters the exponent, up to infinity */
}

/* The bits in the binary format, the sign at bit 63. */
static uint64_t round_to(const uint64_t *acc, const struct rcx_exact_format *f,
                         const struct binary *to, uint64_t *sign_p)
{
    const uint64_t flags = acc[f->words - 1];
    const uint64_t infinity = (uint64_t)to->fields << to->bits;
    uint64_t magnitude[RCX_EXACT_WORDS];
    uint64_t bits;

    if ((flags & RCX_EXACT_SPECIAL) == RCX_EXACT_SPECIAL) {
        *sign_p = 0;
        return infinity | (uint64_t)1 << (to->bits - 1); /* a quiet NaN */
    }
    *sign_p = (flags & RCX_EXACT_MINUS) != 0;
    if (flags & RCX_EXACT_SPECIAL)
        return infinity;
    *sign_p = magnitude_of(acc, f->words, magnitude);
    bits = round_magnitude(magnitude, f, to);
    if (flags & RCX_EXACT_TERM && !(flags & RCX_EXACT_NUMBER))
        *sign_p = 1; /* all terms are -0 */
    return bits;
}

double rcx_exact_to_double(const uint64_t *acc,
                           const struct rcx_exact_format *f)
{
    static const struct binary binary64 = {RCX_DOUBLE_BITS, RCX_DOUBLE_LEAST,
                                           RCX_DOUBLE_FIELD};
    uint64_t sign;
    uint64_t bits = round_to(acc, f, &binary64, &sign);
    double value;

    bits |= sign << 63;
    memcpy(&value, &bits, sizeof value);
    return value;
}

float rcx_exact_to_float(const uint64_t *acc, const struct rcx_exact_format *f)
{
    static const struct binary binary32 = {RCX_FLOAT_BITS, RCX_FLOAT_LEAST,
                                           RCX_FLOAT_FIELD};
    uint64_t sign;
    uint32_t bits = (uint32_t)round_to(acc, f, &binary32, &sign);
    float value;

    bits |= (uint32_t)sign << 31;
    memcpy(&value, &bits, sizeof value);
    return value;
}
