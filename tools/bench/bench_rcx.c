/* SPDX-License-Identifier: BSD-3-Clause */
/* The timing loop over RCX: rcxrun -n 2 bench_rcx */
#include <stdint.h>
#include <stdio.h>

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

static int allreduce(const float *in, float *out, size_t count)
{
    return rcx_allreduce(in, out, count, RCX_FLOAT32, RCX_SUM,
                         rcx_world(context)) != RCX_OK;
}

static int barrier(void)
{
    const int32_t in = 0;
    int32_t out;

    return failed("rcx_allreduce", rcx_allreduce(&in, &out, 1, RCX_INT32,
                                                 RCX_MAX, rcx_world(context)));
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
    const struct loop_peer peer = {init, allreduce, barrier, rank,
                                   size, version,   finalize};

    return loop_main(argc, argv, &peer);
}
