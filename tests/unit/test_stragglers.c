/* SPDX-License-Identifier: BSD-3-Clause */
/* Straggler queries: the answers of members when an operation is overdue, the
 * time that they have for it, and the ranks that the error names. */
#include "core/run/detect/ctrl_dispatch.h"
#include "core/run/detect/straggler.h"
#include "core/run/fault/failure.h"
#include "listening.h"

/* Rank 1 waits in an earlier call, which rank 2 has not entered: only rank 2
 * must be named. */
static void a_rank_waiting_in_an_earlier_call_is_not_named(void **state)
{
    rcx_request_t *requests[3];
    struct job job;

    (void)state;
    open_listening(&job, "off");
    start(&job, 0, RCX_SUM, &requests[0]);
    start(&job, 1, RCX_SUM, &requests[1]);
    assert_ok(rcx_comm_set_timeout(world_of(&job, 0), (int64_t)SECOND));
    start(&job, 0, RCX_MAX, &requests[2]);
    pass(&job, 2);
    assert_says(0, RCX_LOG_ERROR,
                "reduce of 24 int64, max, root 1, number 2 "
                "on communicator 1 (world): timed out after ");
    assert_non_null(strstr(said[0].last, " s: rank 2 has not called it"));
    assert_null(strstr(said[0].last, "rank 1"));
    abandon(&job, requests, 3);
}

/* An answer for another operation must be ignored. */
static void an_answer_to_an_earlier_query_is_ignored(void **state)
{
    struct rcx_ctrl_msg late = {.kind = RCX_CTRL_NOT_ENTERED, .sequence = 1};
    rcx_request_t *requests[2];
    struct job job;

    (void)state;
    open_listening(&job, "off");
    reduce_often(&job);
    assert_ok(rcx_comm_set_timeout(world_of(&job, 1), (int64_t)SECOND));
    start(&job, 0, RCX_SUM, &requests[0]);
    start(&job, 1, RCX_SUM, &requests[1]);
    job.contexts[1]->time.skipped_ns += SECOND + SECOND / 2;
    for (int k = 0; k < 100; k++)
        rcx_progress(job.contexts[1]);
    assert_non_null(world_of(&job, 1)->query);
    rcx_ctrl_send(world_of(&job, 0), 1, &late);
    for (int k = 0; k < 100; k++)
        rcx_progress(job.contexts[1]);
    progress(&job); /* all ranks answer */
    job.contexts[1]->time.skipped_ns +=
        SECOND / 100; /* lets the detector run */
    progress(&job);
    progress(&job);
    assert_non_null(strstr(said[1].last, " s: rank 2 has not called it"));
    assert_null(strstr(said[1].last, "rank 0"));
    abandon(&job, requests, 2);
}

/* The machine stalled during the query. Answers must be read first, but not
 * waited for forever. */
static void answers_are_read_first_after_a_stall(void **state)
{
    (void)state;
    for (int are_silent = 0; are_silent < 2; are_silent++) {
        rcx_request_t *request;
        struct job job;

        open_listening(&job, "off");
        reduce_often(&job);
        assert_ok(rcx_comm_set_timeout(world_of(&job, 1), (int64_t)SECOND));
        start(&job, 1, RCX_SUM, &request);
        job.contexts[1]->time.skipped_ns += SECOND + SECOND / 2;
        progress_one(&job, 1);
        job.contexts[1]->time.skipped_ns += SECOND;
        progress_one(&job, 1);
        assert_silent(1);
        for (int i = 0; i < RANKS && !are_silent; i++)
            progress_one(&job, i);
        job.contexts[1]->time.skipped_ns += SECOND;
        progress_one(&job, 1);
        assert_int_equal(said[1].count, 1);
        assert_non_null(
            strstr(said[1].last, are_silent ? " s: rank 0 does not answer"
                                            : " s: rank 0 has not called it"));
        abandon(&job, &request, 1);
    }
}

