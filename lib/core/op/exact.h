/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Exact sums of floating-point numbers: accumulators as integers of many words.
 *
 * An accumulator is the sum, in units of 2^unit, as a two's complement integer
 * with the least significant word first. The four upper bits of the last word
 * are flags. Every number of the summed type, and every product for which the
 * format is made, is a whole number of units. So addition of accumulators is
 * integer addition, modulo 2^(64 words - 4), and bitwise OR of flags:
 * associative and commutative bit for bit.
 *
 *   canonical   the same value and flags are always the same words
 *   special     infinite or NaN; the integer is 0 then
 *
 * These functions use no floating-point arithmetic, so they depend on neither
 * rounding mode nor flushing of denormal numbers.
 */
#ifndef RCX_CORE_OP_EXACT_H
#define RCX_CORE_OP_EXACT_H

#include <stddef.h>
#include <stdint.h>

#include "rcx/rcx.h"

struct rcx_exact_format {
    int words;
    int unit; /* exponent of bit 0 */
};

/* RCX_EXACT_FLOAT32: sums. RCX_EXACT_FLOAT64: sums, and products of two. */
extern const struct rcx_exact_format rcx_exact_float32, rcx_exact_float64;

enum {
    RCX_EXACT_WORDS = sizeof(rcx_exact64_t) / sizeof(uint64_t), /* the most */
    RCX_EXACT_LIMBS = 2 * RCX_EXACT_WORDS,
    RCX_EXACT_VALUE_BITS = 60 /* of the last word; the others are flags */
};

/* Flags. Both infinities together are NaN. */
#define RCX_EXACT_TERM ((uint64_t)1 << 60)   /* has a term */
#define RCX_EXACT_NUMBER ((uint64_t)1 << 61) /* has one that is not -0 */
#define RCX_EXACT_PLUS ((uint64_t)1 << 62)   /* +infinity */
#define RCX_EXACT_MINUS ((uint64_t)1 << 63)  /* -infinity */
#define RCX_EXACT_SPECIAL (RCX_EXACT_PLUS | RCX_EXACT_MINUS)
#define RCX_EXACT_FLAGS (RCX_EXACT_SPECIAL | RCX_EXACT_NUMBER | RCX_EXACT_TERM)

struct rcx_exact_term; /* exact_term.h */

void rcx_exact_add_term(uint64_t *acc, const struct rcx_exact_format *f,
                        const struct rcx_exact_term *term);

/* The kernels of SUM: dst may equal left or right or both. */
void rcx_exact_sum_float32(void *dst, const void *left, const void *right,
                           size_t count);
void rcx_exact_sum_float64(void *dst, const void *left, const void *right,
                           size_t count);

/* dst = acc + the accumulator that has these flags, count words of from at word
 * at on, 0 below and rest above them: 0 or all ones. dst may be acc. */
void rcx_exact_add_words(uint64_t *dst, const uint64_t *acc, int words, int at,
                         const uint64_t *from, int count, uint64_t rest,
                         uint64_t flags);

/* Divide the integer, towards 0, and set its lowest bit if there is a
 * remainder. If no number has bits near the unit, this rounds as the quotient.
 */
void rcx_exact_divide(uint64_t *acc, const struct rcx_exact_format *f,
                      unsigned by);

/* The nearest number, ties to even. */
double rcx_exact_to_double(const uint64_t *acc,
                           const struct rcx_exact_format *f);
float rcx_exact_to_float(const uint64_t *acc, const struct rcx_exact_format *f);

/*
 * An accumulator in use: signed limbs with a weight of 2^(32 i) units each,
 * whose carries wait. A term changes two limbs and nothing else.
 */
struct rcx_exact_limbs {
    int64_t limb[RCX_EXACT_LIMBS];
    const struct rcx_exact_format *format;
    uint64_t flags;
    unsigned waiting; /* additions since the last carry */
};

/* How many additions, at most 2^53 units of a limb's lowest bit each, may wait
 * for a carry. */
enum { RCX_EXACT_WAITING = 1000 };

void rcx_exact_limbs_open(struct rcx_exact_limbs *l,
                          const struct rcx_exact_format *f);

/* Carry now if additions would otherwise be too many. */
void rcx_exact_limbs_reserve(struct rcx_exact_limbs *l, unsigned additions);

/* Add value * 2^exponent, a whole number of units; |value| < 2^63. Counts as
 * one addition. */
void rcx_exact_limbs_add(struct rcx_exact_limbs *l, int64_t value,
                         int exponent);

/* Add limbs to an accumulator. The limbs are not used afterwards. */
void rcx_exact_limbs_close(struct rcx_exact_limbs *l, uint64_t *acc);

/* Add mantissa * 2^bit units, mantissa below 2^53. sign: -1 to subtract, else
 * 0. Counts as one addition. */
static inline void rcx_exact_limbs_add_bits(struct rcx_exact_limbs *l,
                                            uint64_t mantissa, unsigned bit,
                                            int64_t sign)
{
    int64_t *const limb = &l->limb[bit / 32];
    const unsigned shift = bit % 32;

    limb[0] += ((int64_t)(mantissa << shift & UINT32_MAX) ^ sign) - sign;
    limb[1] += ((int64_t)(mantissa >> (32 - shift)) ^ sign) - sign;
}

#endif
