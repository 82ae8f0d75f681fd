/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The timing loop over UCC: bench_ucc -n 2
 *
 * One persistent request is kept from call to call: UCC at its best.
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

/* the request that is kept, and what it was made for */
static ucc_coll_req_h request;
static const float *request_in;
static float *request_out;
static size_t request_count;

static int failed(const char *what, ucc_status_t status)
{
    if (status == UCC_OK)
        return 0;
    fprintf(stderr, "bench_ucc: %s: %s\n", what, ucc_status_string(status));
    return 1;
}

/* ---- How UCC's ranks find each other ------------------------------------ */

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

/* ---- The peer ----------------------------------------------------------- */

static int init(int *argc, char ***argv)
{
    (void)argc;
    (void)argv;
    return open_library() || open_context() || open_team();
}

static int finish(ucc_coll_req_h req)
{
    ucc_status_t status = ucc_collective_post(req);

    if (status == UCC_OK)
        while ((status = ucc_collective_test(req)) == UCC_INPROGRESS)
            ucc_context_progress(context);
    return failed("ucc_collective", status);
}

static int drop_request(void)
{
    ucc_coll_req_h req = request;

    request = NULL;
    return req ? failed("ucc_collective_finalize", ucc_collective_finalize(req))
               : 0;
}

static int keep_request(const float *in, float *out, size_t count)
{
    ucc_coll_args_t args = {.mask = UCC_COLL_ARGS_FIELD_FLAGS,
                            .coll_type = UCC_COLL_TYPE_ALLREDUCE,
                            .op = UCC_OP_SUM,
                            .flags = UCC_COLL_ARGS_FLAG_PERSISTENT};

    args.src.info = (ucc_coll_buffer_info_t){.buffer = (void *)(uintptr_t)in,
                                             .count = count,
                                             .datatype = UCC_DT_FLOAT32,
                                             .mem_type = UCC_MEMORY_TYPE_HOST};
    args.dst.info = args.src.info;
    args.dst.info.buffer = out;
    if (drop_request() || failed("ucc_collective_init",
                                 ucc_collective_init(&args, &request, team)))
        return 1;
    request_in = in;
    request_out = out;
    request_count = count;
    return 0;
}

static int allreduce(const float *in, float *out, size_t count)
{
    if ((!request || in != request_in || out != request_out ||
         count != request_count) &&
        keep_request(in, out, count))
        return 1;
    return finish(request);
}

static int barrier(void)
{
    ucc_coll_args_t args = {.coll_type = UCC_COLL_TYPE_BARRIER};
    ucc_coll_req_h req;

    if (failed("ucc_collective_init", ucc_collective_init(&args, &req, team)))
        return 1;
    return finish(req) ||
           failed("ucc_collective_finalize", ucc_collective_finalize(req));
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

    if (drop_request())
        return 1;
    while ((status = ucc_team_destroy(team)) == UCC_INPROGRESS)
        ucc_context_progress(context);
    return failed("ucc_team_destroy", status) ||
           failed("ucc_context_destroy", ucc_context_destroy(context)) ||
           failed("ucc_finalize", ucc_finalize(lib));
}

static int run(int argc, char **argv, const struct ranks *ranks)
{
    const struct loop_peer peer = {init, allreduce, barrier, rank,
                                   size, version,   finalize};

    my_ranks = ranks;
    return loop_main(argc, argv, &peer);
}

int main(int argc, char **argv)
{
    return ranks_fork(argc, argv, run);
}
