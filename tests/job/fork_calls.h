/* SPDX-License-Identifier: BSD-3-Clause */
/* Every function of rcx.h, as a forked child finds it (need 27). */
#ifndef RCX_TESTS_JOB_FORK_CALLS_H
#define RCX_TESTS_JOB_FORK_CALLS_H

#include "rcx/rcx.h"

/* What the parent has, all of it in use. */
struct fork_handles {
    rcx_context_t *context;
    rcx_comm_t *world, *comm;
    rcx_request_t *request;    /* on comm */
    rcx_request_t *persistent; /* on comm, not active */
    rcx_op_t op;
    rcx_datatype_t type;
    void *memory; /* of rcx_mem_alloc() */
};

/* In a child: call them all, in a process that ends where one does not do what
 * rcx.h says, or hangs. */
void fork_calls_check(const struct fork_handles *handles);

/* Print what that calls, a name a line. */
void fork_calls_list(void);

#endif
