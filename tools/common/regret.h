/* SPDX-License-Identifier: BSD-3-Clause */
/* Regrets: the time of a choice over the time of the best one, so 1 is best. */
#ifndef RCX_TOOLS_COMMON_REGRET_H
#define RCX_TOOLS_COMMON_REGRET_H

#include <stddef.h>

/* Compare doubles, for qsort(). */
int regret_ascending(const void *a, const void *b);

/* Print "median 1.00, 95 % within 1.15, most 1.30" and a newline. Sorts the
 * regrets; n is at least 1. */
void regret_print(double regrets[], size_t n);

#endif
