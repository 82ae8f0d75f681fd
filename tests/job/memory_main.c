/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * memory_main ahead | vector MIB
 *
 * What a rank's memory may grow to (need 25). Prints nothing and exits with 0
 * if it stays below.
 *
 *   ahead    ranks that only send are fast, the root lets messages come and
 *            receives none for a while: they may not pile up there
 *   vector   an allreduce of so many MiB takes its buffers and little more
 */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "rcx/rcx.h"

enum { CALLS = 40000, BYTES = 1024, SPARE_MIB = 64 };

static rcx_context_t *context;
static rcx_comm_t *comm;
static int rank;

__attribute__((format(printf, 1, 2), noreturn))
static void fail(const char *format, ...)
{
    va_list args;

    fprintf(stderr, "rank %d: ", rank);
    va_start(args, format);
    vfprintf(stderr, format, args);
    va_end(args);
    fputc('\n', stderr);
    _exit(1);
}

static void require(rcx_status_t status, const char *what)
{
    if (status != RCX_OK)
        fail("%s: %s", what, rcx_status_string(status));
}

/* From /proc/self/status, in MiB. */
static long memory(const char *field)
{
    FILE *file = fopen("/proc/self/status", "re");
    char line[256];
    long kib = -1;

    if (!file)
        fail("no /proc/self/status");
    while (fgets(line, sizeof line, file))
        if (strncmp(line, field, strlen(field)) == 0)
            kib = atol(line + strlen(field) + 1);
    fclose(file);
    return kib / 1024;
}

/* Messages come in, but no receive is posted. */
static void dawdle(void)
{
    const time_t end = time(NULL) + 1;

    while (time(NULL) < end)
        rcx_progress(context);
}

static void run_ahead(void)
{
    char in[BYTES] = {1}, out[BYTES];
    const long before = memory("VmRSS:");

    for (int i = 0; i < CALLS; i++) {
        if (rank == 0 && i == CALLS / 10)
            dawdle();
        require(rcx_reduce(in, out, BYTES, RCX_INT8, RCX_SUM, 0, comm),
                "reduce");
        if (rank == 0 && out[0] != rcx_comm_size(comm))
            fail("a wrong sum: %d", out[0]);
    }
    if (memory("VmHWM:") > before + SPARE_MIB)
        fail("%ld MiB became %ld", before, memory("VmHWM:"));
}

static void reduce_vector(size_t mib)
{
    const size_t count = mib << 18;
    float *in, *out;
    long before;

    in = malloc(count * sizeof *in);
    out = malloc(count * sizeof *out);
    if (!in || !out)
        fail("no memory for %zu MiB twice", mib);
    for (size_t i = 0; i < count; i++)
        in[i] = (float)(i % 1000 + (size_t)rank);
    memset(out, 1, count * sizeof *out);
    before = memory("VmRSS:");
    require(rcx_allreduce(in, out, count, RCX_FLOAT32, RCX_SUM, comm),
            "allreduce");
    for (size_t i = 0; i < count; i++)
        if (out[i] != (float)(2 * (i % 1000) + 1))
            fail("element %zu is %g", i, (double)out[i]);
    if (memory("VmHWM:") > before + SPARE_MIB)
        fail("%ld MiB became %ld", before, memory("VmHWM:"));
    free(in);
    free(out);
}

int main(int argc, char **argv)
{
    require(rcx_init(NULL, &context), "rcx_init");
    comm = rcx_world(context);
    rank = rcx_comm_rank(comm);
    if (argc == 2 && strcmp(argv[1], "ahead") == 0)
        run_ahead();
    else if (argc == 3 && strcmp(argv[1], "vector") == 0)
        reduce_vector((size_t)atol(argv[2]));
    else
        return 2;
    require(rcx_finalize(&context), "rcx_finalize");
    return 0;
}
