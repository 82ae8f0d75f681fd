/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * rcx_alltoall() and its nonblocking and persistent forms.
 */
#include "core/api/collective.h"

#define ALLTOALL                                                               \
    (&(struct rcx_arguments){.coll = RCX_COLL_ALLTOALL,                        \
                             .sendbuf = sendbuf,                               \
                             .recvbuf = recvbuf,                               \
                             .count = count,                                   \
                             .type = datatype,                                 \
                             .op = RCX_NO_OP,                                  \
                             .comm = comm})

rcx_status_t rcx_alltoall(const void *sendbuf, void *recvbuf, size_t count,
                          rcx_datatype_t datatype, rcx_comm_t *comm)
{
    return rcx_call_blocking(ALLTOALL);
}

rcx_status_t rcx_ialltoall(const void *sendbuf, void *recvbuf, size_t count,
                           rcx_datatype_t datatype, rcx_comm_t *comm,
                           rcx_request_t **request_p)
{
    return rcx_call_request(ALLTOALL, false, request_p);
}

rcx_status_t rcx_alltoall_init(const void *sendbuf, void *recvbuf, size_t count,
                               rcx_datatype_t datatype, rcx_comm_t *comm,
                               rcx_request_t **request_p)
{
    return rcx_call_request(ALLTOALL, true, request_p);
}
