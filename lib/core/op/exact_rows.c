/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Exact sums of rows (exact_rows.h): elements that the kernels leave, by
 * accumulators, and the choice of kernels for this machine.
 */
#include "core/op/exact_rows.h"

#include <string.h>

#include "core/op/exact.h"
#include "core/op/exact_term.h"

/* The formats of sums without products, with 64 bits below the smallest number
 * for what a division leaves. */
enum { FRACTION = 64, FLOAT_WORDS = 6, DOUBLE_WORDS = 34 };
static const struct rcx_exact_format formats[2] = {
    {.words = FLOAT_WORDS, .unit = RCX_FLOAT_LEAST - FRACTION},
    {.words = DOUBLE_WORDS, .unit = RCX_DOUBLE_LEAST - FRACTION}};

_Static_assert(64 * FLOAT_WORDS >= FRACTION + 149 + 128 + 6 + 5 &&
                   64 * DOUBLE_WORDS >= FRACTION + 1074 + 1024 + 6 + 5,
               "sums of all rows, a sign and flags fit");

static void add_element(const struct rcx_exact_rows *r, size_t i,
                        const struct rcx_exact_format *f, uint64_t *acc)
{
    memset(acc, 0, (size_t)f->words * sizeof *acc);
    for (unsigned k = 0; k < r->n; k++) {
        const struct rcx_exact_term t =
            r->are_doubles
                ? rcx_exact_term_double(((const double *)r->row[k])[i])
                : rcx_exact_term_float(((const float *)r->row[k])[i]);

        rcx_exact_add_term(acc, f, &t);
    }
    if (r->divides)
        rcx_exact_divide(acc, f, r->n);
}

void rcx_exact_rows_slowly(const struct rcx_exact_rows *r, void *dst,
                           size_t first, size_t count)
{
    const struct rcx_exact_format *const f = &formats[r->are_doubles];
    uint64_t acc[DOUBLE_WORDS];

    for (size_t i = first; i < first + count; i++) {
        add_element(r, i, f, acc);
        if (r->are_doubles)
            ((double *)dst)[i] = rcx_exact_to_double(acc, f);
        else
            ((float *)dst)[i] = rcx_exact_to_float(acc, f);
    }
}

static const rcx_exact_rows_table_t *table_of(enum rcx_isa isa)
{
    switch (isa) {
#ifdef RCX_HAVE_AVX512
    case RCX_ISA_AVX512: return &rcx_exact_rows_avx512;
#endif
#ifdef RCX_HAVE_AVX2
    case RCX_ISA_AVX2:
        return __builtin_cpu_supports("fma") ? &rcx_exact_rows_avx2
                                             : &rcx_exact_rows_baseline;
#endif
    default: return &rcx_exact_rows_baseline;
    }
}

rcx_exact_rows_fn_t rcx_exact_rows_find(enum rcx_isa isa, rcx_op_t op,
                                        rcx_datatype_t type)
{
    const bool is_double = rcx_type_canonical(type) == RCX_FLOAT64;

    if ((op != RCX_SUM_EXACT && op != RCX_AVG_EXACT) ||
        (!is_double && rcx_type_canonical(type) != RCX_FLOAT32))
        return NULL;
    return (*table_of(isa))[is_double][op == RCX_AVG_EXACT];
}
