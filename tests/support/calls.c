/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Calls of a whole job in one process: functions that make, start, wait for and
 * check the same call on every rank. One thread drives all ranks, so a blocking
 * call is made for one rank only.
 */
#include "calls.h"

#include <stdlib.h>
#include <string.h>

#include "test.h"

void calls_open(struct calls *c, struct job *job, const struct call *call)
{
    memset(c, 0, sizeof *c);
    c->job = job;
    c->call = *call;
    for (int rank = 0; rank < job->size; rank++)
        attempt_open(&c->attempts[rank], call, world_of(job, rank));
}

void calls_close(struct calls *c)
{
    for (int rank = 0; rank < c->job->size; rank++) {
        if (c->requests[rank])
            assert_ok(rcx_request_free(&c->requests[rank]));
        c->attempts[rank].request = NULL;
        attempt_close(&c->attempts[rank]);
    }
}

void calls_fill(struct calls *c)
{
    c->call.seed++;
    for (int rank = 0; rank < c->job->size; rank++)
        attempt_load(&c->attempts[rank], c->call.seed);
}

static rcx_status_t make(struct calls *c, int rank, enum form form)
{
    struct attempt *a = &c->attempts[rank];
    rcx_status_t status;

    a->call.form = form;
    status = attempt_call(a, world_of(c->job, rank));
    c->requests[rank] = a->request;
    return status;
}

rcx_status_t calls_make_one(struct calls *c, int rank, bool persistent)
{
    return make(c, rank, persistent ? PERSISTENT : NONBLOCKING);
}

rcx_status_t calls_block(struct calls *c, int rank)
{
    return make(c, rank, BLOCKING);
}

void calls_make(struct calls *c, bool persistent)
{
    for (int rank = 0; rank < c->job->size; rank++)
        assert_ok(calls_make_one(c, rank, persistent));
}

void calls_start(struct calls *c)
{
    for (int rank = 0; rank < c->job->size; rank++)
        assert_ok(rcx_start(c->requests[rank]));
}

void calls_wait(struct calls *c, rcx_status_t expected)
{
    assert_status(job_wait(c->job, c->requests), expected);
}

void calls_check(struct calls *c)
{
    for (int rank = 0; rank < c->job->size; rank++)
        if (attempt_check(&c->attempts[rank]))
            fail_msg("rank %d of %d: %s", rank, c->job->size,
                     c->attempts[rank].problem);
}

void calls_run(struct job *job, const struct call *call, bool persistent)
{
    struct calls c;

    calls_open(&c, job, call);
    calls_make(&c, persistent);
    for (int again = 0; again <= persistent; again++) {
        if (persistent) {
            calls_fill(&c);
            calls_start(&c);
        }
        calls_wait(&c, RCX_OK);
        calls_check(&c);
    }
    calls_close(&c);
}

void open_with(struct job *job, int size, const char *name, const char *value,
               const struct job_options *options)
{
    static const struct job_options usual = {.seed = 1};

    if (name)
        setenv(name, value, 1);
    assert_ok(job_open(job, size, options ? options : &usual));
    if (name)
        unsetenv(name);
}
