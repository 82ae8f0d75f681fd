/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Sums of rows of 16-bit numbers in float (float_rows.h). The build compiles
 * this file once for each instruction set level, as kernels.c. Everything but
 * the table is static. Blocks of the rows are converted and added in the first
 * cache, by loops that the compiler vectorises.
 */
#include "core/op/float_rows.h"

#include "core/op/isa_level.h"
#include "core/op/kernels_half.h"

#ifdef __F16C__
#include <immintrin.h>
#endif

/* Elements of a block; partial sums of the tree that wait, at most. */
enum { BLOCK = 512, WAITING = 7 };
_Static_assert(1 << (WAITING - 1) >= RCX_EXACT_ROWS, "the tree of all rows");

#define INLINE static inline __attribute__((always_inline))

/* A converter of n numbers. */
#define LOOP(name, to_type, from_type, value)                                  \
    static void name(to_type *to, const from_type *from, size_t n)             \
    {                                                                          \
        INDEPENDENT                                                            \
        for (size_t i = 0; i < n; i++)                                         \
            to[i] = (value);                                                   \
    }

LOOP(widen_bfloat16, float, uint16_t, from_bfloat16(from[i]))
LOOP(add_bfloat16, float, uint16_t, to[i] + from_bfloat16(from[i]))
LOOP(narrow_bfloat16, uint16_t, float, to_bfloat16(from[i]))
LOOP(add_floats, float, float, to[i] + from[i])

#ifdef __F16C__
/* Compilers do not find these by themselves. */
INLINE __m256 load8(const uint16_t *from)
{
    return _mm256_cvtph_ps(_mm_loadu_si128((const void *)from));
}

static void widen_float16(float *to, const uint16_t *from, size_t n)
{
    size_t i = 0;

    for (; i + 8 <= n; i += 8)
        _mm256_storeu_ps(to + i, load8(from + i));
    for (; i < n; i++)
        to[i] = from_float16(from[i]);
}

static void add_float16(float *to, const uint16_t *from, size_t n)
{
    size_t i = 0;

    for (; i + 8 <= n; i += 8)
        _mm256_storeu_ps(
            to + i, _mm256_add_ps(_mm256_loadu_ps(to + i), load8(from + i)));
    for (; i < n; i++)
        to[i] += from_float16(from[i]);
}

static void narrow_float16(uint16_t *to, const float *from, size_t n)
{
    size_t i = 0;

    for (; i + 8 <= n; i += 8)
        _mm_storeu_si128((void *)(to + i),
                         _mm256_cvtps_ph(_mm256_loadu_ps(from + i),
                                         _MM_FROUND_TO_NEAREST_INT));
    for (; i < n; i++)
        to[i] = to_float16(from[i]);
}
#else
LOOP(widen_float16, float, uint16_t, from_float16(from[i]))
LOOP(add_float16, float, uint16_t, to[i] + from_float16(from[i]))
LOOP(narrow_float16, uint16_t, float, to_float16(from[i]))
#endif

static void divide(float *sum, float by, size_t n)
{
    for (size_t i = 0; i < n; i++)
        sum[i] /= by;
}

/* The functions of a format: what is done for a block of the rows from element
 * i on. */
struct format {
    void (*widen)(float *to, const uint16_t *from, size_t n);
    void (*add)(float *to, const uint16_t *from, size_t n);
    void (*narrow)(uint16_t *to, const float *from, size_t n);
};

/*
 * The fixed tree has blocks of 2^k rows, and a last one that may be shorter.
 * So after row k as many pairs of blocks are complete as k has lowest bits that
 * are set; the first is that of row k itself and the one before.
 */
INLINE void sum_block(const struct format *f, const void *const row[],
                      unsigned rows, size_t i, size_t n,
                      float sums[WAITING][BLOCK])
{
    unsigned waiting = 0;

    for (unsigned k = 0; k < rows; k++) {
        const uint16_t *const from = (const uint16_t *)row[k] + i;

        if (k % 2 == 0)
            f->widen(sums[waiting++], from, n);
        else
            f->add(sums[waiting - 1], from, n);
        for (unsigned bits = k >> 1; k % 2 && bits % 2; bits >>= 1) {
            waiting--;
            add_floats(sums[waiting - 1], sums[waiting], n);
        }
    }
    for (; waiting > 1; waiting--)
        add_floats(sums[waiting - 2], sums[waiting - 1], n);
}

INLINE void sum_rows(const struct format *f, uint16_t *dst,
                     const void *const row[], unsigned rows, size_t count,
                     bool divides)
{
    float sums[WAITING][BLOCK];

    for (size_t i = 0; i < count; i += BLOCK) {
        const size_t n = count - i < BLOCK ? count - i : BLOCK;

        sum_block(f, row, rows, i, n, sums);
        if (divides)
            divide(sums[0], (float)rows, n);
        f->narrow(dst + i, sums[0], n);
    }
}

#define ROWS(type)                                                             \
    static const struct format type = {widen_##type, add_##type,               \
                                       narrow_##type};                         \
    static void sum_##type(void *dst, const void *const row[], unsigned n,     \
                           size_t count)                                       \
    {                                                                          \
        sum_rows(&type, dst, row, n, count, false);                            \
    }                                                                          \
    static void average_##type(void *dst, const void *const row[], unsigned n, \
                               size_t count)                                   \
    {                                                                          \
        sum_rows(&type, dst, row, n, count, true);                             \
    }

ROWS(float16)
ROWS(bfloat16)

const rcx_float_table_t CAT(rcx_float_rows_, RCX_KERNELS_ISA) = {
    {widen_float16, narrow_float16, sum_float16, average_float16},
    {widen_bfloat16, narrow_bfloat16, sum_bfloat16, average_bfloat16}};
