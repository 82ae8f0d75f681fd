/* SPDX-License-Identifier: BSD-3-Clause */
/* Sets of cpus as text. */
#ifndef RCX_TOOLS_COMMON_CPUS_H
#define RCX_TOOLS_COMMON_CPUS_H

#include <sched.h>
#include <stddef.h>

/* Print "0-3,8", as the kernel prints a set and rcx_cpus_parse() reads it.
 * Returns text, which ends in "..." if it is too short. */
const char *cpus_print(const cpu_set_t *cpus, char *text, size_t bytes);

#endif
