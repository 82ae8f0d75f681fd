/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Chooses the kernels of sums in float (float_rows.h) for this machine.
 */
#include "core/op/float_rows.h"

static const rcx_float_table_t *table_of(enum rcx_isa isa)
{
    switch (isa) {
#ifdef RCX_HAVE_AVX512
    case RCX_ISA_AVX512: return &rcx_float_rows_avx512;
#endif
#ifdef RCX_HAVE_AVX2
    case RCX_ISA_AVX2: return &rcx_float_rows_avx2;
#endif
    default: return &rcx_float_rows_baseline;
    }
}

const struct rcx_float_kernels *rcx_float_kernels(enum rcx_isa isa,
                                                  rcx_datatype_t type)
{
    return &(*table_of(isa))[type == RCX_BFLOAT16];
}

rcx_exact_rows_fn_t rcx_float_rows_find(enum rcx_isa isa, rcx_op_t op,
                                        rcx_datatype_t type)
{
    if ((op != RCX_SUM_FLOAT && op != RCX_AVG_FLOAT) ||
        (type != RCX_FLOAT16 && type != RCX_BFLOAT16))
        return NULL;
    return op == RCX_SUM_FLOAT ? rcx_float_kernels(isa, type)->sum
                               : rcx_float_kernels(isa, type)->average;
}
