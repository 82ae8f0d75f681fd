/* SPDX-License-Identifier: BSD-3-Clause */
/* The collectives that can be timed: a line each for its calls and its row. */
#include "rcx_perf.h"

/* A collective's three forms: arguments as it takes them, of c. */
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
CALLS(reduce, c->in, c->out, c->count, c->type, c->op, c->root, c->comm)
CALLS(reduce_scatter, c->in, c->out, c->counts, c->type, c->op, c->comm)
CALLS(reduce_scatter_block, c->in, c->out, c->count, c->type, c->op, c->comm)
/* the root's buffer is only read */
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

const struct perf_coll perf_colls[] = {
    {"allreduce", RCX_COLL_ALLREDUCE, false, call_allreduce},
    {"reduce", RCX_COLL_REDUCE, false, call_reduce},
    {"reduce_scatter", RCX_COLL_REDUCE_SCATTER, true, call_reduce_scatter},
    {"reduce_scatter_block", RCX_COLL_REDUCE_SCATTER, false,
     call_reduce_scatter_block},
    {"barrier", RCX_COLL_BARRIER, false, call_barrier},
    {"bcast", RCX_COLL_BCAST, false, call_bcast},
    {"gather", RCX_COLL_GATHER, false, call_gather},
    {"gatherv", RCX_COLL_GATHER, true, call_gatherv},
    {"scatter", RCX_COLL_SCATTER, false, call_scatter},
    {"scatterv", RCX_COLL_SCATTER, true, call_scatterv},
    {"allgather", RCX_COLL_ALLGATHER, false, call_allgather},
    {"allgatherv", RCX_COLL_ALLGATHER, true, call_allgatherv},
    {"alltoall", RCX_COLL_ALLTOALL, false, call_alltoall},
    {"alltoallv", RCX_COLL_ALLTOALLV, true, call_alltoallv},
    {"scan", RCX_COLL_SCAN, false, call_scan},
    {"exscan", RCX_COLL_EXSCAN, false, call_exscan},
    {.name = NULL},
};
