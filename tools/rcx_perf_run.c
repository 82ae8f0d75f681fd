/* SPDX-License-Identifier: BSD-3-Clause */
/* One operation in its three forms, and the clock around many of them. */
#include "rcx_perf.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

/* ---- Operations ---------------------------------------------------------- */

/* At ranks that are not the root of a reduce nothing is in place. */
char *perf_operand(const struct perf_job *job)
{
    const struct perf_options *o = &job->options;
    const bool receives = !o->coll->root_gets || job->rank == o->root;

    return o->in_place && receives ? job->recv : job->send;
}

static struct perf_call call_of(const struct perf_job *job,
                                const struct perf_row *row)
{
    const struct perf_options *o = &job->options;
    const bool in_place = perf_operand(job) == job->recv;
    const size_t ranks = (size_t)job->size;
    const bool block = o->coll->blocks == BLOCKS_EQUAL;

    return (struct perf_call){.in = in_place ? RCX_IN_PLACE : job->send,
                              .out = job->recv,
                              .count = block ? row->count / ranks : row->count,
                              .recvcounts = job->recvcounts,
                              .type = o->type->type,
                              .op = o->op->op,
                              .root = o->root,
                              .comm = job->comm};
}

rcx_status_t perf_prepare(struct perf_job *job, const struct perf_row *row,
                          rcx_request_t **request_p)
{
    const struct perf_call call = call_of(job, row);

    return job->options.coll->prepare(&call, request_p);
}

rcx_status_t perf_operate(struct perf_job *job, const struct perf_row *row)
{
    const struct perf_options *o = &job->options;
    const struct perf_call call = call_of(job, row);
    rcx_request_t *request = row->request;
    rcx_status_t status, freed;

    if (o->form == FORM_BLOCKING)
        return o->coll->run(&call);
    status = request ? rcx_start(request) : o->coll->begin(&call, &request);
    if (status != RCX_OK)
        return status;
    status = rcx_wait(request);
    if (row->request)
        return status;
    freed = rcx_request_free(&request);
    return status == RCX_OK ? freed : status;
}

/* ---- What the ranks tell each other -------------------------------------- */

static bool is_forced(const struct perf_job *job, const char *algos)
{
    const struct perf_options *o = &job->options;

    return o->algo && strcmp(o->coll->algos, algos) == 0;
}

/*
 * The tool's own needs go over another collective than the one whose algorithm
 * --algo names: the algorithm may not work for these sizes, and a barrier that
 * came with each algorithm would make times hard to compare.
 */
rcx_status_t perf_agree(struct perf_job *job, double *value)
{
    if (!is_forced(job, "allreduce"))
        return rcx_allreduce(RCX_IN_PLACE, value, 1, RCX_FLOAT64, RCX_MAX,
                             job->comm);
    for (int i = 0; i < job->size; i++)
        job->copies[i] = *value;
    return rcx_reduce_scatter_block(job->copies, value, 1, RCX_FLOAT64, RCX_MAX,
                                    job->comm);
}

/* to[i] = from[i] op from[i] of all other ranks; counts on rank 0 alone. */
static rcx_status_t collect(struct perf_job *job, const double *from,
                            double *to, size_t n, rcx_op_t op)
{
    if (is_forced(job, "reduce"))
        return rcx_allreduce(from, to, n, RCX_FLOAT64, op, job->comm);
    return rcx_reduce(from, to, n, RCX_FLOAT64, op, 0, job->comm);
}

/* ---- Timed iterations ---------------------------------------------------- */

double perf_now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

enum { TILE_BYTES = 1 << 16, LEAST = 20, MOST = 10000 };

/* New data, one tile over and over: cheap, and as if just computed. */
static void refresh(struct perf_job *job, const struct perf_row *row, long i)
{
    const size_t elem_bytes = job->options.type->bytes;
    const size_t tile = TILE_BYTES / elem_bytes * elem_bytes;
    char *operand = perf_operand(job);

    for (size_t at = 0; at < row->bytes; at += tile)
        memcpy(operand + at, job->tiles[i & 1],
               row->bytes - at < tile ? row->bytes - at : tile);
}

static rcx_status_t make_tiles(struct perf_job *job)
{
    const struct perf_options *o = &job->options;

    for (int i = 0; i < 2; i++) {
        const struct perf_data data = {o->type, o->op->op, job->size,
                                       (uint64_t)i};

        if (job->tiles[i])
            continue;
        job->tiles[i] = malloc(TILE_BYTES);
        if (!job->tiles[i])
            return RCX_ERR_NOMEM;
        perf_data_fill(&data, job->rank, job->tiles[i],
                       TILE_BYTES / o->type->bytes);
    }
    return RCX_OK;
}

