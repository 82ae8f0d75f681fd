/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * rcx_wait_for(), rcx_wait_any() and rcx_test_any(): timeouts, sleep, the order
 * of reports, and rejected arguments. Ranks share a thread over the simulated
 * network, where messages arrive without progress of their sender.
 */
#include "test.h"

#include <poll.h>
#include <stdatomic.h>
#include <string.h>

#include "calls.h"
#include "capture.h"
#include "context.h"
#include "core/base/clock.h"
#include "crew.h"

enum { RANKS = 2, SEVERAL = 4 };
#define MS INT64_C(1000000)

static const struct call call = {.coll = ALLREDUCE, .count = 9, .kind = &sums};

/* Make rank 1's call as well, so that rank 0's operation completes. */
static void join_and_close(struct calls *c, struct job *job)
{
    assert_ok(calls_make_one(c, 1, false));
    for (int i = 0; i < RANKS; i++)
        assert_ok(rcx_wait_for(c->requests[i], INT64_MAX));
    calls_check(c);
    calls_close(c);
    assert_ok(job_close(job));
}

/* ---- Waits with a timeout ------------------------------------------------ */

static void wait_for_times_out_and_the_operation_continues(void **state)
{
    struct calls c;
    struct job job;

    (void)state;
    open_with(&job, RANKS, NULL, NULL, NULL);
    calls_open(&c, &job, &call);
    assert_ok(calls_make_one(&c, 0, false));
    for (int i = 0; i < 5; i++) {
        const uint64_t before = rcx_now_ns();

        assert_status(rcx_wait_for(c.requests[0], i * MS), RCX_IN_PROGRESS);
        assert_true(rcx_now_ns() - before >= (uint64_t)(i * MS));
    }
    assert_ok(rcx_comm_failure(world_of(&job, 0)));
    assert_ok(calls_make_one(&c, 1, false));
    for (int i = 0; i < RANKS; i++)
        assert_ok(rcx_wait_for(c.requests[i], INT64_MAX));
    calls_check(&c);
    for (int i = 0; i < RANKS; i++) /* complete requests stay so */
        assert_ok(rcx_wait_for(c.requests[i], 0));
    calls_close(&c);
    assert_ok(job_close(&job));
}

static void wait_for_no_time_makes_progress_once(void **state)
{
    struct calls c;
    struct job job;
    rcx_status_t statuses[RANKS] = {RCX_IN_PROGRESS, RCX_IN_PROGRESS};

    (void)state;
    open_with(&job, RANKS, NULL, NULL, NULL);
    calls_open(&c, &job, &call);
    calls_make(&c, true);
    assert_ok(rcx_wait_for(c.requests[0], 0)); /* complete */
    calls_start(&c);
    for (int i = 0; i < 100 && (statuses[0] || statuses[1]); i++)
        for (int rank = 0; rank < RANKS; rank++)
            statuses[rank] = rcx_wait_for(c.requests[rank], 0);
    assert_ok(statuses[0]);
    assert_ok(statuses[1]);
    calls_check(&c);
    calls_close(&c);
    assert_ok(job_close(&job));
}

/* A deadline of the communicator, in contrast, fails the communicator. */
static void a_deadline_that_passes_ends_wait_for(void **state)
{
    struct calls c;
    struct job job;

    (void)state;
    open_with(&job, RANKS, "RCX_LOG", "error", NULL);
    assert_ok(rcx_comm_set_timeout(world_of(&job, 0), 3 * MS));
    calls_open(&c, &job, &call);
    assert_ok(calls_make_one(&c, 0, false));
    assert_status(rcx_wait_for(c.requests[0], INT64_MAX), RCX_ERR_TIMEOUT);
    assert_status(rcx_wait_for(c.requests[0], 0), RCX_ERR_TIMEOUT);
    assert_status(rcx_comm_failure(world_of(&job, 0)), RCX_ERR_TIMEOUT);
    assert_ok(rcx_request_free(&c.requests[0]));
    calls_close(&c);
    job_abandon(&job);
}

/* ---- Sleep --------------------------------------------------------------- */

static _Atomic int64_t longest_ns; /* longest timeout of a sleep */
static atomic_int sleeps;

int __real_ppoll(struct pollfd *fds, nfds_t n, const struct timespec *timeout,
                 const sigset_t *mask);
int __wrap_ppoll(struct pollfd *fds, nfds_t n, const struct timespec *timeout,
                 const sigset_t *mask);
