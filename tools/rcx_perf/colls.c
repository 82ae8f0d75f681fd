/* SPDX-License-Identifier: BSD-3-Clause */
/* The table of collectives, and messages: for each, the calls in three forms
 * and a row. To add a collective takes a CALLS line and a COLL line. */
#include "rcx_perf/rcx_perf.h"

/* Define call_NAME(), which makes a call in each of the three forms. The
 * arguments are those of rcx_NAME(), taken from c. */
#define CALLS(name, ...)                                                       \
    static rcx_status_t call_##name(const struct perf_call *c,                 \
                                    enum perf_form form,                       \
                                    rcx_request_t **request_p)                 \
    {                                                                          \
        if (form == FORM_BLOCKING)                                             \
            return rcx_##name(__VA_ARGS__);                                    \
        if (form == FORM_NONBLOCKING)                                          \
            return rcx_i##name(__VA_ARGS__, request_p);                        \
        return rcx_##name##_init(__VA_ARGS__, request_p);                      \
    }

CALLS(allreduce, c->in, c->out, c->count, c->type, c->op, c->comm)
CALLS(allreduce_many, c->n, c->ins, c->outs, c->counts, c->type, c->op, c->comm)
CALLS(reduce, c->in, c->out, c->count, c->type, c->op, c->root, c->comm)
CALLS(reduce_scatter, c->in, c->out, c->counts, c->type, c->op, c->comm)
CALLS(reduce_scatter_block, c->in, c->out, c->count, c->type, c->op, c->comm)
/* the root's buffer is only read, so its const may be cast away */
CALLS(bcast, c->in ? (void *)(uintptr_t)c->in : c->out, c->count, c->type,
      c->root, c->comm)
CALLS(gather, c->in, c->out, c->count, c->type, c->root, c->comm)
CALLS(gatherv, c->in, c->out, c->counts, c->displs, c->type, c->root, c->comm)
CALLS(scatter, c->in, c->out, c->count, c->type, c->root, c->comm)
CALLS(scatterv, c->in, c->out, c->counts, c->displs, c->type, c->root, c->comm)
CALLS(allgather, c->in, c->out, c->count, c->type, c->comm)
CALLS(allgatherv, c->in, c->out, c->counts, c->displs, c->type, c->comm)
CALLS(alltoall, c->in, c->out, c->count, c->type, c->comm)
CALLS(alltoallv, c->in, c->counts, c->displs, c->out, c->counts, c->displs,
      c->type, c->comm)
CALLS(scan, c->in, c->out, c->count, c->type, c->op, c->comm)
CALLS(exscan, c->in, c->out, c->count, c->type, c->op, c->comm)

static rcx_status_t call_barrier(const struct perf_call *c, enum perf_form form,
                                 rcx_request_t **request_p)
{
    if (form == FORM_BLOCKING)
        return rcx_barrier(c->comm);
    return form == FORM_NONBLOCKING ? rcx_ibarrier(c->comm, request_p)
                                    : rcx_barrier_init(c->comm, request_p);
}

static rcx_status_t call_send(const struct perf_call *c, enum perf_form form,
                              rcx_request_t **request_p)
{
    if (form == FORM_BLOCKING)
        return rcx_send(c->in, c->count, c->type, c->partner, 0, c->comm);
    if (form == FORM_NONBLOCKING)
        return rcx_isend(c->in, c->count, c->type, c->partner, 0, c->comm,
                         request_p);
    return rcx_send_init(c->in, c->count, c->type, c->partner, 0, c->comm,
                         request_p);
}

static rcx_status_t call_recv(const struct perf_call *c, enum perf_form form,
                              rcx_request_t **request_p)
{
    if (form == FORM_BLOCKING)
        return rcx_recv(c->out, c->count, c->type, c->partner, 0, c->comm,
                        NULL);
    if (form == FORM_NONBLOCKING)
        return rcx_irecv(c->out, c->count, c->type, c->partner, 0, c->comm,
                         request_p);
    return rcx_recv_init(c->out, c->count, c->type, c->partner, 0, c->comm,
                         request_p);
}

static rcx_status_t call_sendrecv(const struct perf_call *c,
                                  enum perf_form form,
                                  rcx_request_t **request_p)
{
    return (c->sends ? call_send : call_recv)(c, form, request_p);
}

#define COLL(label, coll, has_counts)                                          \
    {                                                                          \
        .name = #label, .row = RCX_COLL_##coll, .irregular = has_counts,       \
        .call = call_##label                                                   \
    }

/* sendrecv has the row of alltoallv, with all blocks empty except the
 * partner's. */
const struct perf_coll perf_colls[] = {
    COLL(allreduce, ALLREDUCE, false),
    {.name = "allreduce_many",
     .row = RCX_COLL_ALLREDUCE,
     .irregular = true,
     .call = call_allreduce_many,
     .vectors = 4},
    COLL(reduce, REDUCE, false),
    COLL(reduce_scatter, REDUCE_SCATTER, true),
    COLL(reduce_scatter_block, REDUCE_SCATTER, false),
    COLL(barrier, BARRIER, false),
    COLL(bcast, BCAST, false),
    COLL(gather, GATHER, false),
    COLL(gatherv, GATHER, true),
    COLL(scatter, SCATTER, false),
    COLL(scatterv, SCATTER, true),
    COLL(allgather, ALLGATHER, false),
    COLL(allgatherv, ALLGATHER, true),
    COLL(alltoall, ALLTOALL, false),
    COLL(alltoallv, ALLTOALLV, true),
    COLL(scan, SCAN, false),
    COLL(exscan, EXSCAN, false),
    {.name = "sendrecv",
     .row = RCX_COLL_ALLTOALLV,
     .call = call_sendrecv,
     .is_messages = true,
     .vectors = 1},
    {.name = NULL},
};
