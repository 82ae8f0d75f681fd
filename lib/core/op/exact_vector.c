/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Exact sums of vectors (exact_vector.h): forms of blocks, and all forms for
 * which there are no kernels, by integers and the rounding of exact.c.
 */
#include "core/op/exact_vector.h"

#include <string.h>

#include "core/op/exact_bulk.h"
#include "core/op/exact_term.h"

static const struct rcx_exact_vector_kernels *
kernels_of(const struct rcx_exact_vector *v)
{
    switch (v->isa) {
#ifdef RCX_HAVE_AVX512
    case RCX_ISA_AVX512: return &rcx_exact_vectors_avx512[v->is_double];
#endif
#ifdef RCX_HAVE_AVX2
    case RCX_ISA_AVX2: return &rcx_exact_vectors_avx2[v->is_double];
#endif
    default: return &rcx_exact_vectors_baseline[v->is_double];
    }
}

/* The number of bits of value. */
static int bits_of(unsigned value)
{
    return value ? 32 - __builtin_clz(value) : 0;
}

/* A sum of ranks digits, and a carry, stays below 2^63. */
struct rcx_exact_vector rcx_exact_vector(rcx_datatype_t type, int ranks,
                                         enum rcx_isa isa)
{
    return (struct rcx_exact_vector){.is_double = rcx_type_canonical(type) ==
                                                  RCX_FLOAT64,
                                     .radix = 62 - bits_of((unsigned)ranks - 1),
                                     .counter = bits_of((unsigned)ranks),
                                     .by = 1,
                                     .isa = isa};
}

static struct rcx_exact_term term_at(const struct rcx_exact_vector *v,
                                     const void *x, size_t i)
{
    return v->is_double ? rcx_exact_term_double(((const double *)x)[i])
                        : rcx_exact_term_float(((const float *)x)[i]);
}

static bool is_minus_zero(const struct rcx_exact_term *t)
{
    return !(t->flags & RCX_EXACT_NUMBER);
}

/* ---- Ranges and forms ---------------------------------------------------- */

static void raise(int16_t *value, int to)
{
    if (to > *value)
        *value = (int16_t)to;
}

static void range_slowly(const struct rcx_exact_vector *v, const void *x,
                         size_t n, struct rcx_exact_range *range)
{
    for (size_t i = 0; i < n; i++) {
        const struct rcx_exact_term t = term_at(v, x, i);

        if (t.flags & RCX_EXACT_SPECIAL)
            range->is_special = 1;
        else if (is_minus_zero(&t))
            range->has_minus_zero = 1;
        if (t.low == 0)
            continue;
        raise(&range->top, t.exponent + 63 - __builtin_clzll(t.low));
        raise(&range->low, -(t.exponent + __builtin_ctzll(t.low)));
    }
}

/* Numbers may have fewer bits than their exponents tell, but all have zeros
 * where no mantissa has a bit. */
void rcx_exact_range(const struct rcx_exact_vector *v, const void *x, size_t n,
                     struct rcx_exact_range *range)
{
    const int bits = v->is_double ? RCX_DOUBLE_BITS : RCX_FLOAT_BITS;
    const int least = v->is_double ? RCX_DOUBLE_LEAST : RCX_FLOAT_LEAST;
    const int field = v->is_double ? RCX_DOUBLE_FIELD : RCX_FLOAT_FIELD;
    const uint64_t one = (uint64_t)1 << bits;
    struct rcx_exact_scan scan;
    int high, low;

    *range =
        (struct rcx_exact_range){.top = RCX_EXACT_NONE, .low = RCX_EXACT_NONE};
    kernels_of(v)->scan(x, n, &scan);
    high = (int)(scan.most >> bits);
    low = (int)((scan.least + 1) >> bits);
    if (high >= field) {
        range_slowly(v, x, n, range);
        return;
    }
    range->has_minus_zero = scan.has_minus_zero;
    if (scan.most == 0)
        return;
    range->top = (int16_t)(least + (high > 1 ? high - 1 : 0) + bits);
    range->low = (int16_t) - (least + (low > 1 ? low - 1 : 0) +
                              __builtin_ctzll(scan.any | one));
}

struct rcx_exact_form rcx_exact_form(const struct rcx_exact_vector *v,
                                     const struct rcx_exact_range *range)
{
    const bool is_zero = range->top == RCX_EXACT_NONE;
    const int counter = range->has_minus_zero ? v->counter : 0;
    const int unit = (is_zero ? 0 : -range->low) - counter;
    const int bits = (is_zero ? 0 : range->top + 1) - unit;

    return (struct rcx_exact_form){
        .unit = (int16_t)unit,
        .digits = (uint8_t)((bits + v->radix - 1) / v->radix),
        .short_bits = (uint8_t)(bits < v->radix ? bits : 64),
        .counter = (uint8_t)counter,
        .is_special = range->is_special};
}

/* ---- Any form ------------------------------------------------------------ */

/* Add a finite number to digits, which are n words apart and initially 0. */
static void set_digits(const struct rcx_exact_form *form, int radix,
                       const struct rcx_exact_term *t, int64_t *word, size_t n)
{
    const int64_t mask = ((int64_t)1 << radix) - 1;
    unsigned __int128 rest = t->low;
    int bit = t->exponent - form->unit;

    if (bit < 0) { /* what is shifted out is 0 */
        rest >>= -bit;
        bit = 0;
    }
    word += (size_t)(bit / radix) * n;
    for (rest <<= bit % radix; rest; rest >>= radix) {
        const int64_t digit = (int64_t)rest & mask;

        *word += t->negative ? -digit : digit;
        word += n;
    }
}

