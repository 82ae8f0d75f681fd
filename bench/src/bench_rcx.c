/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The timing loop over RCX: rcxrun -n 2 bench_rcx [--memory]
 *
 * With --memory, buffers come from rcx_mem_alloc().
 */
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <rcx/rcx.h>

#include "loop.h"

static rcx_context_t *context;

static int failed(const char *what, rcx_status_t status)
{
    if (status == RCX_OK)
        return 0;
    fprintf(stderr, "bench_rcx: %s: %s\n", what, rcx_status_string(status));
    return 1;
}

static int init(int *argc, char ***argv)
{
    (void)argc;
    (void)argv;
    return failed("rcx_init", rcx_init(NULL, &context));
}

static const size_t *counts_of(const struct loop_call *c)
{
    static size_t counts[LOOP_VECTORS];

    for (size_t i = 0; i < c->n; i++)
        counts[i] = c->count;
    return counts;
}

#define CALL(name, ...)                                                        \
    static int name(const struct loop_call *c)                                 \
    {                                                                          \
        return rcx_##name(__VA_ARGS__, rcx_world(context)) != RCX_OK;          \
    }
CALL(allreduce, c->in, c->out, c->count, RCX_FLOAT32, RCX_SUM)
CALL(reduce, c->in, c->out, c->count, RCX_FLOAT32, RCX_SUM, 0)
CALL(reduce_scatter, c->in, c->out, c->counts, RCX_FLOAT32, RCX_SUM)
CALL(reduce_scatter_block, c->in, c->out, c->count, RCX_FLOAT32, RCX_SUM)
CALL(gather, c->in, c->out, c->count, RCX_FLOAT32, 0)
CALL(gatherv, c->in, c->out, c->counts, c->displs, RCX_FLOAT32, 0)
CALL(scatter, c->in, c->out, c->count, RCX_FLOAT32, 0)
CALL(scatterv, c->in, c->out, c->counts, c->displs, RCX_FLOAT32, 0)
CALL(allgather, c->in, c->out, c->count, RCX_FLOAT32)
CALL(allgatherv, c->in, c->out, c->counts, c->displs, RCX_FLOAT32)
CALL(alltoall, c->in, c->out, c->count, RCX_FLOAT32)
CALL(alltoallv, c->in, c->counts, c->displs, c->out, c->counts, c->displs,
     RCX_FLOAT32)
CALL(scan, c->in, c->out, c->count, RCX_FLOAT32, RCX_SUM)
CALL(exscan, c->in, c->out, c->count, RCX_FLOAT32, RCX_SUM)

CALL(allreduce_many, c->n, (const void *const *)c->ins, (void *const *)c->outs,
     counts_of(c), RCX_FLOAT32, RCX_SUM)

static int sendrecv(const struct loop_call *c)
{
    rcx_comm_t *world = rcx_world(context);

    if (c->sends_first)
        return rcx_send(c->in, c->count, RCX_FLOAT32, c->partner, 0, world) !=
                   RCX_OK ||
               rcx_recv(c->out, c->count, RCX_FLOAT32, c->partner, 0, world,
                        NULL) != RCX_OK;
    return rcx_recv(c->out, c->count, RCX_FLOAT32, c->partner, 0, world,
                    NULL) != RCX_OK ||
           rcx_send(c->in, c->count, RCX_FLOAT32, c->partner, 0, world) !=
               RCX_OK;
}

static int barrier(const struct loop_call *c)
{
    (void)c;
    return rcx_barrier(rcx_world(context)) != RCX_OK;
}

static int bcast(const struct loop_call *c)
{
    rcx_comm_t *world = rcx_world(context);
    void *buf = rcx_comm_rank(world) == 0 ? (void *)(uintptr_t)c->in : c->out;

    return rcx_bcast(buf, c->count, RCX_FLOAT32, 0, world) != RCX_OK;
}

static void *memory(size_t bytes)
{
    void *at;

    return failed("rcx_mem_alloc",
                  rcx_mem_alloc(rcx_world(context), bytes, &at))
               ? NULL
               : at;
}

static int wants_memory(int argc, char **argv)
{
    for (int i = 1; i < argc; i++)
        if (strcmp(argv[i], "--memory") == 0)
            return 1;
    return 0;
}

static int rank(void)
{
    return rcx_comm_rank(rcx_world(context));
}

static int size(void)
{
    return rcx_comm_size(rcx_world(context));
}

static const char *version(void)
{
    static char text[64];

    snprintf(text, sizeof(text), "RCX %s", rcx_version());
    return text;
}

static int finalize(void)
{
    return failed("rcx_finalize", rcx_finalize(&context));
}

int main(int argc, char **argv)
{
    const struct loop_peer peer = {
        .init = init,
        .colls = {[LOOP_ALLREDUCE] = allreduce,
                  [LOOP_REDUCE] = reduce,
                  [LOOP_REDUCE_SCATTER] = reduce_scatter,
                  [LOOP_REDUCE_SCATTER_BLOCK] = reduce_scatter_block,
                  [LOOP_BARRIER] = barrier,
                  [LOOP_BCAST] = bcast,
                  [LOOP_GATHER] = gather,
                  [LOOP_GATHERV] = gatherv,
                  [LOOP_SCATTER] = scatter,
                  [LOOP_SCATTERV] = scatterv,
                  [LOOP_ALLGATHER] = allgather,
                  [LOOP_ALLGATHERV] = allgatherv,
                  [LOOP_ALLTOALL] = alltoall,
                  [LOOP_ALLTOALLV] = alltoallv,
                  [LOOP_SCAN] = scan,
                  [LOOP_EXSCAN] = exscan,
                  [LOOP_ALLREDUCE_MANY] = allreduce_many,
                  [LOOP_SENDRECV] = sendrecv},
        .memory = wants_memory(argc, argv) ? memory : NULL,
        .rank = rank,
        .size = size,
        .version = version,
        .finalize = finalize};

    return loop_main(argc, argv, &peer);
}
