/* SPDX-License-Identifier: BSD-3-Clause */
/* Addition of many terms to an exact accumulator (exact.h). */
#ifndef RCX_CORE_OP_EXACT_BULK_H
#define RCX_CORE_OP_EXACT_BULK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/op/exact.h"
#include "core/op/exact_fold.h"

/*
 * Add n numbers, or products with y, to acc of format f, with the vectors of
 * machines that have isa. The floating-point environment may be any, and is
 * left as it was.
 */
void rcx_exact_add_many(uint64_t *acc, const struct rcx_exact_format *f,
                        enum rcx_exact_kind kind, const void *x, const void *y,
                        size_t n, enum rcx_isa isa);

/* The highest level of this machine: asks the CPU each time, which is cheap. */
enum rcx_isa rcx_exact_isa(void);

/* Enter the default floating-point environment, and return to the caller's. On
 * x86 its flags come back, too. False: elsewhere it is another one. */
bool rcx_exact_env_enter(unsigned *saved_p);
void rcx_exact_env_leave(unsigned saved);

#endif
