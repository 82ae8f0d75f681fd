/* SPDX-License-Identifier: BSD-3-Clause */
/* A whole operation: start and wait. */
#ifndef RCX_CORE_RUN_BLOCKING_H
#define RCX_CORE_RUN_BLOCKING_H

#include "core/run/progress.h"
#include "core/run/request.h"

/* Takes over the caller's pin of program. Inlined, since it is what a blocking
 * call does each time. */
__attribute__((always_inline)) static inline rcx_status_t
rcx_request_run(struct rcx_comm *comm, struct rcx_program *program,
                const void *in, void *out)
{
    struct rcx_request r;
    rcx_status_t status;

    r.kind = RCX_REQUEST_INSIDE;
    status = rcx_request_prepare(&r, comm, program, in, out);
    if (status == RCX_OK) {
        rcx_request_launch(&r);
        status = rcx_request_wait(&r);
    }
    rcx_request_let_go(&r);
    return status;
}

#endif
