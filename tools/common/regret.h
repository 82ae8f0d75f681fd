/* SPDX-License-Identifier: BSD-3-Clause */
/* How far choices are from the best: 1 is the best. */
#ifndef RCX_TOOLS_COMMON_REGRET_H
#define RCX_TOOLS_COMMON_REGRET_H

#include <stddef.h>

/* Doubles, for qsort(). */
int regret_ascending(const void *a, const void *b);

/* "median 1.00, 95 % within 1.15, most 1.30", and a line's end; n > 0 of them,
 * which are sorted. */
void regret_print(double regrets[], size_t n);

#endif
