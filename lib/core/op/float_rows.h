/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Sums and averages of 16-bit floating numbers that are computed in float and
 * rounded once, for RCX_SUM_FLOAT and RCX_AVG_FLOAT: of several vectors, the
 * rows, where one rank has all operands of an element, and conversions where
 * floats are sent.
 */
#ifndef RCX_CORE_OP_FLOAT_ROWS_H
#define RCX_CORE_OP_FLOAT_ROWS_H

#include <stdint.h>

#include "core/op/exact_rows.h"

/* How numbers of one format are converted and summed. */
struct rcx_float_kernels {
    void (*widen)(float *to, const uint16_t *from, size_t count);
    void (*narrow)(uint16_t *to, const float *from, size_t count);
    /* The sum, and the sum divided by the number of rows: up to RCX_EXACT_ROWS
     * rows, in the order of ranks, by the tree of RCX_ORDER_CANONICAL. dst may
     * equal rows. */
    rcx_exact_rows_fn_t sum, average;
};

/* For RCX_FLOAT16 and RCX_BFLOAT16. */
const struct rcx_float_kernels *rcx_float_kernels(enum rcx_isa isa,
                                                  rcx_datatype_t type);

/* For RCX_SUM_FLOAT and RCX_AVG_FLOAT on the same; else NULL. */
rcx_exact_rows_fn_t rcx_float_rows_find(enum rcx_isa isa, rcx_op_t op,
                                        rcx_datatype_t type);

/* ---- Between float_rows.c and float_rows_kernels.c ----------------------- */

/* Indexed by whether the format is bfloat16. */
typedef struct rcx_float_kernels rcx_float_table_t[2];

extern const rcx_float_table_t rcx_float_rows_baseline;
extern const rcx_float_table_t rcx_float_rows_avx2;
extern const rcx_float_table_t rcx_float_rows_avx512;

#endif
