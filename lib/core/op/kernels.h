/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Reduction kernels: dst[i] = left[i] op right[i], for every predefined op and
 * type, in one version per instruction set level.
 *
 * All levels give the same bits, NaN payloads and padding excepted; the order
 * contract rests on it. So nothing here is compiled with fused multiply-add or
 * any other relaxation of IEEE arithmetic.
 */
#ifndef RCX_CORE_OP_KERNELS_H
#define RCX_CORE_OP_KERNELS_H

#include <stdbool.h>
#include <stddef.h>

#include "core/op/types.h"

/*
 * dst may equal left or right or both, and overlaps them in no other way. All
 * three are aligned as the element's C type needs.
 */
typedef void (*rcx_kernel_fn_t)(void *dst, const void *left, const void *right,
                                size_t count);

/* The last combine of a reduction over ranks processes, and what follows it,
 * once for each element. right NULL: left is the sum of all. dst as above. */
typedef void (*rcx_finish_fn_t)(void *dst, const void *left, const void *right,
                                size_t count, int ranks);

enum rcx_isa {
    RCX_ISA_BASELINE, /* what the compiler may assume of every machine */
    RCX_ISA_AVX2,
    RCX_ISA_AVX512, /* F, BW, DQ and VL */
    RCX_ISA_COUNT
};

/* "baseline", "avx2", "avx512"; NULL for anything else. */
const char *rcx_isa_name(enum rcx_isa isa);

/* Whether isa is compiled in and the CPU, asked each time, has it. */
bool rcx_isa_available(enum rcx_isa isa);

/* The highest level available. */
enum rcx_isa rcx_isa_best(void);

/*
 * The kernel of op on type for machines that have isa: the one of the highest
 * level up to isa that has one. NULL if op is not defined on type.
 */
rcx_kernel_fn_t rcx_kernel_find(enum rcx_isa isa, rcx_op_t op,
                                rcx_datatype_t type);

/* For ops that do something after the last combine, likewise; else NULL. */
rcx_finish_fn_t rcx_finish_find(enum rcx_isa isa, rcx_op_t op,
                                rcx_datatype_t type);

/* ---- Between kernels.c and kernel_table.c -------------------------------- */

/* By op and canonical type. NULL: see the next lower level. */
typedef rcx_kernel_fn_t rcx_kernel_table_t[RCX_OPS][RCX_TYPE_END];

extern const rcx_kernel_table_t rcx_kernels_baseline;
extern const rcx_kernel_table_t rcx_kernels_avx2;
extern const rcx_kernel_table_t rcx_kernels_avx512;

/* By canonical type, for RCX_AVG; likewise. */
typedef rcx_finish_fn_t rcx_finish_table_t[RCX_TYPE_END];

extern const rcx_finish_table_t rcx_averages_baseline;
extern const rcx_finish_table_t rcx_averages_avx2;
extern const rcx_finish_table_t rcx_averages_avx512;

#endif
