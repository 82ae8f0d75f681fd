/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Blocking calls that complete without progress of a peer: on a rank that only
 * sends, and on the last rank, whose messages have all arrived. Such a call
 * completes before it needs a request object. All ranks are on one thread, over
 * real UCX.
 */
#include "test.h"

#include <stdlib.h>

#include "calls.h"
#include "capture.h"

enum { RANKS = 2, TIMEOUT_NS = 200 * 1000 * 1000 };

static struct job job;
static struct capture said;

static void open_job(const struct rcx_tag_layout *layout)
{
    static rcx_params_t params = {
        .field_mask = RCX_PARAM_LOG, .log = capture_line, .log_arg = &said};
    const struct job_options options = {
        .params = &params, .ucx = true, .layout = layout};

    assert_ok(job_open(&job, RANKS, &options));
}

/* ---- Results ------------------------------------------------------------- */

static void run_last(enum collective coll, int last, int root, size_t count)
{
    static const size_t blocks[] = {3, 1};
    const struct call call = {.coll = coll,
                              .root = root,
                              .count = count,
                              .blocks = blocks,
                              .kind = &sums};
    struct calls c;

    calls_open(&c, &job, &call);
    calls_fill(&c);
    assert_ok(calls_make_one(&c, 1 - last, false));
    assert_ok(calls_block(&c, last));
    assert_ok(rcx_wait(c.requests[1 - last]));
    calls_check(&c);
    calls_close(&c);
}

/* Connect the ranks: the first messages do not arrive at once. */
static void connect_ranks(void)
{
    for (int last = 0; last < RANKS; last++)
        run_last(ALLREDUCE, last, 0, 1);
}

static void the_rank_that_calls_last_has_the_right_result(void **state)
{
    (void)state;
    open_job(NULL);
    for (int coll = 0; coll < COLLECTIVES; coll++)
        for (int i = 0; i < 8; i++)
            for (size_t count = 0; count < 20; count += 1 + count / 3)
                run_last((enum collective)coll, i & 1, i >> 1 & 1, count);
    assert_ok(job_close(&job));
}

static void a_blocking_average_is_divided_once(void **state)
{
    const float given[RANKS] = {3, 8};
    float gotten[RANKS] = {0, 0};
    rcx_request_t *request;

    (void)state;
    open_job(NULL);
    connect_ranks();
    assert_ok(rcx_iallreduce(&given[1], &gotten[1], 1, RCX_FLOAT, RCX_AVG,
                             world_of(&job, 1), &request));
    assert_ok(rcx_allreduce(&given[0], &gotten[0], 1, RCX_FLOAT, RCX_AVG,
                            world_of(&job, 0)));
    assert_ok(rcx_wait(request));
    assert_ok(rcx_request_free(&request));
    for (int i = 0; i < RANKS; i++)
        assert_float_equal(gotten[i], 5.5, 0);
    assert_ok(job_close(&job));
}

static int refuse(void *dst, const void *left, const void *right, size_t count,
                  rcx_datatype_t type, void *arg)
{
    (void)dst, (void)left, (void)right, (void)count, (void)type, (void)arg;
    return 1;
}

static void an_op_that_fails_is_logged(void **state)
{
    rcx_op_t ops[RANKS];
    int64_t in[RANKS] = {1, 2}, out[RANKS];
    rcx_request_t *request;

    (void)state;
    open_job(NULL);
    connect_ranks();
    for (int r = 0; r < RANKS; r++)
        assert_ok(rcx_op_create(job.contexts[r], refuse, true, NULL, &ops[r]));
    assert_ok(rcx_ireduce(&in[1], &out[1], 1, RCX_INT64, ops[1], 0,
                          world_of(&job, 1), &request));
    assert_refused(
        &said,
        rcx_reduce(&in[0], &out[0], 1, RCX_INT64, ops[0], 0, world_of(&job, 0)),
        RCX_ERR_OP, "reduce");
    rcx_wait(request);
    assert_ok(rcx_request_free(&request));
    run_last(ALLREDUCE, 0, 0, 4);
    assert_ok(job_close(&job));
}

/* ---- Other properties of such calls -------------------------------------- */

static void calls_are_recorded_in_their_order(void **state)
{
    enum { MANY = 10 };
    const struct rcx_recorder *recorder;
    uint64_t first;
    int64_t x = 0;

    (void)state;
    open_job(NULL);
    recorder = &world_of(&job, 0)->recorder;
    first = recorder->next;
    for (int i = 0; i < MANY; i++)
        assert_ok(rcx_bcast(&x, i % 2, RCX_INT64, 0, world_of(&job, 0)));
    assert_int_equal(recorder->next - first, MANY);
    for (uint64_t i = first; i < recorder->next; i++) {
        const struct rcx_entry *entry = rcx_recorder_at(recorder, i);
        const struct rcx_record *record = rcx_recorder_of(recorder, entry);

        assert_int_equal(entry->status, RCX_OK);
        assert_int_equal(record->coll, RCX_COLL_BCAST);
        assert_int_equal(record->count, (i - first) % 2);
    }
    for (int i = 0; i < MANY; i++)
        assert_ok(rcx_bcast(&x, i % 2, RCX_INT64, 0, world_of(&job, 1)));
    assert_ok(job_close(&job));
}

