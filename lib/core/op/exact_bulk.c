/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Addition of many terms to an exact accumulator. Blocks whose numbers lie
 * close to each other go through folds in vectors (exact_fold.h). Others, and
 * infinities, NaN and very small or large numbers, are added to limbs one by
 * one, by integer operations.
 */
#include "core/op/exact_bulk.h"

#include <limits.h>

#include "core/op/exact_term.h"

#ifdef __x86_64__
#include <immintrin.h>
#endif

enum {
    FEW = 32,     /* fewer terms are added to the accumulator itself */
    SAMPLES = 16, /* of the first block, from which top is guessed */
    ROOM = 10,    /* bits of top above the guess */
    PAUSE = 8     /* blocks without folds after one that no folds suit */
};

static const size_t bytes_of[RCX_EXACT_KINDS] = {
    [RCX_EXACT_SUM32] = sizeof(float),
    [RCX_EXACT_SUM64] = sizeof(double),
    [RCX_EXACT_PRODUCT32] = sizeof(float),
    [RCX_EXACT_PRODUCT64] = sizeof(double)};

static bool is_product(enum rcx_exact_kind kind)
{
    return kind == RCX_EXACT_PRODUCT32 || kind == RCX_EXACT_PRODUCT64;
}

/* ---- Choice of vectors --------------------------------------------------- */

enum rcx_isa rcx_exact_isa(void)
{
#ifdef RCX_HAVE_AVX512
    if (__builtin_cpu_supports("avx512f") &&
        __builtin_cpu_supports("avx512bw") &&
        __builtin_cpu_supports("avx512dq") &&
        __builtin_cpu_supports("avx512vl"))
        return RCX_ISA_AVX512;
#endif
#ifdef RCX_HAVE_AVX2
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
        return RCX_ISA_AVX2;
#endif
    return RCX_ISA_BASELINE;
}

static const rcx_exact_fold_fn_t *folds_of(enum rcx_isa isa,
                                           enum rcx_exact_kind kind)
{
    switch (isa) {
#ifdef RCX_HAVE_AVX512
    case RCX_ISA_AVX512: return rcx_exact_folds_avx512[kind];
#endif
#ifdef RCX_HAVE_AVX2
    case RCX_ISA_AVX2: return rcx_exact_folds_avx2[kind];
#endif
    default: return rcx_exact_folds_baseline[kind];
    }
}

/* ---- Floating-point environment ------------------------------------------ */

/*
 * Folds need round to nearest, no flushing of denormal numbers, and no traps.
 * On x86 they get that, and the host's control word with its flags comes back.
 * Elsewhere they are not used if the environment is another one.
 */
#ifdef __x86_64__

enum { DEFAULT_MXCSR = 0x1f80 };

bool rcx_exact_env_enter(unsigned *saved_p)
{
    *saved_p = _mm_getcsr();
    _mm_setcsr(DEFAULT_MXCSR);
    return true;
}

void rcx_exact_env_leave(unsigned saved)
{
    _mm_setcsr(saved);
}

#else

bool rcx_exact_env_enter(unsigned *saved_p)
{
    volatile double one = 1, half_ulp = 0x1p-53, more = 0x1.8p-53;
    volatile double normal = 0x1p-1022, denormal = 0x1p-1023;
    volatile double flushed = normal * 0.5;
    uint64_t bits;

    *saved_p = 0;
    memcpy(&bits, (const void *)&flushed, sizeof bits);
    return one + half_ulp == 1 && -one - half_ulp == -1 && one + more != 1 &&
           bits != 0 && denormal + denormal == normal;
}

void rcx_exact_env_leave(unsigned saved)
{
    (void)saved;
}

#endif

/* ---- Blocks -------------------------------------------------------------- */

/* A sum in the making. top and folds suit the blocks before. */
struct bulk {
    struct rcx_exact_limbs limbs;
    enum rcx_exact_kind kind;
    const rcx_exact_fold_fn_t *fold; /* by number of folds - 1 */
    int top;                         /* numbers are below 2^top */
    int folds;                       /* 0: none may be used */
    int pause;                       /* blocks to come without folds */
};

/* The least number of folds of the kind; 0 if this machine has none. */
static int least_folds(const rcx_exact_fold_fn_t *fold)
{
    for (int folds = 1; folds <= RCX_FOLDS; folds++)
        if (fold[folds - 1])
            return folds;
    return 0;
}

