/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * rcx_bcast() and its nonblocking and persistent forms.
 */
#include "core/api/collective.h"

#define BCAST                                                                  \
    (&(struct rcx_arguments){.coll = RCX_COLL_BCAST,                           \
                             .sendbuf = buf,                                   \
                             .recvbuf = buf,                                   \
                             .count = count,                                   \
                             .type = datatype,                                 \
                             .op = RCX_NO_OP,                                  \
                             .root = root,                                     \
                             .comm = comm})

rcx_status_t rcx_bcast(void *buf, size_t count, rcx_datatype_t datatype,
                       int root, rcx_comm_t *comm)
{
    return rcx_call_blocking(BCAST);
}

rcx_status_t rcx_ibcast(void *buf, size_t count, rcx_datatype_t datatype,
                        int root, rcx_comm_t *comm, rcx_request_t **request_p)
{
    return rcx_call_request(BCAST, false, request_p);
}

rcx_status_t rcx_bcast_init(void *buf, size_t count, rcx_datatype_t datatype,
                            int root, rcx_comm_t *comm,
                            rcx_request_t **request_p)
{
    return rcx_call_request(BCAST, true, request_p);
}
