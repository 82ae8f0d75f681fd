/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * rcx_reduce_scatter(), rcx_reduce_scatter_block() and their nonblocking and
 * persistent forms.
 */
#include "core/api/collective.h"

#define REDUCE_SCATTER                                                         \
    (&(struct rcx_arguments){.coll = RCX_COLL_REDUCE_SCATTER,                  \
                             .sendbuf = sendbuf,                               \
                             .recvbuf = recvbuf,                               \
                             .counts = recvcounts,                             \
                             .irregular = true,                                \
                             .type = datatype,                                 \
                             .op = op,                                         \
                             .comm = comm})

rcx_status_t rcx_reduce_scatter(const void *sendbuf, void *recvbuf,
                                const size_t recvcounts[],
                                rcx_datatype_t datatype, rcx_op_t op,
                                rcx_comm_t *comm)
{
    return rcx_call_blocking(REDUCE_SCATTER);
}

rcx_status_t rcx_ireduce_scatter(const void *sendbuf, void *recvbuf,
                                 const size_t recvcounts[],
                                 rcx_datatype_t datatype, rcx_op_t op,
                                 rcx_comm_t *comm, rcx_request_t **request_p)
{
    return rcx_call_request(REDUCE_SCATTER, false, request_p);
}

rcx_status_t rcx_reduce_scatter_init(const void *sendbuf, void *recvbuf,
                                     const size_t recvcounts[],
                                     rcx_datatype_t datatype, rcx_op_t op,
                                     rcx_comm_t *comm,
                                     rcx_request_t **request_p)
{
    return rcx_call_request(REDUCE_SCATTER, true, request_p);
}

/* ---- Equal blocks -------------------------------------------------------- */

#define REDUCE_SCATTER_BLOCK                                                   \
    (&(struct rcx_arguments){.coll = RCX_COLL_REDUCE_SCATTER,                  \
                             .sendbuf = sendbuf,                               \
                             .recvbuf = recvbuf,                               \
                             .count = recvcount,                               \
                             .type = datatype,                                 \
                             .op = op,                                         \
                             .comm = comm})

rcx_status_t rcx_reduce_scatter_block(const void *sendbuf, void *recvbuf,
                                      size_t recvcount, rcx_datatype_t datatype,
                                      rcx_op_t op, rcx_comm_t *comm)
{
    return rcx_call_blocking(REDUCE_SCATTER_BLOCK);
}

rcx_status_t rcx_ireduce_scatter_block(const void *sendbuf, void *recvbuf,
                                       size_t recvcount,
                                       rcx_datatype_t datatype, rcx_op_t op,
                                       rcx_comm_t *comm,
                                       rcx_request_t **request_p)
{
    return rcx_call_request(REDUCE_SCATTER_BLOCK, false, request_p);
}

rcx_status_t rcx_reduce_scatter_block_init(const void *sendbuf, void *recvbuf,
                                           size_t recvcount,
                                           rcx_datatype_t datatype, rcx_op_t op,
                                           rcx_comm_t *comm,
                                           rcx_request_t **request_p)
{
    return rcx_call_request(REDUCE_SCATTER_BLOCK, true, request_p);
}