int __wrap_ppoll(struct pollfd *fds, nfds_t n, const struct timespec *timeout,
                 const sigset_t *mask)
{
    const int64_t ns = timeout->tv_sec * 1000 * MS + timeout->tv_nsec;

    if (ns > longest_ns)
        longest_ns = ns;
    sleeps++;
    return __real_ppoll(fds, n, timeout, mask);
}

static void a_wait_that_sleeps_ends_when_its_time_is_up(void **state)
{
    struct calls c;
    struct job job;

    (void)state;
    open_with(&job, RANKS, "RCX_WAIT", "block", NULL);
    calls_open(&c, &job, &call);
    assert_ok(calls_make_one(&c, 0, false));
    for (int64_t ms = 1; ms <= 4; ms++) {
        longest_ns = 0;
        sleeps = 0;
        assert_status(rcx_wait_for(c.requests[0], ms * MS), RCX_IN_PROGRESS);
        assert_in_range(longest_ns, 0, ms * MS);
    }
    for (int64_t ms = 1; sleeps == 0; ms *= 2) /* cores may be busy */
        assert_status(rcx_wait_for(c.requests[0], ms * MS), RCX_IN_PROGRESS);
    join_and_close(&c, &job);
}

/* ---- Waits for one of several requests ----------------------------------- */

static void open_several(struct calls c[], struct job *job, bool persistent)
{
    for (int i = 0; i < SEVERAL; i++) {
        calls_open(&c[i], job, &call);
        calls_make(&c[i], persistent);
    }
}

/* The index that rcx_wait_any() reports next; the operation must have
 * succeeded. */
static size_t next_of(rcx_request_t *const requests[])
{
    size_t index = SIZE_MAX;

    assert_ok(rcx_wait_any(SEVERAL, requests, &index));
    return index;
}

static void wait_any_reports_each_once_in_the_order_of_their_ends(void **state)
{
    rcx_request_t *requests[SEVERAL];
    struct calls c[SEVERAL];
    struct job job;

    (void)state;
    open_with(&job, RANKS, NULL, NULL, NULL);
    open_several(c, &job, true);
    for (int i = 0; i < SEVERAL; i++) {
        calls_start(&c[i]);
        calls_wait(&c[i], RCX_OK); /* not reported by a call of rcx.h */
        requests[SEVERAL - 1 - i] = c[i].requests[0];
    }
    for (size_t i = 0; i < SEVERAL; i++)
        assert_int_equal(next_of(requests), SEVERAL - 1 - i);
    for (int i = 0; i < 2; i++) /* none is left */
        assert_int_equal(next_of(requests), SEVERAL);
    for (int i = 0; i < SEVERAL; i++) {
        calls_check(&c[i]);
        calls_close(&c[i]);
    }
    assert_ok(job_close(&job));
}

/* Rank 0's operations complete one by one, as rank 1 starts them. */
static void wait_any_waits_until_one_is_complete(void **state)
{
    rcx_request_t *requests[SEVERAL] = {NULL};
    struct calls c[SEVERAL];
    struct job job;

    (void)state;
    open_with(&job, RANKS, NULL, NULL, NULL);
    open_several(c, &job, true);
    for (int i = 0; i < SEVERAL; i++) {
        assert_ok(rcx_start(c[i].requests[0]));
        requests[i] = c[i].requests[0];
    }
    for (int i = 0; i < SEVERAL; i++) {
        size_t index = SIZE_MAX;

        assert_status(rcx_test_any(SEVERAL, requests, &index), RCX_IN_PROGRESS);
        assert_int_equal(index, SIZE_MAX);
        assert_ok(rcx_start(c[i].requests[1]));
        assert_int_equal(next_of(requests), i);
        assert_ok(rcx_wait(c[i].requests[1]));
        calls_check(&c[i]);
    }
    assert_int_equal(next_of(requests), SEVERAL);
    for (int i = 0; i < SEVERAL; i++)
        calls_close(&c[i]);
    assert_ok(job_close(&job));
}

static void count_call(rcx_request_t *request, rcx_status_t status, void *arg)
{
    (void)request;
    assert_ok(status);
    ++*(int *)arg;
}

