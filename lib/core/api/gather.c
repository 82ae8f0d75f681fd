/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * rcx_gather(), rcx_gatherv() and their nonblocking and persistent forms.
 */
#include "core/api/collective.h"

#define GATHER                                                                 \
    (&(struct rcx_arguments){.coll = RCX_COLL_GATHER,                          \
                             .sendbuf = sendbuf,                               \
                             .recvbuf = recvbuf,                               \
                             .count = count,                                   \
                             .type = datatype,                                 \
                             .op = RCX_NO_OP,                                  \
                             .root = root,                                     \
                             .comm = comm})

rcx_status_t rcx_gather(const void *sendbuf, void *recvbuf, size_t count,
                        rcx_datatype_t datatype, int root, rcx_comm_t *comm)
{
    return rcx_call_blocking(GATHER);
}

rcx_status_t rcx_igather(const void *sendbuf, void *recvbuf, size_t count,
                         rcx_datatype_t datatype, int root, rcx_comm_t *comm,
                         rcx_request_t **request_p)
{
    return rcx_call_request(GATHER, false, request_p);
}

rcx_status_t rcx_gather_init(const void *sendbuf, void *recvbuf, size_t count,
                             rcx_datatype_t datatype, int root,
                             rcx_comm_t *comm, rcx_request_t **request_p)
{
    return rcx_call_request(GATHER, true, request_p);
}

/* ---- A count for each rank ----------------------------------------------- */

#define GATHERV                                                                \
    (&(struct rcx_arguments){.coll = RCX_COLL_GATHER,                          \
                             .sendbuf = sendbuf,                               \
                             .recvbuf = recvbuf,                               \
                             .counts = counts,                                 \
                             .displs = displs,                                 \
                             .irregular = true,                                \
                             .type = datatype,                                 \
                             .op = RCX_NO_OP,                                  \
                             .root = root,                                     \
                             .comm = comm})

rcx_status_t rcx_gatherv(const void *sendbuf, void *recvbuf,
                         const size_t counts[], const size_t displs[],
                         rcx_datatype_t datatype, int root, rcx_comm_t *comm)
{
    return rcx_call_blocking(GATHERV);
}

rcx_status_t rcx_igatherv(const void *sendbuf, void *recvbuf,
                          const size_t counts[], const size_t displs[],
                          rcx_datatype_t datatype, int root, rcx_comm_t *comm,
                          rcx_request_t **request_p)
{
    return rcx_call_request(GATHERV, false, request_p);
}

rcx_status_t rcx_gatherv_init(const void *sendbuf, void *recvbuf,
                              const size_t counts[], const size_t displs[],
                              rcx_datatype_t datatype, int root,
                              rcx_comm_t *comm, rcx_request_t **request_p)
{
    return rcx_call_request(GATHERV, true, request_p);
}
