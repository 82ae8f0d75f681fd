/* SPDX-License-Identifier: BSD-3-Clause */
/* Calls of every function of rcx.h in a forked child (need 27). */
#ifndef RCX_TESTS_JOB_FORK_CALLS_H
#define RCX_TESTS_JOB_FORK_CALLS_H

#include "rcx/rcx.h"

/* Objects of the parent, all of them in use. */
struct fork_handles {
    rcx_context_t *context;
    rcx_comm_t *world, *comm;
    rcx_request_t *request;    /* on comm */
    rcx_request_t *persistent; /* on comm, not active */
    rcx_op_t op;
    rcx_datatype_t type;
    void *memory; /* from rcx_mem_alloc() */
};

/* Call all functions in a child. Ends the process if a function does not do
 * what rcx.h documents, or hangs. */
void fork_calls_check(const struct fork_handles *handles);

/* Print the names of the functions that fork_calls_check() calls, one a
 * line. */
void fork_calls_list(void);

#endif
