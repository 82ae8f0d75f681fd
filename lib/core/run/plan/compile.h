/* SPDX-License-Identifier: BSD-3-Clause */
/* Compiling calls, and executions of them. */
#ifndef RCX_CORE_RUN_PLAN_COMPILE_H
#define RCX_CORE_RUN_PLAN_COMPILE_H

#include "core/run/object/comm.h"

/* Compile call for comm. Does not set what the cache adds. first: the program
 * that it follows, or NULL. Errors are logged. */
rcx_status_t rcx_program_compile(struct rcx_comm *comm,
                                 const struct rcx_call *call,
                                 const struct rcx_program *first,
                                 struct rcx_program **program_p);
void rcx_program_free(struct rcx_heap *heap, struct rcx_program *program);
/* A hash of the counts that ranks agree on; 0: there are none. */
int64_t rcx_program_counts_hash(const struct rcx_program *program, int size);

#endif
