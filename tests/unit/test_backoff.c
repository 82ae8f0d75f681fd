/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Backoff of a waiting rank, and of one that tests in a loop: when it releases
 * its core, and whether it yields or sleeps. Ranks share a thread over the
 * simulated network, where rank 0 waits for rank 1. sched_yield() and
 * nanosleep() are wrapped to count them.
 */
#include "test.h"

#include <limits.h>
#include <sched.h>
#include <time.h>

#include "calls.h"
#include "context.h"
#include "core/base/clock.h"
#include "core/run/wait/progress.h"
#include "crew.h"

enum { RANKS = 2 };
#define MS INT64_C(1000000)

static const struct call call = {.coll = ALLREDUCE, .count = 9, .kind = &sums};

static void begin_to_wait(struct job *job, struct calls *c, bool shares)
{
    struct rcx_progress *p;

    open_with(job, RANKS, NULL, NULL, NULL);
    calls_open(c, job, &call);
    p = &job->contexts[0]->progress;
    p->is_oversubscribed = shares;
    p->polls = p->spin = 1;
    assert_ok(calls_make_one(c, 0, false));
}

/* Make rank 1's call as well, so that both complete. */
static void join_and_close(struct calls *c, struct job *job)
{
    assert_ok(calls_make_one(c, 1, false));
    for (int i = 0; i < RANKS; i++)
        assert_ok(rcx_wait_for(c->requests[i], INT64_MAX));
    calls_check(c);
    calls_close(c);
    assert_ok(job_close(job));
}

/* ---- Spinning while peers run -------------------------------------------- */

static const struct rcx_transport_ops *true_ops;
static bool peers_run, is_released;
static int releases, polls, fewest_polls;

/* Give rank 0 these functions in place of its transport's, which are
 * returned. */
static const struct rcx_transport_ops *
replace_ops(struct job *job, const struct rcx_transport_ops *ops)
{
    true_ops = job->contexts[0]->transport->ops;
    job->contexts[0]->transport->ops = ops;
    return true_ops;
}

static unsigned count_poll(struct rcx_transport *t)
{
    assert_false(is_released);
    polls++;
    return true_ops->progress(t);
}

/* Count core releases, and keep the smallest number of polls between two of
 * them. A rank drains after it was off its core for long, so only the smallest
 * number is exact. Polls before the first release do not count. */
static void count_release(struct rcx_transport *t, bool begins)
{
    (void)t;
    assert_true(begins != is_released);
    is_released = begins;
    if (begins && releases++ > 0 && polls < fewest_polls)
        fewest_polls = polls;
    polls = 0;
}

static bool report_peers_run(struct rcx_transport *t)
{
    (void)t;
    return peers_run;
}

/* Wait for a message that does not arrive, and return the smallest number of
 * polls between two releases of the core. yields is reset, so that the rank
 * never finds that it has the core to itself. */
static int polls_between_releases(struct calls *c, bool others_run)
{
    struct rcx_progress *p = &c->requests[0]->comm->context->progress;

    peers_run = others_run;
    releases = 0;
    fewest_polls = INT_MAX;
    while (releases < 20) {
        p->yields = 0;
        p->core_exclusive = false;
        assert_status(rcx_wait_for(c->requests[0], MS / 100), RCX_IN_PROGRESS);
        assert_false(is_released);
    }
    return fewest_polls;
}

static void a_core_is_kept_while_peers_run(void **state)
{
    struct rcx_transport_ops ops;
    struct calls c;
    struct job job;

    (void)state;
    begin_to_wait(&job, &c, true);
    ops = *replace_ops(&job, &ops);
    ops.progress = count_poll;
    ops.core_released = count_release;
    ops.peers_run = report_peers_run;
    assert_true(polls_between_releases(&c, false) < 40);
    assert_true(polls_between_releases(&c, true) >= 40);
    job.contexts[0]->transport->ops = true_ops;
    join_and_close(&c, &job);
}

/* ---- Yields to computing tasks ------------------------------------------- */

static bool yields_are_long, yields_are_counted_only;
static int yields, sleeps;

int __real_sched_yield(void);
int __wrap_sched_yield(void);
int __wrap_sched_yield(void)
{
    const uint64_t since = rcx_ticks();

    yields++;
    while (yields_are_long && rcx_ticks() - since <= RCX_IDLE_TICKS)
        continue;
    return yields_are_counted_only ? 0 : __real_sched_yield();
}

int __real_nanosleep(const struct timespec *t, struct timespec *left);
int __wrap_nanosleep(const struct timespec *t, struct timespec *left);
int __wrap_nanosleep(const struct timespec *t, struct timespec *left)
{
    sleeps++;
    return __real_nanosleep(t, left);
}

