/* SPDX-License-Identifier: BSD-3-Clause */
/* One operation in its three forms, and the timed iterations of each mode. */
#include "rcx_perf/rcx_perf.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* ---- Operations ---------------------------------------------------------- */

int perf_turns(const struct perf_job *job)
{
    return job->options.coll->is_messages ? 2 : 1;
}

int perf_calls(const struct perf_job *job)
{
    return job->options.coll->is_messages ? job->options.vectors : 1;
}

/* Arguments of call k of a turn. For messages: message k, which the lower rank
 * sends in turn 0, and the higher one in turn 1. */
static struct perf_call call_of(const struct perf_job *job,
                                struct perf_call call, int turn, int k)
{
    const size_t bytes = call.count * job->options.type->bytes;

    if (!job->options.coll->is_messages)
        return call;
    call.in = (const char *)call.in + (size_t)k * bytes;
    call.out = (char *)call.out + (size_t)k * bytes;
    call.sends = (job->rank < call.partner) == (turn == 0);
    return call;
}

rcx_status_t perf_drop(struct perf_job *job)
{
    const int n = perf_turns(job) * perf_calls(job);
    rcx_status_t status = RCX_OK;

    for (int i = 0; i < n; i++)
        if (job->requests[i] && status == RCX_OK)
            status = rcx_request_free(&job->requests[i]);
    return status;
}

rcx_status_t perf_prepare(struct perf_job *job, const struct perf_row *row)
{
    const struct perf_call all = perf_call_of(job, row);
    const int n = perf_calls(job);
    rcx_status_t status = RCX_OK;

    for (int i = 0; i < perf_turns(job) * n && status == RCX_OK; i++) {
        const struct perf_call call = call_of(job, all, i / n, i % n);

        status =
            job->options.coll->call(&call, FORM_PERSISTENT, &job->requests[i]);
    }
    return status;
}

/* Complete a call. A blocking call is complete already. */
static rcx_status_t finish(struct perf_job *job, rcx_request_t **request)
{
    const enum perf_form form = job->options.form;
    rcx_status_t status, freed;

    if (form == FORM_BLOCKING)
        return RCX_OK;
    status = rcx_wait(*request);
    if (form == FORM_PERSISTENT)
        return status;
    freed = rcx_request_free(request);
    return status == RCX_OK ? freed : status;
}

rcx_status_t perf_operate(struct perf_job *job, const struct perf_row *row)
{
    const struct perf_options *o = &job->options;
    const struct perf_call all = perf_call_of(job, row);
    const int n = perf_calls(job);
    rcx_request_t **r = job->requests;
    rcx_status_t status = RCX_OK;

    for (int turn = 0; turn < perf_turns(job); turn++, r += n) {
        for (int k = 0; k < n && status == RCX_OK; k++) {
            const struct perf_call call = call_of(job, all, turn, k);

            status = o->form == FORM_PERSISTENT
                         ? rcx_start(r[k])
                         : o->coll->call(&call, o->form, &r[k]);
        }
        for (int k = 0; k < n && status == RCX_OK; k++)
            status = finish(job, &r[k]);
    }
    return status;
}

/* ---- The tool's own collectives ------------------------------------------ */

static bool is_forced(const struct perf_job *job, enum rcx_coll coll)
{
    const struct perf_options *o = &job->options;

    return o->algo && o->coll->row == coll;
}

/*
 * Communication of the tool uses a collective other than the one that --algo
 * forces: its algorithm may not support these sizes, and a barrier that differs
 * between algorithms would make times hard to compare.
 */
rcx_status_t perf_agree(struct perf_job *job, double *value)
{
    if (!is_forced(job, RCX_COLL_ALLREDUCE))
        return rcx_allreduce(RCX_IN_PLACE, value, 1, RCX_FLOAT64, RCX_MAX,
                             job->comm);
    for (int i = 0; i < job->size; i++)
        job->copies[i] = *value;
    return rcx_reduce_scatter_block(job->copies, value, 1, RCX_FLOAT64, RCX_MAX,
                                    job->comm);
}

