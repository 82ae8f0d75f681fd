/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * memory_main ahead | vector MIB
 *
 * Limits of a rank's memory use (need 25). Exits with 0, and prints nothing, if
 * the memory stays below the limit.
 *
 *   ahead    ranks that only send run ahead of the root, which makes progress
 *            for a second without posting receives: unexpected messages must
 *            not accumulate there
 *   vector   an allreduce of MIB MiB needs its buffers and at most SPARE_MIB
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "rank.h"

enum { CALLS = 40000, BYTES = 1024, SPARE_MIB = 64 };

/* Return a field of /proc/self/status, in MiB. */
static long memory(const char *field)
{
    FILE *file = fopen("/proc/self/status", "re");
    char line[256];
    long kib = -1;

    if (!file)
        rank_fail("no /proc/self/status");
    while (fgets(line, sizeof line, file))
        if (strncmp(line, field, strlen(field)) == 0)
            kib = atol(line + strlen(field) + 1);
    fclose(file);
    return kib / 1024;
}

/* Make progress for a second without posting a receive. */
static void dawdle(void)
{
    const time_t end = time(NULL) + 1;

    while (time(NULL) < end)
        rcx_progress(me.context);
}

static void run_ahead(void)
{
    char in[BYTES] = {1}, out[BYTES];
    const long before = memory("VmRSS:");

    for (int i = 0; i < CALLS; i++) {
        if (me.rank == 0 && i == CALLS / 10)
            dawdle();
        rank_require(rcx_reduce(in, out, BYTES, RCX_INT8, RCX_SUM, 0, me.world),
                     "reduce");
        if (me.rank == 0 && out[0] != me.size)
            rank_fail("a wrong sum: %d", out[0]);
    }
    if (memory("VmHWM:") > before + SPARE_MIB)
        rank_fail("%ld MiB became %ld", before, memory("VmHWM:"));
}

static void reduce_vector(size_t mib)
{
    const size_t count = mib << 18;
    float *in, *out;
    long before;

    in = malloc(count * sizeof *in);
    out = malloc(count * sizeof *out);
    if (!in || !out)
        rank_fail("no memory for %zu MiB twice", mib);
    for (size_t i = 0; i < count; i++)
        in[i] = (float)(i % 1000 + (size_t)me.rank);
    memset(out, 1, count * sizeof *out);
    before = memory("VmRSS:");
    rank_require(rcx_allreduce(in, out, count, RCX_FLOAT32, RCX_SUM, me.world),
                 "allreduce");
    for (size_t i = 0; i < count; i++)
        if (out[i] != (float)(2 * (i % 1000) + 1))
            rank_fail("element %zu is %g", i, (double)out[i]);
    if (memory("VmHWM:") > before + SPARE_MIB)
        rank_fail("%ld MiB became %ld", before, memory("VmHWM:"));
    free(in);
    free(out);
}

int main(int argc, char **argv)
{
    rank_require(rank_open(NULL), "rcx_init");
    if (argc == 2 && strcmp(argv[1], "ahead") == 0)
        run_ahead();
    else if (argc == 3 && strcmp(argv[1], "vector") == 0)
        reduce_vector((size_t)atol(argv[2]));
    else
        return 2;
    rank_require(rcx_finalize(&me.context), "rcx_finalize");
    return 0;
}
