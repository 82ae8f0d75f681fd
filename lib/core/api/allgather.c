/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * rcx_allgather(), rcx_allgatherv() and their nonblocking and persistent forms.
 */
#include "core/api/collective.h"

#define ALLGATHER                                                              \
    (&(struct rcx_arguments){.coll = RCX_COLL_ALLGATHER,                       \
                             .sendbuf = sendbuf,                               \
                             .recvbuf = recvbuf,                               \
                             .count = count,                                   \
                             .type = datatype,                                 \
                             .op = RCX_NO_OP,                                  \
                             .comm = comm})

rcx_status_t rcx_allgather(const void *sendbuf, void *recvbuf, size_t count,
                           rcx_datatype_t datatype, rcx_comm_t *comm)
{
    return rcx_call_blocking(ALLGATHER);
}

rcx_status_t rcx_iallgather(const void *sendbuf, void *recvbuf, size_t count,
                            rcx_datatype_t datatype, rcx_comm_t *comm,
                            rcx_request_t **request_p)
{
    return rcx_call_request(ALLGATHER, false, request_p);
}

rcx_status_t rcx_allgather_init(const void *sendbuf, void *recvbuf,
                                size_t count, rcx_datatype_t datatype,
                                rcx_comm_t *comm, rcx_request_t **request_p)
{
    return rcx_call_request(ALLGATHER, true, request_p);
}

/* ---- A count for each rank ----------------------------------------------- */

#define ALLGATHERV                                                             \
    (&(struct rcx_arguments){.coll = RCX_COLL_ALLGATHER,                       \
                             .sendbuf = sendbuf,                               \
                             .recvbuf = recvbuf,                               \
                             .counts = counts,                                 \
                             .displs = displs,                                 \
                             .irregular = true,                                \
                             .type = datatype,                                 \
                             .op = RCX_NO_OP,                                  \
                             .comm = comm})

rcx_status_t rcx_allgatherv(const void *sendbuf, void *recvbuf,
                            const size_t counts[], const size_t displs[],
                            rcx_datatype_t datatype, rcx_comm_t *comm)
{
    return rcx_call_blocking(ALLGATHERV);
}

rcx_status_t rcx_iallgatherv(const void *sendbuf, void *recvbuf,
                             const size_t counts[], const size_t displs[],
                             rcx_datatype_t datatype, rcx_comm_t *comm,
                             rcx_request_t **request_p)
{
    return rcx_call_request(ALLGATHERV, false, request_p);
}

rcx_status_t rcx_allgatherv_init(const void *sendbuf, void *recvbuf,
                                 const size_t counts[], const size_t displs[],
                                 rcx_datatype_t datatype, rcx_comm_t *comm,
                                 rcx_request_t **request_p)
{
    return rcx_call_request(ALLGATHERV, true, request_p);
}