/* Ranks 0 and 2 do not answer. Before, rank 0 has announced to rank 1 that it
 * could not finalize because of rank failed_for, so other members may have
 * left. */
static void ask_after_a_failed_finalize(int failed_for)
{
    rcx_request_t *request;
    struct job job;

    open_listening(&job, "off");
    rcx_comm_fail_reported(job.contexts[1]->internal, RCX_ERR_TIMEOUT,
                           &failed_for, 1, 0, 0, "told");
    assert_ok(rcx_comm_set_timeout(world_of(&job, 1), (int64_t)SECOND));
    start(&job, 1, RCX_SUM, &request);
    for (int i = 0; i < 2; i++) {
        job.contexts[1]->time.skipped_ns += SECOND + SECOND / 2;
        progress_one(&job, 1);
    }
    job.contexts[1]->time.skipped_ns += SECOND;
    progress_one(&job, 1);
    assert_status(rcx_comm_failure(world_of(&job, 1)), RCX_ERR_TIMEOUT);
    abandon(&job, &request, 1);
}

static void a_member_that_may_have_left_is_named_last(void **state)
{
    (void)state;
    ask_after_a_failed_finalize(2);
    assert_non_null(strstr(said[1].last, " s: rank 2 does not answer"));
    assert_null(strstr(said[1].last, "rank 0"));
    ask_after_a_failed_finalize(1);
    assert_non_null(strstr(said[1].last,
                           " s: rank 0 does not answer and may have finalized, "
                           "rank 2 does not answer and may have finalized"));
}

/* A rank that has freed the communicator has completed all its calls, so it
 * must not be named. */
static void a_rank_that_freed_the_communicator_is_not_named(void **state)
{
    rcx_request_t *request;
    struct job job;
    uint32_t id;

    (void)state;
    open_listening(&job, "off");
    id = world_of(&job, 0)->id;
    world_of(&job, 0)->id = id + 77; /* as if it were freed */
    assert_ok(rcx_comm_set_timeout(world_of(&job, 1), (int64_t)SECOND));
    start(&job, 1, RCX_SUM, &request);
    pass(&job, 2);
    assert_non_null(strstr(said[1].last, " s: rank 2 has not called it"));
    assert_null(strstr(said[1].last, "rank 0"));
    world_of(&job, 0)->id = id;
    rcx_ctrl_replay(world_of(&job, 0)); /* received meanwhile */
    abandon(&job, &request, 1);
}

static uint64_t clock_of(struct job *job, int rank)
{
    const struct rcx_instant now = rcx_instant_now();

    return rcx_time_at(&job->contexts[rank]->time, &now);
}

static void skip_ms(struct job *job, int rank, int ms)
{
    job->contexts[rank]->time.skipped_ns += (uint64_t)ms * (SECOND / 1000);
    progress_one(job, rank);
}

/* Ranks 0 and 2 do not make progress. The query is sent between first and last,
 * as the machine may stall at any time. A rank that stalled itself waits 100 ms
 * longer. */
static void members_have_half_of_the_deadline_to_answer(void **state)
{
    static const struct {
        int deadline_ms, answer_ms;
    } cases[] = {{10, 20}, {100, 50}, {300, 150}, {1000, 500}, {60000, 500}};

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const uint64_t answer = (uint64_t)cases[i].answer_ms * (SECOND / 1000);
        uint64_t first, last, silent;
        rcx_request_t *request;
        struct job job;

        open_listening(&job, "off");
        assert_ok(rcx_comm_set_timeout(
            world_of(&job, 1), cases[i].deadline_ms * INT64_C(1000000)));
        first = clock_of(&job, 1) + cases[i].deadline_ms * (SECOND / 1000);
        start(&job, 1, RCX_SUM, &request);
        skip_ms(&job, 1, cases[i].deadline_ms);
        silent = last = clock_of(&job, 1);
        while (said[1].count == 0 && silent < last + 2 * answer + SECOND) {
            silent = clock_of(&job, 1);
            skip_ms(&job, 1, 10);
        }
        assert_int_equal(said[1].count, 1);
        assert_true(clock_of(&job, 1) >= first + answer);
        assert_true(silent < last + answer + SECOND / 10);
        assert_non_null(strstr(said[1].last, " s: rank 0 does not answer"));
        abandon(&job, &request, 1);
    }
}

