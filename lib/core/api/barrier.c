/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * rcx_barrier() and its nonblocking and persistent forms.
 */
#include "core/api/collective.h"

/* Type and op are those of RCX's own barriers. */
#define BARRIER                                                                \
    (&(struct rcx_arguments){.coll = RCX_COLL_BARRIER,                         \
                             .type = RCX_BYTE,                                 \
                             .op = RCX_BOR,                                    \
                             .comm = comm})

rcx_status_t rcx_barrier(rcx_comm_t *comm)
{
    return rcx_call_blocking(BARRIER);
}

rcx_status_t rcx_ibarrier(rcx_comm_t *comm, rcx_request_t **request_p)
{
    return rcx_call_request(BARRIER, false, request_p);
}

rcx_status_t rcx_barrier_init(rcx_comm_t *comm, rcx_request_t **request_p)
{
    return rcx_call_request(BARRIER, true, request_p);
}
