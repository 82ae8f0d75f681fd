/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Exact sums and averages of several vectors, the rows, element by element in
 * one pass: for calls in which one rank has all operands of an element.
 *
 * Rows are added as doubles. Each addition also gives its rounding error,
 * without error (TwoSum; Knuth, The Art of Computer Programming 2, 4.2.2). The
 * sum of the errors is another double. If that sum is exact as well, the two
 * doubles are the sum of all rows, which is rounded once. Elements for which it
 * is not exact, and those that are not finite, go through accumulators.
 */
#ifndef RCX_CORE_OP_EXACT_ROWS_H
#define RCX_CORE_OP_EXACT_ROWS_H

#include <stddef.h>

#include "core/op/kernels.h"

enum { RCX_EXACT_ROWS = 64 }; /* the most */

/*
 * Round the sum of count elements of n >= 2 rows once, or the sum divided by n,
 * to the nearest number, ties to even. dst may equal rows. NaN, infinities, -0
 * and overflow are as of exact sums (exact.h). The floating-point environment
 * may be any, and is left as it was.
 */
typedef void (*rcx_exact_rows_fn_t)(void *dst, const void *const row[],
                                    unsigned n, size_t count);

/* For RCX_SUM_EXACT and RCX_AVG_EXACT on floats and doubles; else NULL. */
rcx_exact_rows_fn_t rcx_exact_rows_find(enum rcx_isa isa, rcx_op_t op,
                                        rcx_datatype_t type);

/* ---- Between exact_rows.c and exact_rows_kernels.c ----------------------- */

/* Of elements of type, of which n rows are summed. */
struct rcx_exact_rows {
    const void *const *row;
    unsigned n;
    bool are_doubles; /* else floats */
    bool divides;     /* by n */
};

/* The same for elements first to first + count - 1, by accumulators. */
void rcx_exact_rows_slowly(const struct rcx_exact_rows *r, void *dst,
                           size_t first, size_t count);

/* Indexed by are_doubles and divides. */
typedef rcx_exact_rows_fn_t rcx_exact_rows_table_t[2][2];

extern const rcx_exact_rows_table_t rcx_exact_rows_baseline;
extern const rcx_exact_rows_table_t rcx_exact_rows_avx2; /* and FMA */
extern const rcx_exact_rows_table_t rcx_exact_rows_avx512;

#endif