/* Rank 1's answer to a query of rank 0 for the last operation: for how many ms
 * it stalled. The stall is noted with the answer at the latest. */
static uint32_t stall_of_last(struct job *job)
{
    struct rcx_comm *comm = world_of(job, 1);
    struct rcx_transport *t = job->contexts[0]->transport;
    const struct rcx_ctrl_msg asked = {.kind = RCX_CTRL_QUERY,
                                       .comm_id = comm->id,
                                       .sequence = comm->window.next - 1};
    struct rcx_ctrl_frame *frame;
    struct rcx_ctrl_msg answer;

    rcx_straggler_answer(job->contexts[1], comm, &asked);
    for (int i = 0; i < 100 && !t->ctrl; i++)
        t->ops->progress(t);
    frame = rcx_ctrl_queue_pop(t);
    assert_non_null(frame);
    assert_int_equal(frame->bytes, sizeof answer);
    memcpy(&answer, frame->data, sizeof answer);
    t->ops->free_ctrl(t, frame);
    assert_int_equal(answer.kind, RCX_CTRL_ENTERED);
    return answer.value;
}

/* Make r seem to have begun ns earlier on rank 1. */
static void begin_earlier(struct job *job, struct rcx_request *r, uint64_t ns)
{
    const struct rcx_instant *born = &job->contexts[1]->time.born;
    const struct rcx_instant now = rcx_instant_now();

    r->begin -= (uint64_t)((double)(now.ticks - born->ticks) /
                           (double)(now.ns - born->ns) * (double)ns);
}

/* A rank that resumes after a stall may complete the operation before it reads
 * the query: the stall must still count. A rank that has completed it and
 * computes must not count as stalled. */
static void a_stall_counts_within_an_operation_that_is_complete(void **state)
{
    rcx_request_t *requests[RANKS];
    struct job job;

    (void)state;
    for (int is_within = 0; is_within < 2; is_within++) {
        open_listening(&job, "off");
        start(&job, 1, RCX_SUM, &requests[1]);
        progress_one(&job, 1);
        begin_earlier(&job, requests[1], 3 * SECOND);
        if (is_within)
            job.contexts[1]->detector.next_ns -= 2 * SECOND;
        start(&job, 0, RCX_SUM, &requests[0]);
        start(&job, 2, RCX_SUM, &requests[2]);
        assert_ok(job_wait(&job, requests));
        if (!is_within)
            skip_ms(&job, 1, 2000);
        if (is_within)
            assert_in_range(stall_of_last(&job), 1900, 2900);
        else
            assert_in_range(stall_of_last(&job), 0, 900);
        assert_true(job.contexts[1]->detector.stall_ns >
                    2 * SECOND - SECOND / 10);
        for (int i = 0; i < RANKS; i++)
            assert_ok(rcx_request_free(&requests[i]));
        assert_ok(job_close(&job));
    }
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_rank_waiting_in_an_earlier_call_is_not_named),
        cmocka_unit_test(an_answer_to_an_earlier_query_is_ignored),
        cmocka_unit_test(a_member_that_may_have_left_is_named_last),
        cmocka_unit_test(answers_are_read_first_after_a_stall),
        cmocka_unit_test(a_rank_that_freed_the_communicator_is_not_named),
        cmocka_unit_test(members_have_half_of_the_deadline_to_answer),
        cmocka_unit_test(a_stall_counts_within_an_operation_that_is_complete),
    };

    return cmocka_run_group_tests_name("stragglers", tests, NULL, NULL);
}