/* The exponent field, of a float as of the equal double. */
static int float_field(const char *at)
{
    uint32_t bits;
    int field;

    memcpy(&bits, at, sizeof bits);
    field = (int)(bits >> 23 & 0xff);
    return field + 896 + (field == 0);
}

static int double_field(const char *at)
{
    uint64_t bits;

    memcpy(&bits, at, sizeof bits);
    return (int)(bits >> 52 & 0x7ff);
}

/* An exponent that every step-th number or product is below, unless one is not
 * finite. */
static int top_of(enum rcx_exact_kind kind, const char *x, const char *y,
                  size_t n, size_t step)
{
    int (*const field)(const char *at) =
        bytes_of[kind] == sizeof(float) ? float_field : double_field;
    const size_t bytes = bytes_of[kind];
    int top = RCX_FOLD_TOP_MIN;

    for (size_t i = 0; i < n * bytes; i += step * bytes) {
        const int own =
            field(x + i) - 1022 + (is_product(kind) ? field(y + i) - 1022 : 0);

        top = own > top ? own : top;
    }
    return top;
}

/* Add what folds have found. Returns whether all of it is 0. */
static bool add_sums(struct bulk *b, const int64_t sums[])
{
    bool is_zero = true;

    rcx_exact_limbs_reserve(&b->limbs, (unsigned)b->folds);
    for (int k = 0; k < b->folds; k++)
        if (sums[k] != 0) {
            rcx_exact_limbs_add(&b->limbs, sums[k],
                                b->top - RCX_FOLD_BITS * (k + 1));
            is_zero = false;
        }
    return is_zero;
}

/* Try folds, with a top and a number of folds that suit this block if those of
 * the last one do not. */
static bool fold_block(struct bulk *b, const char *x, const char *y, size_t n,
                       bool *is_zero_p)
{
    int64_t sums[RCX_FOLDS];
    int top = INT_MIN; /* of this block, when it is known */

    for (;;) {
        const unsigned wrong = b->fold[b->folds - 1](x, y, n, b->top, sums);

        if (!wrong)
            break;
        if (top == INT_MIN) {
            top = top_of(b->kind, x, y, n, 1);
            if (top > RCX_FOLD_TOP_MAX)
                return false;
            if (wrong & RCX_FOLD_BEYOND || top + 2 < b->top) {
                b->top = top + 1; /* some room for the next block */
                continue;
            }
        }
        if (b->folds == RCX_FOLDS || !b->fold[b->folds])
            return false;
        b->folds++;
    }
    *is_zero_p = add_sums(b, sums);
    return true;
}

/* After a block that no folds suit, a few are not tried. */
static bool try_folds(struct bulk *b, const char *x, const char *y, size_t n,
                      bool *is_zero_p)
{
    if (b->folds == 0)
        return false;
    if (b->pause > 0) {
        b->pause--;
        return false;
    }
    if (fold_block(b, x, y, n, is_zero_p))
        return true;
    b->pause = PAUSE;
    return false;
}

static inline struct rcx_exact_term term_at(enum rcx_exact_kind kind,
                                            const char *x, const char *y)
{
    float f, g;
    double d, e;

    switch (kind) {
    case RCX_EXACT_SUM32:
        memcpy(&f, x, sizeof f);
        return rcx_exact_term_float(f);
    case RCX_EXACT_SUM64:
        memcpy(&d, x, sizeof d);
        return rcx_exact_term_double(d);
    case RCX_EXACT_PRODUCT32:
        memcpy(&f, x, sizeof f);
        memcpy(&g, y, sizeof g);
        return rcx_exact_term_product(rcx_exact_term_float(f),
                                      rcx_exact_term_float(g));
    default:
        memcpy(&d, x, sizeof d);
        memcpy(&e, y, sizeof e);
        return rcx_exact_term_product(rcx_exact_term_double(d),
                                      rcx_exact_term_double(e));
    }
}

/* A loop for each kind, so that none decides the kind of a term. */
static inline __attribute__((always_inline)) void
add_terms(struct rcx_exact_limbs *l, enum rcx_exact_kind kind, const char *x,
          const char *y, size_t n)
{
    const size_t bytes = bytes_of[kind];

    for (size_t i = 0; i < n * bytes; i += bytes) {
        const struct rcx_exact_term t = term_at(kind, x + i, y + i);
        const unsigned bit = (unsigned)(t.exponent - l->format->unit);

        l->flags |= t.flags;
        if (t.flags & RCX_EXACT_SPECIAL)
            continue;
        rcx_exact_limbs_add_bits(l, t.low, bit, -t.negative);
        if (kind == RCX_EXACT_PRODUCT64)
            rcx_exact_limbs_add_bits(l, t.high, bit + 53, -t.negative);
    }
}

