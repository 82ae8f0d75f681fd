/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * rcx_gather(), rcx_scatter(), which have the same arguments, the same with a
 * count for each rank, and the nonblocking and persistent forms of all.
 */
#include "core/api/collective.h"

#define BLOCKS(coll_)                                                          \
    (&(struct rcx_arguments){.coll = RCX_COLL_##coll_,                         \
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
    return rcx_call_blocking(BLOCKS(GATHER));
}

rcx_status_t rcx_igather(const void *sendbuf, void *recvbuf, size_t count,
                         rcx_datatype_t datatype, int root, rcx_comm_t *comm,
                         rcx_request_t **request_p)
{
    return rcx_call_request(BLOCKS(GATHER), false, request_p);
}

rcx_status_t rcx_gather_init(const void *sendbuf, void *recvbuf, size_t count,
                             rcx_datatype_t datatype, int root,
                             rcx_comm_t *comm, rcx_request_t **request_p)
{
    return rcx_call_request(BLOCKS(GATHER), true, request_p);
}

rcx_status_t rcx_scatter(const void *sendbuf, void *recvbuf, size_t count,
                         rcx_datatype_t datatype, int root, rcx_comm_t *comm)
{
    return rcx_call_blocking(BLOCKS(SCATTER));
}

rcx_status_t rcx_iscatter(const void *sendbuf, void *recvbuf, size_t count,
                          rcx_datatype_t datatype, int root, rcx_comm_t *comm,
                          rcx_request_t **request_p)
{
    return rcx_call_request(BLOCKS(SCATTER), false, request_p);
}

rcx_status_t rcx_scatter_init(const void *sendbuf, void *recvbuf, size_t count,
                              rcx_datatype_t datatype, int root,
                              rcx_comm_t *comm, rcx_request_t **request_p)
{
    return rcx_call_request(BLOCKS(SCATTER), true, request_p);
}

/* ---- A count for each rank ----------------------------------------------- */

#define IRREGULAR(coll_)                                                       \
    (&(struct rcx_arguments){.coll = RCX_COLL_##coll_,                         \
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
    return rcx_call_blocking(IRREGULAR(GATHER));
}

rcx_status_t rcx_igatherv(const void *sendbuf, void *recvbuf,
                          const size_t counts[], const size_t displs[],
                          rcx_datatype_t datatype, int root, rcx_comm_t *comm,
                          rcx_request_t **request_p)
{
    return rcx_call_request(IRREGULAR(GATHER), false, request_p);
}

rcx_status_t rcx_gatherv_init(const void *sendbuf, void *recvbuf,
                              const size_t counts[], const size_t displs[],
                              rcx_datatype_t datatype, int root,
                              rcx_comm_t *comm, rcx_request_t **request_p)
{
    return rcx_call_request(IRREGULAR(GATHER), true, request_p);
}

rcx_status_t rcx_scatterv(const void *sendbuf, void *recvbuf,
                          const size_t counts[], const size_t displs[],
                          rcx_datatype_t datatype, int root, rcx_comm_t *comm)
{
    return rcx_call_blocking(IRREGULAR(SCATTER));
}

rcx_status_t rcx_iscatterv(const void *sendbuf, void *recvbuf,
                           const size_t counts[], const size_t displs[],
                           rcx_datatype_t datatype, int root, rcx_comm_t *comm,
                           rcx_request_t **request_p)
{
    return rcx_call_request(IRREGULAR(SCATTER), false, request_p);
}

rcx_status_t rcx_scatterv_init(const void *sendbuf, void *recvbuf,
                               const size_t counts[], const size_t displs[],
                               rcx_datatype_t datatype, int root,
                               rcx_comm_t *comm, rcx_request_t **request_p)
{
    return rcx_call_request(IRREGULAR(SCATTER), true, request_p);
}
