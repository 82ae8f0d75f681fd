/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The timing loop over UCC: bench_ucc -n 2
 *
 * A persistent request of each collective is reused by all its calls, which is
 * UCC's fastest form.
 */
#include <stdint.h>
#include <stdio.h>

#include <ucc/api/ucc.h>

#include "loop.h"
#include "ranks.h"

static const struct ranks *my_ranks;
static ucc_lib_h lib;
static ucc_context_h context;
static ucc_team_h team;

/* reused requests, and the arguments that they were created for */
static struct kept {
    ucc_coll_req_h request;
    const float *in;
    float *out;
    size_t count;
} kept[LOOP_COLLS], kept_vectors[LOOP_VECTORS];

/* UCC's types of collectives. in_v, out_v: the operand or the result takes a
 * count for each block. UCC 1.3 names scatter, but does not implement it. */
static const struct {
    ucc_coll_type_t type;
    int in_v, out_v;
} rows[LOOP_COLLS] = {
    [LOOP_ALLREDUCE] = {UCC_COLL_TYPE_ALLREDUCE, 0, 0},
    [LOOP_REDUCE] = {UCC_COLL_TYPE_REDUCE, 0, 0},
    [LOOP_REDUCE_SCATTER] = {UCC_COLL_TYPE_REDUCE_SCATTERV, 0, 1},
    [LOOP_REDUCE_SCATTER_BLOCK] = {UCC_COLL_TYPE_REDUCE_SCATTER, 0, 0},
    [LOOP_BARRIER] = {UCC_COLL_TYPE_BARRIER, 0, 0},
    [LOOP_BCAST] = {UCC_COLL_TYPE_BCAST, 0, 0},
    [LOOP_GATHER] = {UCC_COLL_TYPE_GATHER, 0, 0},
    [LOOP_GATHERV] = {UCC_COLL_TYPE_GATHERV, 0, 1},
    [LOOP_SCATTERV] = {UCC_COLL_TYPE_SCATTERV, 1, 0},
    [LOOP_ALLGATHER] = {UCC_COLL_TYPE_ALLGATHER, 0, 0},
    [LOOP_ALLGATHERV] = {UCC_COLL_TYPE_ALLGATHERV, 0, 1},
    [LOOP_ALLTOALL] = {UCC_COLL_TYPE_ALLTOALL, 0, 0},
    [LOOP_ALLTOALLV] = {UCC_COLL_TYPE_ALLTOALLV, 1, 1},
};

static int failed(const char *what, ucc_status_t status)
{
    if (status == UCC_OK)
        return 0;
    fprintf(stderr, "bench_ucc: %s: %s\n", what, ucc_status_string(status));
    return 1;
}

/* ---- Bootstrap ----------------------------------------------------------- */

static ucc_status_t gather(void *send, void *recv, size_t bytes, void *info,
                           void **handle)
{
    *handle = info;
    return ranks_allgather(info, send, recv, bytes) ? UCC_ERR_NO_MESSAGE
                                                    : UCC_OK;
}

static ucc_status_t gather_done(void *handle)
{
    (void)handle;
    return UCC_OK;
}

static ucc_oob_coll_t out_of_band(void)
{
    return (ucc_oob_coll_t){.allgather = gather,
                            .req_test = gather_done,
                            .req_free = gather_done,
                            .coll_info = (void *)(uintptr_t)my_ranks,
                            .n_oob_eps = (uint32_t)my_ranks->size,
                            .oob_ep = (uint32_t)my_ranks->rank};
}

static int open_library(void)
{
    const ucc_lib_params_t params = {.mask = UCC_LIB_PARAM_FIELD_THREAD_MODE,
                                     .thread_mode = UCC_THREAD_SINGLE};
    ucc_lib_config_h config;
    ucc_status_t status = ucc_lib_config_read(NULL, NULL, &config);

    if (status == UCC_OK) {
        status = ucc_init(&params, config, &lib);
        ucc_lib_config_release(config);
    }
    return failed("ucc_init", status);
}

static int open_context(void)
{
    const ucc_context_params_t params = {.mask = UCC_CONTEXT_PARAM_FIELD_OOB,
                                         .oob = out_of_band()};
    ucc_context_config_h config;
    ucc_status_t status = ucc_context_config_read(lib, NULL, &config);

    if (status == UCC_OK) {
        status = ucc_context_create(lib, &params, config, &context);
        ucc_context_config_release(config);
    }
    return failed("ucc_context_create", status);
}

static int open_team(void)
{
    const ucc_team_params_t params = {
        .mask = UCC_TEAM_PARAM_FIELD_EP | UCC_TEAM_PARAM_FIELD_EP_RANGE |
                UCC_TEAM_PARAM_FIELD_OOB,
        .ep = (uint64_t)my_ranks->rank,
        .ep_range = UCC_COLLECTIVE_EP_RANGE_CONTIG,
        .oob = out_of_band()};
    ucc_status_t status = ucc_team_create_post(&context, 1, &params, &team);

    if (status == UCC_OK)
        while ((status = ucc_team_create_test(team)) == UCC_INPROGRESS)
            ucc_context_progress(context);
    return failed("ucc_team_create", status);
}

/* ---- The peer ------------------------------------------------------------ */