/* Add terms one by one. */
static void add_slowly(struct bulk *b, const char *x, const char *y, size_t n)
{
    enum { PART = RCX_EXACT_WAITING / 2 };
    const size_t bytes = bytes_of[b->kind];

    for (size_t done = 0; done < n; done += PART) {
        const size_t count = n - done < PART ? n - done : PART;
        const char *const a = x + done * bytes;
        const char *const c = is_product(b->kind) ? y + done * bytes : a;

        rcx_exact_limbs_reserve(&b->limbs, 2 * PART);
        switch (b->kind) {
        case RCX_EXACT_SUM32:
            add_terms(&b->limbs, RCX_EXACT_SUM32, a, c, count);
            break;
        case RCX_EXACT_SUM64:
            add_terms(&b->limbs, RCX_EXACT_SUM64, a, c, count);
            break;
        case RCX_EXACT_PRODUCT32:
            add_terms(&b->limbs, RCX_EXACT_PRODUCT32, a, c, count);
            break;
        default: add_terms(&b->limbs, RCX_EXACT_PRODUCT64, a, c, count); break;
        }
    }
}

/* Add a block. A sum of zeros may be one of -0 only, which terms tell. */
static void add_block(struct bulk *b, const char *x, const char *y, size_t n)
{
    const size_t bytes = bytes_of[b->kind];
    bool is_zero = false;

    if (!try_folds(b, x, y, n, &is_zero)) {
        add_slowly(b, x, y, n);
        return;
    }
    b->limbs.flags |= RCX_EXACT_TERM | (is_zero ? 0 : RCX_EXACT_NUMBER);
    for (size_t i = 0; i < n && !(b->limbs.flags & RCX_EXACT_NUMBER); i++)
        b->limbs.flags |= term_at(b->kind, x + i * bytes, y + i * bytes).flags;
}

/* Guess what suits the first block. */
static void start_folds(struct bulk *b, const char *x, const char *y, size_t n)
{
    const size_t first = n < RCX_FOLD_BLOCK ? n : RCX_FOLD_BLOCK;
    const size_t step = first < SAMPLES ? 1 : first / SAMPLES;
    const int top = top_of(b->kind, x, y, first, step) + ROOM;

    b->top = top < RCX_FOLD_TOP_MAX ? top : RCX_FOLD_TOP_MAX;
    b->folds = least_folds(b->fold);
}

static void add_few(uint64_t *acc, const struct rcx_exact_format *f,
                    enum rcx_exact_kind kind, const char *x, const char *y,
                    size_t n)
{
    const size_t bytes = bytes_of[kind];

    for (size_t i = 0; i < n * bytes; i += bytes) {
        const struct rcx_exact_term t = term_at(kind, x + i, y + i);

        rcx_exact_add_term(acc, f, &t);
    }
}

void rcx_exact_add_many(uint64_t *acc, const struct rcx_exact_format *f,
                        enum rcx_exact_kind kind, const void *x, const void *y,
                        size_t n, enum rcx_isa isa)
{
    const size_t bytes = bytes_of[kind];
    const char *const a = x, *const c = is_product(kind) ? y : x;
    struct bulk b; /* limbs are set below, as many as the format has */
    unsigned saved;

    if (n < FEW) {
        add_few(acc, f, kind, a, c, n);
        return;
    }
    rcx_exact_limbs_open(&b.limbs, f);
    b.kind = kind;
    b.fold = folds_of(isa, kind);
    b.top = RCX_FOLD_TOP_MIN;
    b.folds = b.pause = 0;
    if (rcx_exact_env_enter(&saved))
        start_folds(&b, a, c, n);
    for (size_t i = 0; i < n; i += RCX_FOLD_BLOCK)
        add_block(&b, a + i * bytes, c + i * bytes,
                  n - i < RCX_FOLD_BLOCK ? n - i : RCX_FOLD_BLOCK);
    rcx_exact_env_leave(saved);
    rcx_exact_limbs_close(&b.limbs, acc);
}
