/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * rcx_scan() and its nonblocking and persistent forms.
 */
#include "core/api/collective.h"

#define SCAN                                                                   \
    (&(struct rcx_arguments){.coll = RCX_COLL_SCAN,                            \
                             .sendbuf = sendbuf,                               \
                             .recvbuf = recvbuf,                               \
                             .count = count,                                   \
                             .type = datatype,                                 \
                             .op = op,                                         \
                             .comm = comm})

rcx_status_t rcx_scan(const void *sendbuf, void *recvbuf, size_t count,
                      rcx_datatype_t datatype, rcx_op_t op, rcx_comm_t *comm)
{
    return rcx_call_blocking(SCAN);
}

rcx_status_t rcx_iscan(const void *sendbuf, void *recvbuf, size_t count,
                       rcx_datatype_t datatype, rcx_op_t op, rcx_comm_t *comm,
                       rcx_request_t **request_p)
{
    return rcx_call_request(SCAN, false, request_p);
}

rcx_status_t rcx_scan_init(const void *sendbuf, void *recvbuf, size_t count,
                           rcx_datatype_t datatype, rcx_op_t op,
                           rcx_comm_t *comm, rcx_request_t **request_p)
{
    return rcx_call_request(SCAN, true, request_p);
}
