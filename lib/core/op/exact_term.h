/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The terms of exact sums (exact.h): floating-point numbers and products of
 * two, taken apart by integer operations. All functions are static, so that
 * loops over many terms contain them.
 */
#ifndef RCX_CORE_OP_EXACT_TERM_H
#define RCX_CORE_OP_EXACT_TERM_H

#include <stdbool.h>
#include <string.h>

#include "core/op/exact.h"

/*
 * A finite term or product of two: (-1)^negative * mantissa * 2^exponent, where
 * the exponent is at least the unit of the format. Otherwise only flags.
 */
struct rcx_exact_term {
    uint64_t low, high; /* mantissa = low + high * 2^53, each below 2^53 */
    int exponent;
    int negative;
    uint64_t flags; /* with RCX_EXACT_SPECIAL: no mantissa */
};

/* The binary formats: bits of the mantissa without the leading one, and the
 * exponent of the smallest number. */
enum {
    RCX_FLOAT_BITS = 23,
    RCX_FLOAT_LEAST = -149,
    RCX_FLOAT_FIELD = 0xff,
    RCX_DOUBLE_BITS = 52,
    RCX_DOUBLE_LEAST = -1074,
    RCX_DOUBLE_FIELD = 0x7ff
};

static inline struct rcx_exact_term rcx_exact_special_term(bool nan,
                                                           int negative)
{
    struct rcx_exact_term t = {.flags = RCX_EXACT_TERM | RCX_EXACT_NUMBER};

    t.flags |= nan        ? RCX_EXACT_SPECIAL
               : negative ? RCX_EXACT_MINUS
                          : RCX_EXACT_PLUS;
    return t;
}

static inline struct rcx_exact_term
rcx_exact_finite_term(uint64_t mantissa, int exponent, int negative)
{
    const bool is_minus_zero = mantissa == 0 && negative;

    return (struct rcx_exact_term){
        .low = mantissa,
        .exponent = exponent,
        .negative = negative,
        .flags = RCX_EXACT_TERM | (is_minus_zero ? 0 : RCX_EXACT_NUMBER)};
}

static inline struct rcx_exact_term rcx_exact_term_float(float value)
{
    uint32_t bits;
    uint32_t mantissa;
    int field;

    memcpy(&bits, &value, sizeof bits);
    mantissa = bits & (((uint32_t)1 << RCX_FLOAT_BITS) - 1);
    field = (int)(bits >> RCX_FLOAT_BITS & RCX_FLOAT_FIELD);
    if (field == RCX_FLOAT_FIELD)
        return rcx_exact_special_term(mantissa != 0, (int)(bits >> 31));
    if (field > 0)
        mantissa |= (uint32_t)1 << RCX_FLOAT_BITS;
    return rcx_exact_finite_term(mantissa,
                                 RCX_FLOAT_LEAST + (field > 1 ? field - 1 : 0),
                                 (int)(bits >> 31));
}

static inline struct rcx_exact_term rcx_exact_term_double(double value)
{
    uint64_t bits;
    uint64_t mantissa;
    int field;

    memcpy(&bits, &value, sizeof bits);
    mantissa = bits & (((uint64_t)1 << RCX_DOUBLE_BITS) - 1);
    field = (int)(bits >> RCX_DOUBLE_BITS & RCX_DOUBLE_FIELD);
    if (field == RCX_DOUBLE_FIELD)
        return rcx_exact_special_term(mantissa != 0, (int)(bits >> 63));
    if (field > 0)
        mantissa |= (uint64_t)1 << RCX_DOUBLE_BITS;
    return rcx_exact_finite_term(mantissa,
                                 RCX_DOUBLE_LEAST + (field > 1 ? field - 1 : 0),
                                 (int)(bits >> 63));
}

/* Infinity times zero is NaN, as is anything times NaN. */
static inline struct rcx_exact_term
rcx_exact_special_product(const struct rcx_exact_term *a,
                          const struct rcx_exact_term *b)
{
    const bool a_special = a->flags & RCX_EXACT_SPECIAL;
    const bool b_special = b->flags & RCX_EXACT_SPECIAL;
    const bool nan = (a->flags & RCX_EXACT_SPECIAL) == RCX_EXACT_SPECIAL ||
                     (b->flags & RCX_EXACT_SPECIAL) == RCX_EXACT_SPECIAL ||
                     (!a_special && a->low == 0) || (!b_special && b->low == 0);
    const int a_negative =
        a_special ? (a->flags & RCX_EXACT_MINUS) != 0 : a->negative;
    const int b_negative =
        b_special ? (b->flags & RCX_EXACT_MINUS) != 0 : b->negative;

    return rcx_exact_special_term(nan, a_negative ^ b_negative);
}

static inline struct rcx_exact_term
rcx_exact_term_product(struct rcx_exact_term a, struct rcx_exact_term b)
{
    const uint64_t below_53 = ((uint64_t)1 << 53) - 1;
    struct rcx_exact_term t;
    unsigned __int128 product;

    if ((a.flags | b.flags) & RCX_EXACT_SPECIAL)
        return rcx_exact_special_product(&a, &b);
    product = (unsigned __int128)a.low * b.low;
    t = rcx_exact_finite_term((uint64_t)product & below_53,
                              a.exponent + b.exponent, a.negative ^ b.negative);
    t.high = (uint64_t)(product >> 53);
    t.flags |= t.high ? RCX_EXACT_NUMBER : 0;
    return t;
}

#endif
