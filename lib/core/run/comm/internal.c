/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Blocking collectives that RCX runs for itself.
 */
#include "core/run/comm/internal.h"

#include "core/run/fault/failure.h"
#include "core/run/wait/blocking.h"

rcx_status_t rcx_internal_run(struct rcx_comm *comm,
                              const struct rcx_call *call, const void *in,
                              void *out)
{
    struct rcx_program *program;
    rcx_status_t status =
        !rcx_comm_is_failed(comm) ? RCX_OK : rcx_comm_refuse(comm);

    if (status == RCX_OK)
        status = rcx_program_get(comm, call, &program);
    if (status != RCX_OK)
        return status;
    status = rcx_request_run(comm, program, in, out, NULL);
    rcx_program_unpin(comm->cache, program);
    return status;
}

rcx_status_t rcx_internal_barrier(struct rcx_comm *comm)
{
    const struct rcx_call call = {.coll = RCX_COLL_BARRIER,
                                  .type = RCX_BYTE,
                                  .op = RCX_BOR,
                                  .role = RCX_CALL_OWN};

    return rcx_internal_run(comm, &call, NULL, NULL);
}
