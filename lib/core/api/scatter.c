/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * rcx_scatter(), rcx_scatterv() and their nonblocking and persistent forms.
 */
#include "core/api/collective.h"

#define SCATTER                                                                \
    (&(struct rcx_arguments){.coll = RCX_COLL_SCATTER,                         \
                             .sendbuf = sendbuf,                               \
                             .recvbuf = recvbuf,                               \
                             .count = count,                                   \
                             .type = datatype,                                 \
                             .op = RCX_NO_OP,                                  \
                             .root = root,                                     \
                             .comm = comm})

rcx_status_t rcx_scatter(const void *sendbuf, void *recvbuf, size_t count,
                         rcx_datatype_t datatype, int root, rcx_comm_t *comm)
{
    return rcx_call_blocking(SCATTER);
}

rcx_status_t rcx_iscatter(const void *sendbuf, void *recvbuf, size_t count,
                          rcx_datatype_t datatype, int root, rcx_comm_t *comm,
                          rcx_request_t **request_p)
{
    return rcx_call_request(SCATTER, false, request_p);
}

rcx_status_t rcx_scatter_init(const void *sendbuf, void *recvbuf, size_t count,
                              rcx_datatype_t datatype, int root,
                              rcx_comm_t *comm, rcx_request_t **request_p)
{
    return rcx_call_request(SCATTER, true, request_p);
}

/* ---- A count for each rank ----------------------------------------------- */

#define SCATTERV                                                               \
    (&(struct rcx_arguments){.coll = RCX_COLL_SCATTER,                         \
                             .sendbuf = sendbuf,                               \
                             .recvbuf = recvbuf,                               \
                             .counts = counts,                                 \
                             .displs = displs,                                 \
                             .irregular = true,                                \
                             .type = datatype,                                 \
                             .op = RCX_NO_OP,                                  \
                             .root = root,                                     \
                             .comm = comm})

rcx_status_t rcx_scatterv(const void *sendbuf, void *recvbuf,
                          const size_t counts[], const size_t displs[],
                          rcx_datatype_t datatype, int root, rcx_comm_t *comm)
{
    return rcx_call_blocking(SCATTERV);
}

rcx_status_t rcx_iscatterv(const void *sendbuf, void *recvbuf,
                           const size_t counts[], const size_t displs[],
                           rcx_datatype_t datatype, int root, rcx_comm_t *comm,
                           rcx_request_t **request_p)
{
    return rcx_call_request(SCATTERV, false, request_p);
}

rcx_status_t rcx_scatterv_init(const void *sendbuf, void *recvbuf,
                               const size_t counts[], const size_t displs[],
                               rcx_datatype_t datatype, int root,
                               rcx_comm_t *comm, rcx_request_t **request_p)
{
    return rcx_call_request(SCATTERV, true, request_p);
}
