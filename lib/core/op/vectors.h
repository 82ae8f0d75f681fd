/* SPDX-License-Identifier: BSD-3-Clause */
/* Vectors of doubles, and of as many floats or integers, for files that the
 * build compiles once for each instruction set level. */
#ifndef RCX_CORE_OP_VECTORS_H
#define RCX_CORE_OP_VECTORS_H

#include <stdint.h>

#ifdef __x86_64__
#include <immintrin.h>
#endif

/* Bytes of a vector. A file may set that of the lowest level. */
#if defined(__AVX512F__)
#define WIDTH 64
#elif defined(__AVX2__)
#define WIDTH 32
#elif defined(BASELINE_WIDTH)
#define WIDTH BASELINE_WIDTH
#else
#define WIDTH 16
#endif
enum { LANES = WIDTH / 8 };

typedef double doubles_t __attribute__((vector_size(WIDTH)));
typedef float floats_t __attribute__((vector_size(WIDTH / 2)));
typedef int64_t ints_t __attribute__((vector_size(WIDTH)));
typedef uint64_t bits_t __attribute__((vector_size(WIDTH)));
/* In a user's memory, of any alignment. */
typedef double user_doubles_t
    __attribute__((vector_size(WIDTH), aligned(8), may_alias));
typedef float user_floats_t
    __attribute__((vector_size(WIDTH / 2), aligned(4), may_alias));

#define INLINE static inline __attribute__((always_inline))

#endif
