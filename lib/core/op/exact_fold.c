/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Exact sums of blocks by folds (exact_fold.h), in vectors of one instruction
 * set level. The build compiles this file once for each level, as kernels.c.
 * Everything but the table is static.
 *
 * Products of doubles need fused multiply-add: p = x y rounded, and the exact
 * rest x y - p. A level without it has no such kernel.
 */
#include "core/op/exact_fold.h"

#include "core/op/isa_level.h"
#include "core/op/vectors.h"

#include <float.h>
#include <string.h>

/* A block in the making: S of each fold, sums, and what is wrong. */
struct folding {
    doubles_t shift[RCX_FOLDS];
    bits_t sums[RCX_FOLDS];
    bits_t beyond, rest;
};

static inline doubles_t load_doubles(const char *at)
{
    return *(const user_doubles_t *)at;
}

static inline doubles_t load_floats(const char *at)
{
    return __builtin_convertvector(*(const user_floats_t *)at, doubles_t);
}

/* Take the multiples out of x; returns the rest. */
static inline doubles_t fold(struct folding *f, int k, doubles_t x)
{
    const doubles_t sum = x + f->shift[k];

    f->sums[k] += (bits_t)sum;
    return x - (sum - f->shift[k]);
}

/* The first fold, in which x may be too large. */
static inline doubles_t fold_first(struct folding *f, doubles_t x)
{
    const doubles_t sum = x + f->shift[0];

    f->beyond |= (bits_t)sum ^ (bits_t)f->shift[0];
    f->sums[0] += (bits_t)sum;
    return x - (sum - f->shift[0]);
}

static inline void fold_number(struct folding *f, doubles_t x, int folds)
{
    x = fold_first(f, x);
    for (int k = 1; k < folds; k++)
        x = fold(f, k, x);
    f->rest |= (bits_t)x;
}

#if defined(__AVX512F__)
static inline doubles_t product_rest(doubles_t x, doubles_t y, doubles_t p)
{
    return (doubles_t)_mm512_fmsub_pd((__m512d)x, (__m512d)y, (__m512d)p);
}
#define HAVE_FMA
#elif defined(__FMA__) && WIDTH == 32
static inline doubles_t product_rest(doubles_t x, doubles_t y, doubles_t p)
{
    return (doubles_t)_mm256_fmsub_pd((__m256d)x, (__m256d)y, (__m256d)p);
}
#define HAVE_FMA
#elif defined(__FP_FAST_FMA)
static inline doubles_t product_rest(doubles_t x, doubles_t y, doubles_t p)
{
    doubles_t rest;

    for (int i = 0; i < LANES; i++)
        rest[i] = __builtin_fma(x[i], y[i], -p[i]);
    return rest;
}
#define HAVE_FMA
#endif

#ifdef HAVE_FMA
/* The rest of a product is below 2^-53 of it: the first fold leaves it as it
 * is. A product of numbers that are not 0 must not be 0. */
static inline void fold_product(struct folding *f, doubles_t x, doubles_t y,
                                int folds)
{
    doubles_t p = x * y;
    doubles_t rest = product_rest(x, y, p);

    f->rest |= (bits_t)((p == 0) & (x != 0) & (y != 0));
    p = fold_first(f, p);
    for (int k = 1; k < folds - 1; k++)
        p = fold(f, k, p);
    for (int k = 1; k < folds; k++)
        rest = fold(f, k, rest);
    f->rest |= (bits_t)p | (bits_t)rest;
}
#endif

/* The bits of S at fold k. */
static uint64_t shift_bits(int top, int k)
{
    const int exponent = top - RCX_FOLD_BITS * (k + 1) + 52;

    return (uint64_t)(exponent + 1023) << 52 | (uint64_t)1 << 51;
}

static inline void start(struct folding *f, int top, int folds)
{
    memset(f, 0, sizeof *f);
    for (int k = 0; k < folds; k++)
        f->shift[k] = (doubles_t)((bits_t){0} + shift_bits(top, k));
}

/* vectors: that were folded. In the inner folds of products of doubles, each
 * counts twice. */
