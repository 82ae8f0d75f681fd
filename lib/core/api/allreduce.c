/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * rcx_allreduce() and its nonblocking and persistent forms.
 */
#include "core/api/collective.h"

#define ALLREDUCE                                                              \
    (&(struct rcx_arguments){.coll = RCX_COLL_ALLREDUCE,                       \
                             .sendbuf = sendbuf,                               \
                             .recvbuf = recvbuf,                               \
                             .count = count,                                   \
                             .type = datatype,                                 \
                             .op = op,                                         \
                             .comm = comm})

rcx_status_t rcx_allreduce(const void *sendbuf, void *recvbuf, size_t count,
                           rcx_datatype_t datatype, rcx_op_t op,
                           rcx_comm_t *comm)
{
    return rcx_call_blocking(ALLREDUCE);
}

rcx_status_t rcx_iallreduce(const void *sendbuf, void *recvbuf, size_t count,
                            rcx_datatype_t datatype, rcx_op_t op,
                            rcx_comm_t *comm, rcx_request_t **request_p)
{
    return rcx_call_request(ALLREDUCE, false, request_p);
}

rcx_status_t rcx_allreduce_init(const void *sendbuf, void *recvbuf,
                                size_t count, rcx_datatype_t datatype,
                                rcx_op_t op, rcx_comm_t *comm,
                                rcx_request_t **request_p)
{
    return rcx_call_request(ALLREDUCE, true, request_p);
}

/* ---- Several vectors as one ---------------------------------------------- */

#define ALLREDUCE_MANY                                                         \
    (&(struct rcx_arguments){                                                  \
        .coll = RCX_COLL_ALLREDUCE,                                            \
        .vectors = &(struct rcx_vectors){n, sendbufs, recvbufs, counts},       \
        .type = datatype,                                                      \
        .op = op,                                                              \
        .comm = comm})

rcx_status_t rcx_allreduce_many(size_t n, const void *const sendbufs[],
                                void *const recvbufs[], const size_t counts[],
                                rcx_datatype_t datatype, rcx_op_t op,
                                rcx_comm_t *comm)
{
    return rcx_call_run_merged(ALLREDUCE_MANY);
}

rcx_status_t rcx_iallreduce_many(size_t n, const void *const sendbufs[],
                                 void *const recvbufs[], const size_t counts[],
                                 rcx_datatype_t datatype, rcx_op_t op,
                                 rcx_comm_t *comm, rcx_request_t **request_p)
{
    return rcx_call_request(ALLREDUCE_MANY, false, request_p);
}

rcx_status_t rcx_allreduce_many_init(size_t n, const void *const sendbufs[],
                                     void *const recvbufs[],
                                     const size_t counts[],
                                     rcx_datatype_t datatype, rcx_op_t op,
                                     rcx_comm_t *comm,
                                     rcx_request_t **request_p)
{
    return rcx_call_request(ALLREDUCE_MANY, true, request_p);
}