enum {
    PLUS_BITS = 32
}; /* of a word of infinities: the lower half counts +,
                            the upper one - */

static int64_t infinities_of(const struct rcx_exact_term *t)
{
    return (t->flags & RCX_EXACT_PLUS ? 1 : 0) +
           (t->flags & RCX_EXACT_MINUS ? (int64_t)1 << PLUS_BITS : 0);
}

static void encode_slowly(const struct rcx_exact_vector *v,
                          const struct rcx_exact_form *form, const void *x,
                          size_t n, int64_t *words)
{
    memset(words, 0, n * rcx_exact_form_words(form) * sizeof *words);
    for (size_t i = 0; i < n; i++) {
        const struct rcx_exact_term t = term_at(v, x, i);

        if (t.low != 0)
            set_digits(form, v->radix, &t, &words[i], n);
        if (form->counter > 0)
            words[i] += !is_minus_zero(&t);
        if (form->is_special)
            words[form->digits * n + i] = infinities_of(&t);
    }
}

/* OR the lowest bits of value into an integer. */
static void join(uint64_t *to, int bit, uint64_t value)
{
    to[bit / 64] |= value << bit % 64;
    if (bit % 64 > 0)
        to[bit / 64 + 1] |= value >> (64 - bit % 64);
}

/* Carry, and write the sum as an exact accumulator of the format, whose last
 * words are all sign. */
static void carry(const struct rcx_exact_form *form, int radix,
                  const int64_t *word, size_t n,
                  const struct rcx_exact_format *f, uint64_t *acc)
{
    const int64_t mask = ((int64_t)1 << radix) - 1;
    int64_t rest = 0;
    int bit = 0;

    memset(acc, 0, (size_t)f->words * sizeof *acc);
    for (int i = 0; i < form->digits; i++) {
        rest += word[(size_t)i * n];
        join(acc, bit, (uint64_t)(rest & mask));
        rest >>= radix;
        bit += radix;
    }
    join(acc, bit, (uint64_t)rest);
    for (int i = bit / 64 + 1; i < f->words && rest < 0; i++)
        acc[i] |= i > bit / 64 + 1 || bit % 64 == 0 ? UINT64_MAX
                                                    : UINT64_MAX << bit % 64;
}

static uint64_t flags_of(const struct rcx_exact_form *form, const int64_t *word,
                         size_t n)
{
    const int64_t counter = ((int64_t)1 << form->counter) - 1;
    uint64_t flags = RCX_EXACT_TERM | RCX_EXACT_NUMBER;

    if (form->counter > 0 && (*word & counter) == 0)
        flags = RCX_EXACT_TERM;
    if (form->is_special) {
        const uint64_t infinities = (uint64_t)word[form->digits * n];

        flags |= (infinities & UINT32_MAX ? RCX_EXACT_PLUS : 0) |
                 (infinities >> PLUS_BITS ? RCX_EXACT_MINUS : 0);
    }
    return flags;
}

/* Bits of a quotient of one unit: those of the divisor, and of a number. */
enum { QUOTIENT_WORDS = 2 };

static void decode_slowly(const struct rcx_exact_vector *v,
                          const struct rcx_exact_form *form,
                          const int64_t *words, size_t n, void *x)
{
    /* below the sum there are words for the quotient */
    const int below = v->by > 1 ? QUOTIENT_WORDS : 0;
    const struct rcx_exact_format sum = {
        .words = (form->digits * v->radix + 64) / 64 + 2, .unit = form->unit};
    const struct rcx_exact_format f = {.words = below + sum.words,
                                       .unit = sum.unit - 64 * below};
    uint64_t acc[RCX_EXACT_WORDS] = {0};

    for (size_t i = 0; i < n; i++) {
        memset(acc, 0, sizeof *acc * (size_t)below);
        carry(form, v->radix, &words[i], n, &sum, acc + below);
        acc[below] &= ~(((uint64_t)1 << form->counter) - 1);
        acc[f.words - 1] = (acc[f.words - 1] & ~RCX_EXACT_FLAGS) |
                           flags_of(form, &words[i], n);
        if (below > 0)
            rcx_exact_divide(acc, &f, v->by);
        if (v->is_double)
            ((double *)x)[i] = rcx_exact_to_double(acc, &f);
        else
            ((float *)x)[i] = rcx_exact_to_float(acc, &f);
    }
}

static bool has_kernel(const struct rcx_exact_vector *v,
                       const struct rcx_exact_form *form)
{
    return form->digits >= 1 && form->digits <= 2 && !form->is_special &&
           (!v->is_double || (form->unit >= RCX_EXACT_UNIT_MIN &&
                              form->unit <= RCX_EXACT_UNIT_MAX));
}

void rcx_exact_encode(const struct rcx_exact_vector *v,
                      const struct rcx_exact_form *form, const void *x,
                      size_t n, int64_t *words)
{
    unsigned saved;
    const bool is_default = rcx_exact_env_enter(&saved);

    if (is_default && has_kernel(v, form))
        kernels_of(v)->encode[form->digits - 1](form, v->radix, x, n, words);
    else
        encode_slowly(v, form, x, n, words);
    rcx_exact_env_leave(saved);
}

void rcx_exact_decode(const struct rcx_exact_vector *v,
                      const struct rcx_exact_form *form, const int64_t *words,
                      size_t n, void *x)
{
    unsigned saved;
    const bool is_default = rcx_exact_env_enter(&saved);

    if (is_default && v->by == 1 && has_kernel(v, form))
        kernels_of(v)->decode[form->digits - 1](form, v->radix, words, n, x);
    else
        decode_slowly(v, form, words, n, x);
    rcx_exact_env_leave(saved);
}