/* to[i] = from[i] of all ranks combined by op, valid on rank 0 only. */
static rcx_status_t collect(struct perf_job *job, const double *from,
                            double *to, size_t n, rcx_op_t op)
{
    if (is_forced(job, RCX_COLL_REDUCE))
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

/* Fill the operand with copies of a tile, as if it had just been computed;
 * NULL: with zeros. Copies of one tile are cheap. */
static void refresh(struct perf_job *job, const struct perf_row *row,
                    const char *tile)
{
    const size_t elem_bytes = job->options.type->bytes;
    const size_t tile_bytes = TILE_BYTES / elem_bytes * elem_bytes;
    const struct perf_sides s = perf_sides(job, row);

    for (int k = 0; k < s.given.pieces; k++) {
        char *piece = s.given.base + s.given.at[k] * elem_bytes;
        const size_t bytes = s.given.counts[k] * elem_bytes;

        if (!tile)
            memset(piece, 0, bytes);
        for (size_t at = 0; tile && at < bytes; at += tile_bytes)
            memcpy(piece + at, tile,
                   bytes - at < tile_bytes ? bytes - at : tile_bytes);
    }
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

/* Run n iterations, each after a barrier. times may be NULL. */
static rcx_status_t run_sync(struct perf_job *job, const struct perf_row *row,
                             long n, double *times)
{
    rcx_status_t status = RCX_OK;

    for (long i = 0; i < n && status == RCX_OK; i++) {
        double ignored = 0, start;

        refresh(job, row, job->tiles[i & 1]);
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

/* Run n iterations back to back after a barrier, and store their total time. */
static rcx_status_t run_loop(struct perf_job *job, const struct perf_row *row,
                             long n, double *seconds_p)
{
    double ignored = 0, start;
    rcx_status_t status;

    /* In place, results become operands: zeros stay small under any op. */
    refresh(job, row, job->options.in_place ? NULL : job->tiles[n & 1]);
    status = perf_agree(job, &ignored);
    start = perf_now();
    for (long i = 0; i < n && status == RCX_OK; i++)
        status = perf_operate(job, row);
    *seconds_p = perf_now() - start;
    return status;
}

/* Report to rank 0 that this rank has completed the operation. */
static rcx_status_t report(struct perf_job *job)
{
    const char done = 1;

    if (!is_forced(job, RCX_COLL_GATHER))
        return rcx_gather(&done, job->reports, 1, RCX_BYTE, 0, job->comm);
    return rcx_reduce(&done, job->reports, 1, RCX_BYTE, RCX_BOR, 0, job->comm);
}

/* Run n iterations, each until rank 0 has the reports of all ranks, so that
 * rank 0 starts the next one when none is in progress. times may be NULL. */
static rcx_status_t run_reported(struct perf_job *job,
                                 const struct perf_row *row, long n,
                                 double *times)
{
    double ignored = 0;
    rcx_status_t status;

    refresh(job, row, job->options.in_place ? NULL : job->tiles[n & 1]);
    status = perf_agree(job, &ignored);
    for (long i = 0; i < n && status == RCX_OK; i++) {
        const double start = perf_now();

        status = perf_operate(job, row);
        if (status == RCX_OK)
            status = report(job);
        if (times)
            times[i] = perf_now() - start;
    }
    return status;
}

static rcx_status_t run_some(struct perf_job *job, const struct perf_row *row,
                             long n, double *seconds_p)
{
    const double start = perf_now();
    rcx_status_t status;

    if (job->options.mode == MODE_LOOP)
        return run_loop(job, row, n, seconds_p);
    status = job->options.mode == MODE_SYNC ? run_sync(job, row, n, NULL)
                                            : run_reported(job, row, n, NULL);
    *seconds_p = perf_now() - start;
    return status;
}

/* Warm up, and choose the number of iterations that fills the time. */
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
    row->figures[0] = (t[(n - 1) / 2] + t[n / 2]) / 2;
    row->figures[1] = t[(99 * n + 99) / 100 - 1];
    row->figures[2] = t[n - 1];
    return RCX_OK;
}

static rcx_status_t time_loop(struct perf_job *job, struct perf_row *row)
{
    double seconds, sum, mine[2], extremes[2];
    rcx_status_t status = run_loop(job, row, row->iterations, &seconds);

    seconds /= (double)row->iterations;
    mine[0] = seconds;
    mine[1] = -seconds;
    if (status == RCX_OK)
        status = collect(job, mine, extremes, 2, RCX_MAX);
    if (status == RCX_OK)
        status = collect(job, &seconds, &sum, 1, RCX_SUM);
    if (status != RCX_OK || job->rank != 0)
        return status;
    row->figures[0] = sum / job->size;
    row->figures[1] = -extremes[1];
    row->figures[2] = extremes[0];
    return RCX_OK;
}

/* Figures by rank 0's clock. */
static rcx_status_t time_reported(struct perf_job *job, struct perf_row *row)
{
    const size_t n = (size_t)row->iterations;
    double mean = 0, squares = 0;
    rcx_status_t status = run_reported(job, row, row->iterations, job->times);

    if (status != RCX_OK || job->rank != 0)
        return status;
    qsort(job->times, n, sizeof(double), ascending);
    for (size_t i = 0; i < n; i++)
        mean += job->times[i] / (double)n;
    for (size_t i = 0; i < n; i++)
        squares += (job->times[i] - mean) * (job->times[i] - mean);
    row->figures[0] = job->times[0];
    row->figures[1] = mean;
    row->figures[2] = n > 1 ? sqrt(squares / (double)(n - 1)) : 0;
    row->figures[3] = job->times[n - 1];
    return RCX_OK;
}

static rcx_status_t time_mode(struct perf_job *job, struct perf_row *row)
{
    switch (job->options.mode) {
    case MODE_LOOP: return time_loop(job, row);
    case MODE_REPORT: return time_reported(job, row);
    default: return time_sync(job, row);
    }
}

rcx_status_t perf_row_time(struct perf_job *job, struct perf_row *row)
{
    const int messages = perf_turns(job) * perf_calls(job);
    rcx_status_t status = make_tiles(job);

    if (status == RCX_OK)
        status = warm_up(job, row);
    if (status == RCX_OK)
        status = make_room(job, row->iterations);
    if (status == RCX_OK)
        status = time_mode(job, row);
    for (int i = 0; i < PERF_FIGURES && job->rank == 0; i++)
        row->figures[i] /= messages;
    return status;
}
