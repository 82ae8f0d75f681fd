/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Exact sums of vectors, element by element: numbers as digits that plain
 * integer sums add.
 *
 * A vector is divided into blocks. All ranks agree on the form of a block, for
 * which they need the range of its numbers on all ranks. Then a number is an
 * integer, in units of 2^unit, with signed digits of radix bits each. Ranks add
 * words of 64 bits, a digit in each: a sum of p digits fits, so no carry is
 * lost, and carries wait until the end. Most blocks of floats have one digit,
 * and most of doubles two.
 *
 * The result is the sum rounded once to nearest, ties to even. NaN, infinities,
 * -0 and overflow are as of exact sums (exact.h): -0 needs a counter of the
 * terms that are not -0, in bits below the numbers, infinities one more word.
 */
#ifndef RCX_CORE_OP_EXACT_VECTOR_H
#define RCX_CORE_OP_EXACT_VECTOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/op/kernels.h"

enum {
    RCX_EXACT_BLOCK = 512, /* elements of a block, the most */
    RCX_EXACT_DIGITS = 54, /* of a form, the most */
    RCX_EXACT_NONE = INT16_MIN
};

/* What ranks must know of a block: the maximum of each member over all ranks
 * describes all their numbers. */
struct rcx_exact_range {
    int16_t top; /* exponent of the highest bit of the numbers, or above;
                    NONE: all are 0 */
    int16_t low; /* minus the exponent of the lowest bit, or above; NONE */
    int16_t is_special;     /* an infinity or NaN */
    int16_t has_minus_zero; /* -0 */
};

/* The form of a block's numbers. */
struct rcx_exact_form {
    int16_t unit;       /* exponent of the lowest bit of the first digit */
    uint8_t digits;     /* words of a number */
    uint8_t short_bits; /* of a number of one digit; of longer ones 64 */
    uint8_t counter;    /* lowest bits, which count terms that are not -0 */
    bool is_special;    /* one more word counts infinities; NaN is both */
};

/* How to sum: the same on all ranks. */
struct rcx_exact_vector {
    bool is_double; /* doubles; else floats */
    int radix;      /* bits of a digit */
    int counter;    /* bits that count to the number of ranks */
    unsigned by;    /* sums are divided by it */
    enum rcx_isa isa;
};

/* For sums over ranks processes; type is RCX_FLOAT32 or RCX_FLOAT64. */
struct rcx_exact_vector rcx_exact_vector(rcx_datatype_t type, int ranks,
                                         enum rcx_isa isa);

/* The range of n numbers. */
void rcx_exact_range(const struct rcx_exact_vector *v, const void *x, size_t n,
                     struct rcx_exact_range *range);

/* The form of a block with this range on all ranks. */
struct rcx_exact_form rcx_exact_form(const struct rcx_exact_vector *v,
                                     const struct rcx_exact_range *range);

/* The words of a number. */
static inline size_t rcx_exact_form_words(const struct rcx_exact_form *form)
{
    return (size_t)form->digits + form->is_special;
}

/* Write n numbers in a form: the first words of all, then the second ones. */
void rcx_exact_encode(const struct rcx_exact_vector *v,
                      const struct rcx_exact_form *form, const void *x,
                      size_t n, int64_t *words);

/* Divide n sums of such words, and round the quotients. */
void rcx_exact_decode(const struct rcx_exact_vector *v,
                      const struct rcx_exact_form *form, const int64_t *words,
                      size_t n, void *x);

/* ---- Between exact_vector.c and exact_vector_kernels.c ------------------- */

/* Of the bits of numbers without their signs. */
struct rcx_exact_scan {
    uint64_t most;  /* the largest */
    uint64_t least; /* the smallest that is not 0, less 1; no number: INT64_MAX,
                       or INT32_MAX of floats */
    uint64_t any;   /* bits that any has */
    bool has_minus_zero;
};

/* The kernels of floats, and of doubles. */
struct rcx_exact_vector_kernels {
    void (*scan)(const void *x, size_t n, struct rcx_exact_scan *scan);
    /* Forms of one digit, of two: finite numbers only. Of doubles, units are as
     * RCX_EXACT_UNIT_MIN says. These need the default floating-point
     * environment. */
    void (*encode[2])(const struct rcx_exact_form *form, int radix,
                      const void *x, size_t n, int64_t *words);
    void (*decode[2])(const struct rcx_exact_form *form, int radix,
                      const int64_t *words, size_t n, void *x);
};

/* No number and no sum of two digits overflows or is denormal. */
enum { RCX_EXACT_UNIT_MIN = -960, RCX_EXACT_UNIT_MAX = 800 };

/* Indexed by is_double. */
typedef struct rcx_exact_vector_kernels rcx_exact_vector_table_t[2];

extern const rcx_exact_vector_table_t rcx_exact_vectors_baseline;
extern const rcx_exact_vector_table_t rcx_exact_vectors_avx2;
extern const rcx_exact_vector_table_t rcx_exact_vectors_avx512;

#endif
