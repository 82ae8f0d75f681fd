/* SPDX-License-Identifier: BSD-3-Clause */
/* The public functions of exact sums. They have no errors and need no
 * context; the arithmetic is in core/op/exact.c. */
#include <string.h>

#include "core/op/exact_bulk.h"

void rcx_exact32_zero(rcx_exact32_t *sum)
{
    memset(sum, 0, sizeof *sum);
}

void rcx_exact64_zero(rcx_exact64_t *sum)
{
    memset(sum, 0, sizeof *sum);
}

void rcx_exact32_add(rcx_exact32_t *sum, const float x[], size_t n)
{
    rcx_exact_add_many(sum->words, &rcx_exact_float32, RCX_EXACT_SUM32, x, NULL,
                       n, rcx_exact_isa());
}

void rcx_exact64_add(rcx_exact64_t *sum, const double x[], size_t n)
{
    rcx_exact_add_many(sum->words, &rcx_exact_float64, RCX_EXACT_SUM64, x, NULL,
                       n, rcx_exact_isa());
}

void rcx_exact64_add_product(rcx_exact64_t *sum, const double x[],
                             const double y[], size_t n)
{
    rcx_exact_add_many(sum->words, &rcx_exact_float64, RCX_EXACT_PRODUCT64, x,
                       y, n, rcx_exact_isa());
}

void rcx_exact64_add_product32(rcx_exact64_t *sum, const float x[],
                               const float y[], size_t n)
{
    rcx_exact_add_many(sum->words, &rcx_exact_float64, RCX_EXACT_PRODUCT32, x,
                       y, n, rcx_exact_isa());
}

void rcx_exact32_merge(rcx_exact32_t *sum, const rcx_exact32_t *other)
{
    rcx_exact_sum_float32(sum, sum, other, 1);
}

void rcx_exact64_merge(rcx_exact64_t *sum, const rcx_exact64_t *other)
{
    rcx_exact_sum_float64(sum, sum, other, 1);
}

double rcx_exact32_round(const rcx_exact32_t *sum)
{
    return rcx_exact_to_double(sum->words, &rcx_exact_float32);
}

double rcx_exact64_round(const rcx_exact64_t *sum)
{
    return rcx_exact_to_double(sum->words, &rcx_exact_float64);
}

float rcx_exact32_round_float(const rcx_exact32_t *sum)
{
    return rcx_exact_to_float(sum->words, &rcx_exact_float32);
}

float rcx_exact64_round_float(const rcx_exact64_t *sum)
{
    return rcx_exact_to_float(sum->words, &rcx_exact_float64);
}
