/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * rcx_exscan() and its nonblocking and persistent forms.
 */
#include "core/api/collective.h"

#define EXSCAN                                                                 \
    (&(struct rcx_arguments){.coll = RCX_COLL_EXSCAN,                          \
                             .sendbuf = sendbuf,                               \
                             .recvbuf = recvbuf,                               \
                             .count = count,                                   \
                             .type = datatype,                                 \
                             .op = op,                                         \
                             .comm = comm})

rcx_status_t rcx_exscan(const void *sendbuf, void *recvbuf, size_t count,
                        rcx_datatype_t datatype, rcx_op_t op, rcx_comm_t *comm)
{
    return rcx_call_blocking(EXSCAN);
}

rcx_status_t rcx_iexscan(const void *sendbuf, void *recvbuf, size_t count,
                         rcx_datatype_t datatype, rcx_op_t op, rcx_comm_t *comm,
                         rcx_request_t **request_p)
{
    return rcx_call_request(EXSCAN, false, request_p);
}

rcx_status_t rcx_exscan_init(const void *sendbuf, void *recvbuf, size_t count,
                             rcx_datatype_t datatype, rcx_op_t op,
                             rcx_comm_t *comm, rcx_request_t **request_p)
{
    return rcx_call_request(EXSCAN, true, request_p);
}
