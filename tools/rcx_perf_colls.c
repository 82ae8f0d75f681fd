/* SPDX-License-Identifier: BSD-3-Clause */
/* The collectives that can be timed: a line each for its calls and its row. */
#include "rcx_perf.h"

/* The three forms of a collective, which have all but their ends in common. */
#define FORMS(name, ...)                                                       \
    static rcx_status_t run_##name(const struct perf_call *c)                  \
    {                                                                          \
        return rcx_##name(__VA_ARGS__, c->comm);                               \
    }                                                                          \
    static rcx_status_t begin_##name(const struct perf_call *c,                \
                                     rcx_request_t **request_p)                \
    {                                                                          \
        return rcx_i##name(__VA_ARGS__, c->comm, request_p);                   \
    }                                                                          \
    static rcx_status_t prepare_##name(const struct perf_call *c,              \
                                       rcx_request_t **request_p)              \
    {                                                                          \
        return rcx_##name##_init(__VA_ARGS__, c->comm, request_p);             \
    }
#define ROW(called)                                                            \
    .name = #called, .run = run_##called, .begin = begin_##called,             \
    .prepare = prepare_##called

FORMS(allreduce, c->in, c->out, c->count, c->type, c->op)
FORMS(reduce, c->in, c->out, c->count, c->type, c->op, c->root)
FORMS(reduce_scatter, c->in, c->out, c->recvcounts, c->type, c->op)
FORMS(reduce_scatter_block, c->in, c->out, c->count, c->type, c->op)

const struct perf_coll perf_colls[] = {
    {ROW(allreduce), .algos = "allreduce", .variable = "RCX_ALLREDUCE"},
    {ROW(reduce), .algos = "reduce", .variable = "RCX_REDUCE",
     .root_gets = true},
    {ROW(reduce_scatter), .algos = "reduce_scatter",
     .variable = "RCX_REDUCE_SCATTER", .blocks = BLOCKS_NEARLY_EQUAL},
    {ROW(reduce_scatter_block), .algos = "reduce_scatter",
     .variable = "RCX_REDUCE_SCATTER", .blocks = BLOCKS_EQUAL},
    {.name = NULL},
};