static inline unsigned finish(const struct folding *f, int top, int folds,
                              bool twice, size_t vectors, int64_t sums[])
{
    uint64_t beyond = 0, rest = 0;

    for (int i = 0; i < LANES; i++) {
        beyond |= f->beyond[i];
        rest |= f->rest[i];
    }
    for (int k = 0; k < folds; k++) {
        const unsigned times = twice && k > 0 && k < folds - 1 ? 2 : 1;
        uint64_t sum =
            0 - times * (uint64_t)vectors * LANES * shift_bits(top, k);

        for (int i = 0; i < LANES; i++)
            sum += f->sums[k][i];
        memcpy(&sums[k], &sum, sizeof sum);
    }
    /* a change of the exponent; a rest but for the sign of 0 */
    return (beyond >> 52 ? RCX_FOLD_BEYOND : 0) |
           (rest << 1 ? RCX_FOLD_REST : 0);
}

/* The kernel of a kind: bytes of an element, and how a vector is folded. The
 * last vector is filled up with zeros. */
#define FOLD_KERNEL(name, bytes, folds, has_y, twice, take)                    \
    static unsigned name(const void *x, const void *y, size_t n, int top,      \
                         int64_t sums[RCX_FOLDS])                              \
    {                                                                          \
        char last_x[LANES * (bytes)] = {0}, last_y[LANES * (bytes)] = {0};     \
        const size_t left = n % LANES;                                         \
        const char *a = x, *b = y;                                             \
        const char *const end = a + (n - left) * (bytes);                      \
        struct folding f;                                                      \
                                                                               \
        start(&f, top, folds);                                                 \
        for (; a < end; a += LANES * (bytes), b += LANES * (bytes))            \
            take(&f, a, b, folds);                                             \
        if (left) {                                                            \
            memcpy(last_x, a, left *(bytes));                                  \
            memcpy(last_y, has_y ? b : a, left *(bytes));                      \
            take(&f, last_x, last_y, folds);                                   \
        }                                                                      \
        return finish(&f, top, folds, twice, n / LANES + (left > 0), sums);    \
    }

#define TAKE32(f, a, b, folds) fold_number(f, load_floats(a), folds)
#define TAKE64(f, a, b, folds) fold_number(f, load_doubles(a), folds)
#define TAKE_PRODUCT32(f, a, b, folds)                                         \
    fold_number(f, load_floats(a) * load_floats(b), folds)
#define TAKE_PRODUCT64(f, a, b, folds)                                         \
    fold_product(f, load_doubles(a), load_doubles(b), folds)

/* Numbers are doubles, and nothing has more precision. */
#if FLT_EVAL_METHOD == 0
FOLD_KERNEL(sum32_1, 4, 1, false, false, TAKE32)
FOLD_KERNEL(sum32_2, 4, 2, false, false, TAKE32)
FOLD_KERNEL(sum64_2, 8, 2, false, false, TAKE64)
FOLD_KERNEL(sum64_3, 8, 3, false, false, TAKE64)
FOLD_KERNEL(product32_2, 4, 2, true, false, TAKE_PRODUCT32)
FOLD_KERNEL(product32_3, 4, 3, true, false, TAKE_PRODUCT32)
#ifdef HAVE_FMA
FOLD_KERNEL(product64_3, 8, 3, true, true, TAKE_PRODUCT64)
FOLD_KERNEL(product64_4, 8, 4, true, true, TAKE_PRODUCT64)
#endif

const rcx_exact_fold_table_t CAT(rcx_exact_folds_, RCX_KERNELS_ISA) = {
    [RCX_EXACT_SUM32] = {sum32_1, sum32_2},
    [RCX_EXACT_SUM64] = {NULL, sum64_2, sum64_3},
    [RCX_EXACT_PRODUCT32] = {NULL, product32_2, product32_3},
#ifdef HAVE_FMA
    [RCX_EXACT_PRODUCT64] = {NULL, NULL, product64_3, product64_4},
#endif
};
#else
const rcx_exact_fold_table_t CAT(rcx_exact_folds_, RCX_KERNELS_ISA);
#endif
