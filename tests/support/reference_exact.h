/* SPDX-License-Identifier: BSD-3-Clause */
/* A part of reference.c: exact sums, by their bytes. */
#ifndef RCX_TESTS_SUPPORT_REFERENCE_EXACT_H
#define RCX_TESTS_SUPPORT_REFERENCE_EXACT_H

#include <stddef.h>

/* The sum of two exact sums of that many bytes. */
void exact_combine(void *dst, const void *left, const void *right,
                   size_t bytes);

/* Write exact sums with special and boundary values; returns how many. */
size_t exact_samples(char *dst, size_t bytes);

#endif