/* Poll in many short waits, as a single long wait would lead to a sleep in any
 * case. */
static void wait_until_there_have_been(struct calls *c, int of_sleeps,
                                       int of_yields)
{
    while (sleeps < of_sleeps || yields < of_yields)
        assert_status(rcx_wait_for(c->requests[0], MS / 100), RCX_IN_PROGRESS);
}

/* A rank whose yields take long must sleep instead. When contended_until has
 * passed, it must yield again; each of these yields is long again. */
static void a_rank_sleeps_after_long_yields_and_then_yields_again(void **state)
{
    struct calls c;
    struct job job;

    (void)state;
    begin_to_wait(&job, &c, true);
    yields = sleeps = 0;
    yields_are_long = true;
    for (int i = 0; i < 5; i++) {
        wait_until_there_have_been(&c, sleeps + 1, 0);
        wait_until_there_have_been(&c, 0, yields + 1);
    }
    yields_are_long = false;
    wait_until_there_have_been(&c, 0, yields + 10);
    join_and_close(&c, &job);
}

/* The same in a loop of tests. */
static void a_loop_of_tests_sleeps_after_long_yields(void **state)
{
    struct calls c;
    struct job job;
    int done = 0;

    (void)state;
    begin_to_wait(&job, &c, true);
    sleeps = 0;
    yields_are_long = true;
    while (sleeps == 0) {
        assert_ok(rcx_test(c.requests[0], &done));
        assert_false(done);
    }
    yields_are_long = false;
    join_and_close(&c, &job);
}

/* Return contended_until after a yield. yields_are_long determines whether it
 * is long. Before it, there were in_a_row long yields and then of_short short
 * ones. */
static uint64_t contended_until_after_yield(struct calls *c, unsigned in_a_row,
                                            unsigned of_short)
{
    struct rcx_progress *p = &c->requests[0]->comm->context->progress;

    p->contention_level = in_a_row;
    p->long_yield = p->yields - of_short;
    p->contended_until = rcx_ticks();
    wait_until_there_have_been(c, 0, yields + 1);
    return p->contended_until;
}

static void long_yields_far_apart_are_no_contention(void **state)
{
    struct calls c;
    struct job job;
    uint64_t start;

    (void)state;
    begin_to_wait(&job, &c, true);
    yields_are_long = true;
    assert_true(contended_until_after_yield(&c, 0, 0) <= rcx_ticks());
    assert_true(contended_until_after_yield(&c, 1, 30) <= rcx_ticks());
    start = rcx_ticks();
    assert_true(contended_until_after_yield(&c, 1, 3) - start >
                4 * RCX_IDLE_TICKS);
    yields_are_long = false;
    join_and_close(&c, &job);
}

static bool need_cores(struct rcx_transport *t)
{
    (void)t;
    return true;
}

/* A rank that copies a long message for another one takes as long as a program
 * that computes, but only until it waits itself. */
static void long_yields_to_other_ranks_are_no_contention(void **state)
{
    struct rcx_transport_ops ops;
    struct calls c;
    struct job job;

    (void)state;
    begin_to_wait(&job, &c, true);
    ops = *replace_ops(&job, &ops);
    ops.cores_needed = need_cores;
    yields_are_long = true;
    for (unsigned level = 0; level < 4; level++)
        assert_true(contended_until_after_yield(&c, level, 0) <= rcx_ticks());
    job.contexts[0]->transport->ops = true_ops;
    yields_are_long = false;
    join_and_close(&c, &job);
}

static void a_rank_with_its_own_core_does_not_sleep(void **state)
{
    struct calls c;
    struct job job;

    (void)state;
    begin_to_wait(&job, &c, false);
    yields = sleeps = 0;
    yields_are_long = true;
    wait_until_there_have_been(&c, 0, 20);
    assert_int_equal(sleeps, 0);
    yields_are_long = false;
    join_and_close(&c, &job);
}

/* ---- Loops of calls that return at once ---------------------------------- */

static void by_test(rcx_request_t *r)
{
    int done = 1;

    assert_ok(rcx_test(r, &done));
    assert_false(done);
}

static void by_test_any(rcx_request_t *r)
{
    size_t index;

    assert_status(rcx_test_any(1, &r, &index), RCX_IN_PROGRESS);
}

static void by_test_all(rcx_request_t *r)
{
    int done = 1;

    assert_ok(rcx_test_all(1, &r, &done));
    assert_false(done);
}

static void by_wait_for(rcx_request_t *r)
{
    assert_status(rcx_wait_for(r, 0), RCX_IN_PROGRESS);
}

static void by_progress(rcx_request_t *r)
{
    assert_int_equal(rcx_progress(r->comm->context), 0);
}

