/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * rcx_reduce() and its nonblocking and persistent forms.
 */
#include "core/api/collective.h"

#define REDUCE                                                                 \
    (&(struct rcx_arguments){.coll = RCX_COLL_REDUCE,                          \
                             .sendbuf = sendbuf,                               \
                             .recvbuf = recvbuf,                               \
                             .count = count,                                   \
                             .type = datatype,                                 \
                             .op = op,                                         \
                             .root = root,                                     \
                             .comm = comm})

rcx_status_t rcx_reduce(const void *sendbuf, void *recvbuf, size_t count,
                        rcx_datatype_t datatype, rcx_op_t op, int root,
                        rcx_comm_t *comm)
{
    return rcx_call_blocking(REDUCE);
}

rcx_status_t rcx_ireduce(const void *sendbuf, void *recvbuf, size_t count,
                         rcx_datatype_t datatype, rcx_op_t op, int root,
                         rcx_comm_t *comm, rcx_request_t **request_p)
{
    return rcx_call_request(REDUCE, false, request_p);
}

rcx_status_t rcx_reduce_init(const void *sendbuf, void *recvbuf, size_t count,
                             rcx_datatype_t datatype, rcx_op_t op, int root,
                             rcx_comm_t *comm, rcx_request_t **request_p)
{
    return rcx_call_request(REDUCE, true, request_p);
}
