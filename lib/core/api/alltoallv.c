/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * rcx_alltoallv() and its nonblocking and persistent forms.
 */
#include "core/api/collective.h"

/* In place what is received says what is sent. */
static bool is_in_place(const void *sendbuf, const void *recvbuf)
{
    return sendbuf == RCX_IN_PLACE || sendbuf == recvbuf;
}

#define ALLTOALLV                                                              \
    (&(struct rcx_arguments){                                                  \
        .coll = RCX_COLL_ALLTOALLV,                                            \
        .sendbuf = sendbuf,                                                    \
        .recvbuf = recvbuf,                                                    \
        .counts = is_in_place(sendbuf, recvbuf) ? recvcounts : sendcounts,     \
        .displs = is_in_place(sendbuf, recvbuf) ? recvdispls : senddispls,     \
        .recvcounts = recvcounts,                                              \
        .recvdispls = recvdispls,                                              \
        .irregular = true,                                                     \
        .type = datatype,                                                      \
        .op = RCX_NO_OP,                                                       \
        .comm = comm})

rcx_status_t rcx_alltoallv(const void *sendbuf, const size_t sendcounts[],
                           const size_t senddispls[], void *recvbuf,
                           const size_t recvcounts[], const size_t recvdispls[],
                           rcx_datatype_t datatype, rcx_comm_t *comm)
{
    return rcx_call_blocking(ALLTOALLV);
}

rcx_status_t rcx_ialltoallv(const void *sendbuf, const size_t sendcounts[],
                            const size_t senddispls[], void *recvbuf,
                            const size_t recvcounts[],
                            const size_t recvdispls[], rcx_datatype_t datatype,
                            rcx_comm_t *comm, rcx_request_t **request_p)
{
    return rcx_call_request(ALLTOALLV, false, request_p);
}

rcx_status_t rcx_alltoallv_init(const void *sendbuf, const size_t sendcounts[],
                                const size_t senddispls[], void *recvbuf,
                                const size_t recvcounts[],
                                const size_t recvdispls[],
                                rcx_datatype_t datatype, rcx_comm_t *comm,
                                rcx_request_t **request_p)
{
    return rcx_call_request(ALLTOALLV, true, request_p);
}