/* n iterations from a common start each; times may be NULL. */
static rcx_status_t run_sync(struct perf_job *job, const struct perf_row *row,
                             long n, double *times)
{
    rcx_status_t status = RCX_OK;

    for (long i = 0; i < n && status == RCX_OK; i++) {
        double ignored = 0, start;

        refresh(job, row, i);
        status = perf_agree(job, &ignored);
        if (status != RCX_OK)
            break;
        start = perf_now();
        status = perf_operate(job, row);
        if (times)
            times[i] = perf_now() - start;
    }
    return status;
}

/* n iterations back to back, after a common start; the time of all. */
static rcx_status_t run_loop(struct perf_job *job, const struct perf_row *row,
                             long n, double *seconds_p)
{
    double ignored = 0, start;
    rcx_status_t status;

    refresh(job, row, n);
    if (job->options.in_place) /* zeros stay small, whatever the op */
        memset(perf_operand(job), 0, row->bytes);
    status = perf_agree(job, &ignored);
    start = perf_now();
    for (long i = 0; i < n && status == RCX_OK; i++)
        status = perf_operate(job, row);
    *seconds_p = perf_now() - start;
    return status;
}

static rcx_status_t run_some(struct perf_job *job, const struct perf_row *row,
                             long n, double *seconds_p)
{
    const double start = perf_now();
    rcx_status_t status;

    if (job->options.mode == MODE_LOOP)
        return run_loop(job, row, n, seconds_p);
    status = run_sync(job, row, n, NULL);
    *seconds_p = perf_now() - start;
    return status;
}

/* Warm up, and find out how many iterations fill the time. */
static rcx_status_t warm_up(struct perf_job *job, struct perf_row *row)
{
    const struct perf_options *o = &job->options;
    const long half = o->warmup / 2;
    double seconds;
    rcx_status_t status = run_some(job, row, half, &seconds);

    if (status == RCX_OK)
        status = run_some(job, row, o->warmup - half, &seconds);
    row->iterations = o->iterations;
    if (status != RCX_OK || o->iterations > 0)
        return status;
    if (o->warmup == 0)
        status = run_some(job, row, 1, &seconds);
    seconds /= (double)(o->warmup ? o->warmup - half : 1);
    if (status == RCX_OK)
        status = perf_agree(job, &seconds);
    row->iterations = seconds * MOST <= o->seconds ? MOST
                      : seconds * LEAST >= o->seconds
                          ? LEAST
                          : (long)(o->seconds / seconds);
    return status;
}

static rcx_status_t make_room(struct perf_job *job, long n)
{
    const size_t bytes = (size_t)n * sizeof(double);

    if (n <= job->capacity)
        return RCX_OK;
    free(job->times);
    free(job->slowest);
    job->times = malloc(bytes);
    job->slowest = malloc(bytes);
    job->capacity = job->times && job->slowest ? n : 0;
    return job->capacity ? RCX_OK : RCX_ERR_NOMEM;
}

static int ascending(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

static rcx_status_t time_sync(struct perf_job *job, struct perf_row *row)
{
    const size_t n = (size_t)row->iterations;
    const double *t = job->slowest;
    rcx_status_t status = run_sync(job, row, row->iterations, job->times);

    if (status == RCX_OK)
        status = collect(job, job->times, job->slowest, n, RCX_MAX);
    if (status != RCX_OK || job->rank != 0)
        return status;
    qsort(job->slowest, n, sizeof(double), ascending);
    row->median = (t[(n - 1) / 2] + t[n / 2]) / 2;
    row->p99 = t[(99 * n + 99) / 100 - 1];
    row->max = t[n - 1];
    return RCX_OK;
}

static rcx_status_t time_loop(struct perf_job *job, struct perf_row *row)
{
    double seconds, mine[2], extremes[2];
    rcx_status_t status = run_loop(job, row, row->iterations, &seconds);

    seconds /= (double)row->iterations;
    mine[0] = seconds;
    mine[1] = -seconds;
    if (status == RCX_OK)
        status = collect(job, mine, extremes, 2, RCX_MAX);
    if (status == RCX_OK)
        status = collect(job, &seconds, &row->mean, 1, RCX_SUM);
    if (status != RCX_OK || job->rank != 0)
        return status;
    row->mean /= job->size;
    row->most = extremes[0];
    row->least = -extremes[1];
    return RCX_OK;
}

rcx_status_t perf_row_time(struct perf_job *job, struct perf_row *row)
{
    rcx_status_t status = make_tiles(job);

    if (status == RCX_OK)
        status = warm_up(job, row);
    if (status == RCX_OK)
        status = make_room(job, row->iterations);
    if (status != RCX_OK)
        return status;
    return job->options.mode == MODE_LOOP ? time_loop(job, row)
                                          : time_sync(job, row);
}