/* Count the calls that a rank which only sends completes while the other rank
 * does nothing. The next call, which times out, is not counted. */
static int64_t given[512];

static int count_blocking(size_t count)
{
    rcx_comm_t *comm = world_of(&job, 0);
    rcx_status_t status = RCX_OK;
    int n = -1;

    assert_ok(rcx_comm_set_timeout(comm, TIMEOUT_NS));
    capture_begin(&said);
    for (; status == RCX_OK; n++)
        status = rcx_bcast(given, count, RCX_INT64, 0, comm);
    capture_end(&said);
    assert_status(status, RCX_ERR_TIMEOUT);
    return n;
}

static int count_nonblocking(size_t count)
{
    rcx_comm_t *comm = world_of(&job, 0);
    rcx_request_t *request;
    int n = -1;

    assert_ok(rcx_comm_set_timeout(comm, TIMEOUT_NS));
    capture_begin(&said);
    for (rcx_status_t status = RCX_OK; status == RCX_OK; n++) {
        assert_ok(rcx_ibcast(given, count, RCX_INT64, 0, comm, &request));
        status = rcx_wait(request);
        assert_ok(rcx_request_free(&request));
    }
    capture_end(&said);
    return n;
}

/* Over UCX's messages, which only completion acknowledgements bound. */
static int count_run_ahead(int (*count)(size_t count))
{
    int n;

    setenv("RCX_LANES", "ucp", 1);
    open_job(NULL);
    unsetenv("RCX_LANES");
    connect_ranks();
    n = count(sizeof given / sizeof given[0]);
    assert_ok(rcx_comm_abort(world_of(&job, 1)));
    job_abandon(&job);
    return n;
}

static void a_blocking_sender_runs_no_further_ahead_than_requests(void **state)
{
    const int with_requests = count_run_ahead(count_nonblocking);

    (void)state;
    assert_int_equal(with_requests, RCX_AHEAD / sizeof given - 1);
    assert_int_equal(count_run_ahead(count_blocking), with_requests);
}

/* An earlier call is still active, so its sequence number must not be used
 * again. */
static void numbers_in_use_are_waited_for(void **state)
{
    static const struct rcx_tag_layout small = {2, 2, 2, 2, 22};
    rcx_request_t *request;
    int64_t x = 1, y;

    (void)state;
    open_job(&small);
    assert_ok(rcx_iallreduce(&x, &y, 1, RCX_INT64, RCX_SUM, world_of(&job, 0),
                             &request));
    assert_int_equal(count_blocking(1), (1 << small.sequence_bits) - 1);
    assert_ok(rcx_request_free(&request));
    assert_ok(rcx_comm_abort(world_of(&job, 1)));
    job_abandon(&job);
}

/* A rank that never waits must also learn of the failure. */
static void a_rank_that_only_sends_learns_of_a_failure(void **state)
{
    rcx_status_t status = RCX_OK;
    int64_t x = 0;
    int n = 0;

    (void)state;
    open_job(NULL);
    for (int i = 0; i < 3; i++)
        assert_ok(rcx_bcast(&x, 1, RCX_INT64, 0, world_of(&job, 0)));
    for (int i = 0; i < 3; i++)
        assert_ok(rcx_bcast(&x, 1, RCX_INT64, 0, world_of(&job, 1)));
    capture_begin(&said);
    assert_ok(rcx_comm_abort(world_of(&job, 1)));
    for (int i = 0; i < 100; i++)
        rcx_progress(job.contexts[1]);
    for (; status == RCX_OK && n < 900; n++)
        status = rcx_bcast(&x, 1, RCX_INT64, 0, world_of(&job, 0));
    capture_end(&said);
    assert_status(status, RCX_ERR_COMM_FAILED);
    job_abandon(&job);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_rank_that_calls_last_has_the_right_result),
        cmocka_unit_test(a_blocking_average_is_divided_once),
        cmocka_unit_test(an_op_that_fails_is_logged),
        cmocka_unit_test(calls_are_recorded_in_their_order),
        cmocka_unit_test(a_blocking_sender_runs_no_further_ahead_than_requests),
        cmocka_unit_test(numbers_in_use_are_waited_for),
        cmocka_unit_test(a_rank_that_only_sends_learns_of_a_failure),
    };

    return cmocka_run_group_tests_name("inproc_blocking", tests, NULL, NULL);
}