static void by_iprobe(rcx_request_t *r)
{
    int flag = 1;

    assert_ok(rcx_iprobe(RCX_ANY_SOURCE, 7, r->comm, &flag, NULL));
    assert_false(flag);
}

/* Each polls once, finds nothing, and returns. */
static void (*const looks[])(rcx_request_t *r) = {
    by_test, by_test_any, by_test_all, by_wait_for, by_progress, by_iprobe};
enum { LOOKS = sizeof looks / sizeof *looks, TIMES_EACH = 4096 };

/* How many of so many looks in a row yield the core, where a wait releases it
 * after spin empty polls; RCX_WAIT says how it does that. No look sleeps. */
static void assert_yields(const char *wait, unsigned spin, int expected)
{
    struct calls c;
    struct job job;

    yields_are_counted_only = true; /* those to other programs may be long */
    open_with(&job, RANKS, "RCX_WAIT", wait, NULL);
    calls_open(&c, &job, &call);
    if (spin > 0) /* else as RCX_WAIT has it for any number of ranks */
        job.contexts[0]->progress.spin = spin;
    assert_ok(calls_make_one(&c, 0, false));
    for (int k = 0; k <= LOOKS; k++) { /* the last time, all in turn */
        by_test(c.requests[0]);        /* takes what has arrived */
        job.contexts[0]->progress.idle_polls = 0;
        yields = sleeps = 0;
        for (int i = 0; i < TIMES_EACH; i++)
            looks[k < LOOKS ? k : i % LOOKS](c.requests[0]);
        assert_int_equal(yields, expected);
        assert_int_equal(sleeps, 0);
    }
    yields_are_counted_only = false;
    join_and_close(&c, &job);
}

static void loops_of_tests_yield_as_a_wait_does(void **state)
{
    (void)state;
    assert_yields("poll", 0, 0);
    assert_yields("yield", 0, TIMES_EACH);
    assert_yields("block", 1, TIMES_EACH);
    assert_yields("block", 1024, TIMES_EACH / 1024);
    assert_yields("auto", 1, TIMES_EACH);
    assert_yields("auto", 1024, TIMES_EACH / 1024);
}

/* Each wait is too short to release the core by itself. */
static void loops_of_short_waits_release_the_core(void **state)
{
    struct calls c;
    struct job job;

    (void)state;
    begin_to_wait(&job, &c, false);
    job.contexts[0]->progress.polls = 64;
    job.contexts[0]->progress.spin = 1 << 20;
    yields = 0;
    for (int i = 0; yields < 2 && i < 1 << 20; i++)
        assert_status(rcx_wait_for(c.requests[0], MS / 1000), RCX_IN_PROGRESS);
    assert_int_equal(yields, 2);
    join_and_close(&c, &job);
}

static void a_probe_that_finds_its_message_does_not_yield(void **state)
{
    const int x = 5;
    rcx_request_t *r;
    struct job job;
    int flag = 0;

    (void)state;
    open_with(&job, RANKS, NULL, NULL, NULL);
    job.contexts[0]->progress.spin = 1;
    assert_ok(rcx_isend(&x, 1, RCX_INT, 0, 7, world_of(&job, 1), &r));
    while (!flag)
        assert_ok(rcx_iprobe(1, 7, world_of(&job, 0), &flag, NULL));
    yields = 0;
    for (int i = 0; i < 10; i++) {
        assert_ok(rcx_iprobe(1, 7, world_of(&job, 0), &flag, NULL));
        assert_true(flag);
    }
    assert_int_equal(yields, 0);
    assert_ok(rcx_recv(&flag, 1, RCX_INT, 1, 7, world_of(&job, 0), NULL));
    assert_int_equal(flag, x);
    assert_ok(rcx_wait(r));
    assert_ok(rcx_request_free(&r));
    assert_ok(job_close(&job));
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_core_is_kept_while_peers_run),
        cmocka_unit_test(a_rank_sleeps_after_long_yields_and_then_yields_again),
        cmocka_unit_test(a_loop_of_tests_sleeps_after_long_yields),
        cmocka_unit_test(long_yields_far_apart_are_no_contention),
        cmocka_unit_test(long_yields_to_other_ranks_are_no_contention),
        cmocka_unit_test(a_rank_with_its_own_core_does_not_sleep),
        cmocka_unit_test(loops_of_tests_yield_as_a_wait_does),
        cmocka_unit_test(loops_of_short_waits_release_the_core),
        cmocka_unit_test(a_probe_that_finds_its_message_does_not_yield),
    };

    return cmocka_run_group_tests_name("backoff", tests, NULL, NULL);
}
