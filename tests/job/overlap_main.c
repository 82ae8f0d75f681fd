/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * overlap_main MS
 *
 * One rank of a job that computes for MS milliseconds while an allreduce of 10
 * MiB is in flight (need 24). Rank 0 prints three medians in milliseconds: of a
 * blocking call, of the wait after the computation, and of the increase of the
 * computation's time. RCX_PROGRESS selects what makes progress meanwhile.
 */
#include <stdio.h>
#include <stdlib.h>

#include "rank.h"

enum { COUNT = (10 << 20) / sizeof(int32_t), ROUNDS = 7 };

static int32_t in[COUNT], out[COUNT];

static int by_size(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

static double median(double times[])
{
    qsort(times, ROUNDS, sizeof *times, by_size);
    return times[ROUNDS / 2];
}

static double ms_since(int64_t start)
{
    return (double)(rank_now_ns() - start) / MS_NS;
}

/* Compute without any call; return the milliseconds. */
static double compute(uint64_t steps)
{
    const int64_t start = rank_now_ns();
    volatile double x = 1;

    for (uint64_t i = 0; i < steps; i++)
        x = x * 0.999999 + 1e-6;
    return ms_since(start);
}

static uint64_t steps_of(double ms)
{
    uint64_t steps = 1 << 20;

    while (compute(steps) < 100)
        steps *= 2;
    return (uint64_t)((double)steps * ms / compute(steps));
}

static void check(int k)
{
    const int32_t sum = me.size * (me.size - 1) / 2 + me.size * k;

    for (int i = 0; i < COUNT; i++)
        if (out[i] != sum + me.size * (i % 7))
            rank_fail("element %d of round %d is %d", i, k, out[i]);
}

static void fill(int k)
{
    for (int i = 0; i < COUNT; i++)
        in[i] = me.rank + k + i % 7;
}

static double block(int k)
{
    int64_t start;

    fill(k);
    rank_require(rcx_allreduce(in, out, 1, RCX_INT32, RCX_SUM, me.world),
                 "rcx_allreduce"); /* all ranks begin together */
    start = rank_now_ns();
    rank_require(rcx_allreduce(in, out, COUNT, RCX_INT32, RCX_SUM, me.world),
                 "rcx_allreduce");
    return ms_since(start);
}

static double overlap(int k, uint64_t steps, double *computed)
{
    rcx_request_t *request;
    int64_t start;

    fill(k);
    rank_require(rcx_allreduce(in, out, 1, RCX_INT32, RCX_SUM, me.world),
                 "rcx_allreduce");
    rank_require(
        rcx_iallreduce(in, out, COUNT, RCX_INT32, RCX_SUM, me.world, &request),
        "rcx_iallreduce");
    *computed = compute(steps);
    start = rank_now_ns();
    rank_require(rcx_wait(request), "rcx_wait");
    rank_require(rcx_request_free(&request), "rcx_request_free");
    return ms_since(start);
}

int main(int argc, char **argv)
{
    double blocked[ROUNDS], waited[ROUNDS], computed[ROUNDS], alone[ROUNDS];
    uint64_t steps;

    rank_require(rank_open(NULL), "rcx_init");
    steps = steps_of(argc == 2 ? atoi(argv[1]) : 1000);
    for (int k = 0; k < ROUNDS; k++) {
        blocked[k] = block(k);
        check(k);
        alone[k] = compute(steps);
        waited[k] = overlap(k, steps, &computed[k]);
        check(k);
    }
    if (me.rank == 0)
        printf("%.2f %.2f %.1f\n", median(blocked), median(waited),
               median(computed) - median(alone));
    rank_require(rcx_finalize(&me.context), "rcx_finalize");
    return 0;
}