/* A callback does not count as a report. */
static void a_request_that_was_returned_is_not_reported_again(void **state)
{
    rcx_request_t *requests[SEVERAL] = {NULL};
    int called = 0, done;
    struct calls c[SEVERAL];
    struct job job;

    (void)state;
    open_with(&job, RANKS, NULL, NULL, NULL);
    open_several(c, &job, false);
    for (int i = 0; i < SEVERAL; i++) {
        requests[i] = c[i].requests[0];
        calls_wait(&c[i], RCX_OK);
    }
    assert_ok(rcx_wait(requests[0]));
    assert_ok(rcx_test(requests[1], &done));
    assert_ok(rcx_wait_for(requests[2], 0));
    assert_ok(rcx_request_set_callback(requests[3], count_call, &called));
    assert_int_equal(called, 1);
    assert_int_equal(next_of(requests), 3);
    assert_int_equal(next_of(requests), SEVERAL);
    for (int i = 0; i < SEVERAL; i++) {
        calls_check(&c[i]);
        calls_close(&c[i]);
    }
    assert_ok(job_close(&job));
}

/* Each request completes in its start. The first one must not hide the
 * others. */
static void a_request_that_is_restarted_does_not_starve_others(void **state)
{
    rcx_request_t *requests[SEVERAL];
    int32_t in = 1, out[SEVERAL];
    rcx_context_t *context;
    size_t index;

    (void)state;
    assert_ok(rcx_init(NULL, &context));
    for (int i = 0; i < SEVERAL; i++) {
        assert_ok(rcx_allreduce_init(&in, &out[i], 1, RCX_INT32, RCX_SUM,
                                     rcx_world(context), &requests[i]));
        assert_ok(rcx_start(requests[i]));
    }
    for (size_t i = 0; i < 10 * SEVERAL; i++) {
        index = next_of(requests);
        assert_int_equal(index, i % SEVERAL);
        assert_ok(rcx_start(requests[index]));
    }
    for (int i = 0; i < SEVERAL; i++)
        assert_ok(rcx_request_free(&requests[i]));
    assert_ok(rcx_finalize(&context));
}

static void where_there_is_none_to_wait_for_the_index_is_n(void **state)
{
    rcx_request_t *requests[SEVERAL] = {NULL};
    int32_t in = 1, out;
    rcx_context_t *context;
    size_t index = SIZE_MAX;

    (void)state;
    assert_ok(rcx_wait_any(0, NULL, &index));
    assert_int_equal(index, 0);
    assert_int_equal(next_of(requests), SEVERAL);
    assert_ok(rcx_init(NULL, &context));
    assert_ok(rcx_allreduce_init(&in, &out, 1, RCX_INT32, RCX_SUM,
                                 rcx_world(context), &requests[2]));
    assert_int_equal(next_of(requests), SEVERAL); /* never started */
    assert_ok(rcx_test_any(SEVERAL, requests, &index));
    assert_int_equal(index, SEVERAL);
    assert_ok(rcx_start(requests[2]));
    assert_int_equal(next_of(requests), 2);
    assert_int_equal(next_of(requests), SEVERAL);
    assert_ok(rcx_request_free(&requests[2]));
    assert_ok(rcx_finalize(&context));
}

static void an_operations_error_is_returned_with_its_index(void **state)
{
    rcx_request_t *requests[SEVERAL] = {NULL};
    struct calls c[SEVERAL];
    struct job job;

    (void)state;
    open_with(&job, RANKS, "RCX_LOG", "error", NULL);
    open_several(c, &job, true);
    for (int i = 0; i < SEVERAL; i++) {
        requests[i] = c[i].requests[0];
        if (i > 0)
            assert_ok(rcx_start(requests[i]));
    }
    assert_ok(rcx_comm_abort(world_of(&job, 0)));
    for (size_t i = 1; i < SEVERAL; i++) {
        size_t index = SIZE_MAX;

        assert_status(rcx_wait_any(SEVERAL, requests, &index),
                      RCX_ERR_COMM_FAILED);
        assert_int_equal(index, i);
    }
    assert_int_equal(next_of(requests), SEVERAL);
    assert_ok(rcx_comm_abort(world_of(&job, 1)));
    for (int i = 0; i < SEVERAL; i++)
        calls_close(&c[i]);
    job_abandon(&job);
}

/* ---- Several threads ----------------------------------------------------- */

struct shared {
    rcx_request_t *requests[SEVERAL];
    atomic_int reports[SEVERAL + 1];
};

static void take_all(int number, void *arg)
{
    struct shared *s = arg;
    size_t index = 0;

    (void)number;
    while (index < SEVERAL) {
        require_ok(rcx_wait_any(SEVERAL, s->requests, &index));
        s->reports[index]++;
    }
}

