/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Exact sums of blocks of numbers that lie close to each other, by vectors.
 *
 * A fold splits each number at a power of two, u: adding and subtracting S =
 * 1.5 * 2^52 u rounds it to a multiple of u, and the rest is exact. S plus a
 * number has the bits of S plus the multiple as an integer, so multiples are
 * summed as integers of 64 bits. The next fold splits the rest at 2^-51 u. What
 * the last fold leaves must be 0.
 *
 * This holds for round to nearest, without flushing of denormal numbers: see
 * rcx_exact_env_enter(). Compiled once for each instruction set level, without
 * contraction.
 */
#ifndef RCX_CORE_OP_EXACT_FOLD_H
#define RCX_CORE_OP_EXACT_FOLD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/op/kernels.h"

enum rcx_exact_kind {
    RCX_EXACT_SUM32,     /* floats */
    RCX_EXACT_SUM64,     /* doubles */
    RCX_EXACT_PRODUCT32, /* products of floats, which are doubles */
    RCX_EXACT_PRODUCT64, /* products of doubles, as two doubles each */
    RCX_EXACT_KINDS
};

enum {
    RCX_FOLDS = 4,      /* the most */
    RCX_FOLD_BITS = 51, /* of a number, that a fold takes */
    /* The longest block: a sum of that many multiples fits 64 bits. */
    RCX_FOLD_BLOCK = 2048,
    /* Limits of top: S is finite, and no rest of a normal number is denormal.
     */
    RCX_FOLD_TOP_MIN = -750,
    RCX_FOLD_TOP_MAX = 960
};

/* What a fold found; 0: the sums are exact. */
enum {
    RCX_FOLD_BEYOND = 1, /* a number is 2^top or above, or not finite */
    RCX_FOLD_REST = 2    /* bits are left below the last fold, or underflow */
};

/*
 * Split n numbers at 2^(top - 51), 2^(top - 102), ... and store the sums of the
 * multiples, one for each fold: sums[0] * 2^(top - 51) + ... is the exact sum.
 * y: the second factors of products, else not used.
 */
typedef unsigned (*rcx_exact_fold_fn_t)(const void *x, const void *y, size_t n,
                                        int top, int64_t sums[RCX_FOLDS]);

/* By kind and number of folds - 1; NULL: there is none. */
typedef rcx_exact_fold_fn_t rcx_exact_fold_table_t[RCX_EXACT_KINDS][RCX_FOLDS];

extern const rcx_exact_fold_table_t rcx_exact_folds_baseline;
extern const rcx_exact_fold_table_t rcx_exact_folds_avx2; /* and FMA */
extern const rcx_exact_fold_table_t rcx_exact_folds_avx512;

#endif
