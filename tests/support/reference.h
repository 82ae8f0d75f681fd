/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The predefined ops from their definitions, one element at a time, without the
 * library: the kernels are compared with them. Types are canonical, and ops are
 * legal on them.
 */
#ifndef RCX_TESTS_SUPPORT_REFERENCE_H
#define RCX_TESTS_SUPPORT_REFERENCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "rcx/rcx.h"

enum {
    REFERENCE_SAMPLES = 64, /* the most that reference_samples() writes */
    REFERENCE_BYTES = 536   /* the largest size of an element */
};

size_t reference_bytes(rcx_datatype_t type);
size_t reference_alignment(rcx_datatype_t type);

/* *dst = *left op *right; all may be the same element. AVG,
 * SUM_EXACT and SUM_FLOAT combine as SUM. */
void reference_combine(void *dst, const void *left, const void *right,
                       rcx_op_t op, rcx_datatype_t type);

/* *dst /= ranks, for floating and complex types. */
void reference_average(void *dst, rcx_datatype_t type, int ranks);

/* Whether the bits are the same, NaN payloads and padding excepted. */
bool reference_equal(const void *a, const void *b, rcx_datatype_t type);

/* Write elements with special and boundary values; returns how many. */
size_t reference_samples(void *dst, rcx_datatype_t type);

/* For RCX_FLOAT16 and RCX_BFLOAT16: the value of bits, and the bits nearest to
 * a value. */
double reference_decode(uint16_t bits, rcx_datatype_t type);
uint16_t reference_encode(double value, rcx_datatype_t type);

#endif