static void share(struct job *job, int rank, void *arg)
{
    struct crew crew = {.size = 0};
    struct shared s = {.requests = {NULL}};
    int words[SEVERAL];

    (void)arg;
    for (int i = 0; i < SEVERAL; i++) {
        words[i] = 1;
        require_ok(rcx_iallreduce(RCX_IN_PLACE, &words[i], 1, RCX_INT, RCX_SUM,
                                  world_of(job, rank), &s.requests[i]));
    }
    for (int i = 0; i < 2; i++)
        crew_add(&crew, take_all, &s);
    crew_join(&crew);
    for (int i = 0; i < SEVERAL; i++) {
        require(words[i] == job->size && s.reports[i] == 1);
        require_ok(rcx_request_free(&s.requests[i]));
    }
    require(s.reports[SEVERAL] == 2);
}

static void threads_that_wait_for_the_same_requests_share_them(void **state)
{
    (void)state;
    for (int thread = 0; thread <= 1; thread++)
        for (int i = 0; i < 50; i++)
            crew_job(RANKS, RCX_THREAD_MULTIPLE, thread, share, NULL);
}

/* ---- Rejected arguments -------------------------------------------------- */

static struct capture said = {.asks_for_name = true};

static rcx_context_t *open_single(void)
{
    const rcx_params_t params = {
        .field_mask = RCX_PARAM_LOG, .log = capture_line, .log_arg = &said};
    rcx_context_t *context;

    assert_ok(rcx_init(&params, &context));
    return context;
}

static rcx_request_t *start_alone(rcx_context_t *context)
{
    static int32_t in = 1, out;
    rcx_request_t *request;

    assert_ok(rcx_iallreduce(&in, &out, 1, RCX_INT32, RCX_SUM,
                             rcx_world(context), &request));
    return request;
}

static void wrong_arguments_of_waits_are_named(void **state)
{
    rcx_context_t *contexts[2] = {open_single(), open_single()};
    rcx_request_t *requests[3] = {NULL, start_alone(contexts[0]), NULL};
    rcx_request_t *freed;
    size_t index = 7;

    (void)state;
    assert_refused(&said, rcx_wait_for(NULL, 0), RCX_ERR_ARG, "request");
    assert_refused(&said, rcx_wait_for(requests[1], -1), RCX_ERR_ARG,
                   "timeout_ns=-1");
    assert_refused(&said, rcx_wait_any(1, NULL, &index), RCX_ERR_ARG,
                   "requests");
    assert_refused(&said, rcx_wait_any(3, requests, NULL), RCX_ERR_ARG,
                   "index_p");
    requests[2] = start_alone(contexts[1]);
    assert_refused(&said, rcx_wait_any(3, requests, &index), RCX_ERR_ARG,
                   "requests[2]", "another context", "requests[1]");
    assert_refused(&said, rcx_test_any(3, requests, &index), RCX_ERR_ARG,
                   "another context");
    freed = requests[2];
    assert_ok(rcx_request_free(&requests[2]));
    requests[2] = freed;
    assert_refused(&said, rcx_wait_any(3, requests, &index), RCX_ERR_ARG,
                   "was freed");
    assert_refused(&said, rcx_wait_for(freed, 0), RCX_ERR_ARG, "was freed");
    assert_int_equal(index, 7);
    assert_ok(rcx_wait_any(2, requests, &index)); /* still reported */
    assert_int_equal(index, 1);
    assert_ok(rcx_request_free(&requests[1]));
    for (int i = 0; i < 2; i++)
        assert_ok(rcx_finalize(&contexts[i]));
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(wait_for_times_out_and_the_operation_continues),
        cmocka_unit_test(wait_for_no_time_makes_progress_once),
        cmocka_unit_test(a_deadline_that_passes_ends_wait_for),
        cmocka_unit_test(a_wait_that_sleeps_ends_when_its_time_is_up),
        cmocka_unit_test(wait_any_reports_each_once_in_the_order_of_their_ends),
        cmocka_unit_test(wait_any_waits_until_one_is_complete),
        cmocka_unit_test(a_request_that_was_returned_is_not_reported_again),
        cmocka_unit_test(a_request_that_is_restarted_does_not_starve_others),
        cmocka_unit_test(where_there_is_none_to_wait_for_the_index_is_n),
        cmocka_unit_test(an_operations_error_is_returned_with_its_index),
        cmocka_unit_test(threads_that_wait_for_the_same_requests_share_them),
        cmocka_unit_test(wrong_arguments_of_waits_are_named),
    };

    return cmocka_run_group_tests_name("waits", tests, NULL, NULL);
}