static int init(int *argc, char ***argv)
{
    (void)argc;
    (void)argv;
    return open_library() || open_context() || open_team();
}

static int post(ucc_coll_req_h req)
{
    return failed("ucc_collective_post", ucc_collective_post(req));
}

static int finish(ucc_coll_req_h req)
{
    ucc_status_t status;

    while ((status = ucc_collective_test(req)) == UCC_INPROGRESS)
        ucc_context_progress(context);
    return failed("ucc_collective", status);
}

static int drop(struct kept *k)
{
    ucc_coll_req_h req = k->request;

    k->request = NULL;
    return req ? failed("ucc_collective_finalize", ucc_collective_finalize(req))
               : 0;
}

/* Describe the operand or the result: its blocks if is_v, else the whole. */
static void describe(const struct loop_call *c, const void *buffer, int is_v,
                     size_t count, ucc_coll_buffer_info_t *info,
                     ucc_coll_buffer_info_v_t *info_v)
{
    if (is_v)
        *info_v = (ucc_coll_buffer_info_v_t){
            .buffer = (void *)(uintptr_t)buffer,
            .counts = (ucc_count_t *)(uintptr_t)c->counts,
            .displacements = (ucc_aint_t *)(uintptr_t)c->displs,
            .datatype = UCC_DT_FLOAT32,
            .mem_type = UCC_MEMORY_TYPE_HOST};
    else
        *info = (ucc_coll_buffer_info_t){.buffer = (void *)(uintptr_t)buffer,
                                         .count = count,
                                         .datatype = UCC_DT_FLOAT32,
                                         .mem_type = UCC_MEMORY_TYPE_HOST};
}

static int keep(const struct loop_call *c, struct kept *k)
{
    const int is_bcast = c->coll == LOOP_BCAST;
    ucc_coll_args_t args = {.mask = UCC_COLL_ARGS_FIELD_FLAGS,
                            .coll_type = rows[c->coll].type,
                            .op = UCC_OP_SUM,
                            .flags = UCC_COLL_ARGS_FLAG_PERSISTENT |
                                     UCC_COLL_ARGS_FLAG_COUNT_64BIT |
                                     UCC_COLL_ARGS_FLAG_DISPLACEMENTS_64BIT};

    if (c->coll != LOOP_BARRIER) {
        describe(c, is_bcast && my_ranks->rank != 0 ? c->out : c->in,
                 rows[c->coll].in_v, c->in_count, &args.src.info,
                 &args.src.info_v);
        describe(c, c->out, rows[c->coll].out_v, c->out_count, &args.dst.info,
                 &args.dst.info_v);
    }
    if (drop(k) || failed("ucc_collective_init",
                          ucc_collective_init(&args, &k->request, team)))
        return 1;
    k->in = c->in;
    k->out = c->out;
    k->count = c->count;
    return 0;
}

static int is_kept(const struct loop_call *c, struct kept *k)
{
    return (k->request && c->in == k->in && c->out == k->out &&
            c->count == k->count) ||
           !keep(c, k);
}

static int call(const struct loop_call *c)
{
    struct kept *k = &kept[c->coll];

    return !is_kept(c, k) || post(k->request) || finish(k->request);
}

/* UCC has no call for a list: start one operation for each vector, and wait for
 * all. */
static int call_many(const struct loop_call *c)
{
    int failed = 0;

    for (size_t i = 0; i < c->n && !failed; i++) {
        const struct loop_call one = {.coll = LOOP_ALLREDUCE,
                                      .in = c->ins[i],
                                      .out = c->outs[i],
                                      .count = c->count,
                                      .in_count = c->count,
                                      .out_count = c->count};

        failed =
            !is_kept(&one, &kept_vectors[i]) || post(kept_vectors[i].request);
    }
    for (size_t i = 0; i < c->n && !failed; i++)
        failed = finish(kept_vectors[i].request);
    return failed;
}

static int rank(void)
{
    return my_ranks->rank;
}

static int size(void)
{
    return my_ranks->size;
}

static const char *version(void)
{
    static char text[64];

    snprintf(text, sizeof(text), "UCC %s", ucc_get_version_string());
    return text;
}

static int finalize(void)
{
    ucc_status_t status;

    for (int i = 0; i < LOOP_COLLS; i++)
        if (drop(&kept[i]))
            return 1;
    for (int i = 0; i < LOOP_VECTORS; i++)
        if (drop(&kept_vectors[i]))
            return 1;
    while ((status = ucc_team_destroy(team)) == UCC_INPROGRESS)
        ucc_context_progress(context);
    return failed("ucc_team_destroy", status) ||
           failed("ucc_context_destroy", ucc_context_destroy(context)) ||
           failed("ucc_finalize", ucc_finalize(lib));
}

static int run(int argc, char **argv, const struct ranks *ranks)
{
    struct loop_peer peer = {.init = init,
                             .rank = rank,
                             .size = size,
                             .version = version,
                             .finalize = finalize};

    for (int i = 0; i < LOOP_COLLS; i++)
        peer.colls[i] = rows[i].type ? call : NULL;
    peer.colls[LOOP_ALLREDUCE_MANY] = call_many;
    my_ranks = ranks;
    return loop_main(argc, argv, &peer);
}

int main(int argc, char **argv)
{
    return ranks_fork(argc, argv, run);
}
