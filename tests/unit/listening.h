/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Three ranks that share a thread over the simulated network. Their log lines
 * are kept per rank, and time is skipped. Included once by each test of the
 * messages about operations that do not complete.
 */
#ifndef RCX_TESTS_UNIT_LISTENING_H
#define RCX_TESTS_UNIT_LISTENING_H

#include "test.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "calls.h"
#include "core/run/fault/ctrl_msg.h"

enum { RANKS = 3, COUNT = 24, CALLS = 4 };
#define SECOND UINT64_C(1000000000)

static struct lines said[RANKS];

/* Open the job with RCX_CHECK=check, and keep its log. Reductions use segments
 * of one element. */
__attribute__((unused)) static void open_listening(struct job *job,
                                                   const char *check)
{
    setenv("RCX_CHECK", check, 1);
    open_with(job, RANKS, "RCX_REDUCE", "binomial:segment=8", NULL);
    unsetenv("RCX_CHECK");
    job_listen(job, said);
}

__attribute__((unused)) static void assert_silent(int rank)
{
    if (said[rank].count != 0)
        fail_msg("rank %d has %d lines, \"%s\"", rank, said[rank].count,
                 said[rank].last);
}

/* Make reductions of many segments each, so that sequence numbers and numbers
 * of calls differ. */
__attribute__((unused)) static void reduce_often(struct job *job)
{
    const struct call call = {.coll = REDUCE, .count = COUNT, .kind = &sums};

    for (int i = 0; i < CALLS; i++)
        calls_run(job, &call, false);
    assert_silent(0);
}

__attribute__((unused)) static void progress(struct job *job)
{
    for (int i = 0; i < RANKS; i++)
        for (int k = 0; k < 100; k++)
            assert_true(rcx_progress(job->contexts[i]) >= 0);
}

/* Skip n half seconds. All ranks make progress after each of them. */
__attribute__((unused)) static void pass_half_seconds(struct job *job, int n)
{
    for (int k = 0; k < n; k++) {
        for (int i = 0; i < RANKS; i++)
            job->contexts[i]->time.skipped_ns += SECOND / 2;
        progress(job);
    }
}

__attribute__((unused)) static void pass(struct job *job, int seconds)
{
    pass_half_seconds(job, 2 * seconds);
}

__attribute__((unused)) static void assert_says(int rank, rcx_log_level_t level,
                                                const char *text)
{
    if (said[rank].count != 1 || !strstr(said[rank].last, text))
        fail_msg("rank %d has %d lines, \"%s\", not \"%s\"", rank,
                 said[rank].count, said[rank].last, text);
    assert_int_equal(said[rank].level, level);
}

/* The number of the next operation in rank 0's recorder. */
__attribute__((unused)) static uint64_t recorded(const struct job *job)
{
    return world_of(job, 0)->recorder.next;
}

__attribute__((unused)) static void abandon(struct job *job,
                                            rcx_request_t *requests[], int n)
{
    for (int i = 0; i < n; i++)
        assert_ok(rcx_request_free(&requests[i]));
    job_abandon(job);
}

__attribute__((unused)) static void
start(struct job *job, int rank, rcx_op_t op, rcx_request_t **request_p)
{
    static int64_t in[COUNT], out[RANKS][COUNT];

    assert_ok(rcx_ireduce(in, out[rank], COUNT, RCX_INT64, op, 1,
                          world_of(job, rank), request_p));
}

__attribute__((unused)) static void progress_one(struct job *job, int rank)
{
    for (int k = 0; k < 100; k++)
        assert_true(rcx_progress(job->contexts[rank]) >= 0);
}

#endif
