/* SPDX-License-Identifier: BSD-3-Clause */
/* rcx_finalize(): the order of its phases, failures before and within them, and
 * time limits. Each rank must return in time, and log the reason. */
#include "test.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "bootstrap/bootstraps.h"
#include "bootstrap_side.h"
#include "context.h"
#include "core/run/comm/internal.h"
#include "core/run/fault/ctrl_msg.h"
#include "core/run/fault/failure.h"

enum { MOST = 5, EARLY = 1 };
#define DEADLINE_NS INT64_C(200000000)
#define HOUR_NS INT64_C(3600000000000)

/* What a rank logs, and the status of rcx_finalize(). */
struct rank {
    struct lines said;
    rcx_status_t status;
};

/* Keep a line, which starts with its rank in brackets. */
static void keep(rcx_log_level_t level, const char *text, void *arg)
{
    struct rank *ranks = arg;
    struct rank *r = &ranks[text[1] - '0'];

    require(text[0] == '[' && r - ranks < MOST);
    lines_keep(level, text, &r->said);
}

static void open_job(struct job *job, int size, bool threaded,
                     int64_t timeout_ns, struct rank ranks[MOST])
{
    const rcx_params_t params = {.field_mask =
                                     RCX_PARAM_LOG | RCX_PARAM_TIMEOUT,
                                 .log = keep,
                                 .log_arg = ranks,
                                 .timeout_ns = timeout_ns};
    const struct job_options options = {
        .params = &params, .threaded = threaded, .seed = (uint64_t)size};

    memset(ranks, 0, MOST * sizeof *ranks);
    assert_ok(job_open(job, size, &options));
}

static bool says(const struct rank *r, const char *text)
{
    return r->said.count == 1 && strstr(r->said.last, text);
}

/* ---- Failures that other ranks announce ---------------------------------- */

static void finalize(struct job *job, int rank, void *arg)
{
    struct rank *ranks = arg;

    ranks[rank].status = rcx_finalize(&job->contexts[rank]);
}

static void abort_behind_early(struct job *job, int rank, void *arg)
{
    if (rank != EARLY)
        require_ok(rcx_comm_abort(world_of(job, rank)));
    finalize(job, rank, arg);
}

static void finalize_returns_the_abort_of_another_rank(void **state)
{
    (void)state;
    for (int size = 2; size <= MOST; size++) {
        struct rank ranks[MOST];
        struct job job;

        open_job(&job, size, true, 0, ranks);
        job_each(&job, abort_behind_early, ranks);
        for (int i = 0; i < size; i++)
            assert_status(ranks[i].status,
                          i == EARLY ? RCX_ERR_COMM_FAILED : RCX_OK);
        assert_true(says(&ranks[EARLY], "because of rank"));
        job_free(&job);
    }
}

/* Rank 0 makes a call with a deadline; the other ranks are in
 * rcx_finalize(). */
static void call_on_rank_0(struct job *job, int rank, void *arg)
{
    rcx_comm_t *world = world_of(job, rank);
    int x = 1;

    if (rank == 0) {
        require_ok(rcx_comm_set_timeout(world, DEADLINE_NS));
        require_status(
            rcx_allreduce(RCX_IN_PLACE, &x, 1, RCX_INT, RCX_SUM, world),
            RCX_ERR_TIMEOUT);
    }
    finalize(job, rank, arg);
}

static void finalize_returns_the_timeout_of_another_rank(void **state)
{
    (void)state;
    for (int size = 2; size <= MOST; size++) {
        struct rank ranks[MOST];
        struct job job;

        open_job(&job, size, true, 0, ranks);
        job_each(&job, call_on_rank_0, ranks);
        for (int i = 1; i < size; i++) {
            assert_status(ranks[i].status, RCX_ERR_TIMEOUT);
            assert_true(says(&ranks[i], "failed on rank 0"));
            assert_non_null(strstr(ranks[i].said.last, "because of rank 1"));
        }
        assert_ok(ranks[0].status);
        job_free(&job);
    }
}

/* ---- Failures between the barriers --------------------------------------- */

/* Rank 1 of 2 takes part in both barriers by hand, and then fails. */
static void fail_after_two_barriers(struct job *job, int rank, void *arg)
{
    static const int culprits[] = {0};

    if (rank == 0) {
        finalize(job, rank, arg);
        return;
    }
    for (int i = 0; i < 2; i++)
        require_ok(rcx_internal_barrier(job->contexts[1]->internal));
    rcx_comm_fail(job->contexts[1]->internal, RCX_ERR_TIMEOUT, culprits, 1,
                  "bad");
}

static void close_other(struct job *job)
{
    mark_failed(job->contexts[1]->world);
    rcx_finalize(&job->contexts[1]);
    job_free(job);
}

static void a_failure_ends_the_wait_in_the_bootstraps_barrier(void **state)
{
    struct rank ranks[MOST];
    struct job job;

    (void)state;
    open_job(&job, 2, true, 0, ranks);
    job_each(&job, fail_after_two_barriers, ranks);
    assert_status(ranks[0].status, RCX_ERR_TIMEOUT);
    assert_true(says(&ranks[0], "communicator 0 (RCX's own) failed on rank 1"));
    close_other(&job);
}

/* Rank 0 receives rank 1's failure in rcx_progress(), before it finalizes. As
 * no call has returned the error, rcx_finalize() must return and log it. */
static void finalize_returns_a_failure_received_before_it(void **state)
{
    static const int lost[] = {1};
    struct rank ranks[MOST];
    struct job job;

    (void)state;
    open_job(&job, 2, false, 0, ranks);
    rcx_comm_fail(job.contexts[1]->internal, RCX_ERR_TRANSPORT, lost, 1, "bad");
    for (int i = 0; i < 200; i++)
        for (int r = 1; r >= 0; r--)
            assert_true(rcx_progress(job.contexts[r]) >= 0);
    assert_status(rcx_comm_failure(job.contexts[0]->internal),
                  RCX_ERR_TRANSPORT);
    finalize(&job, 0, ranks);
    assert_status(ranks[0].status, RCX_ERR_TRANSPORT);
    assert_true(says(&ranks[0], "because of rank 1"));
    close_other(&job);
}

static void finalize_with_a_deadline_of_the_world(struct job *job, int rank,
                                                  void *arg)
{
    if (rank == 0) {
        require_ok(rcx_comm_set_timeout(world_of(job, rank), DEADLINE_NS));
        finalize(job, rank, arg);
    }
}

static void finalize_has_the_deadline_of_the_world(void **state)
{
    struct rank ranks[MOST];
    struct job job;

    (void)state;
    open_job(&job, 2, true, 0, ranks);
    job_each(&job, finalize_with_a_deadline_of_the_world, ranks);
    assert_status(ranks[0].status, RCX_ERR_TIMEOUT);
    assert_non_null(strstr(ranks[0].said.last, "rank 1"));
    close_other(&job);
}

/* Rank 1 is reported as failed when rank 0 flushes, after its first barrier. */
static unsigned char failed[MOST];
static struct rcx_context *rank_0;
static unsigned (*true_progress)(struct rcx_transport *t);

static rcx_status_t flush_and_fail_rank_1(struct rcx_transport *t)
{
    failed[1] = 1;
    t->failed_count = 1;
    return RCX_OK;
}

static uint64_t final_phase_ns; /* skipped in the final phase */

static unsigned progress_and_skip_time(struct rcx_transport *t)
{
    const uint64_t ns = rank_0->in_final_phase ? 1000000 : 0;

    rank_0->time.skipped_ns += ns;
    final_phase_ns += ns;
    return true_progress(t);
}

typedef rcx_status_t barrier_fn(struct rcx_boot *boot, bool (*go_on)(void *arg),
                                void *arg);

/* As in a host without a barrier. */
static rcx_status_t no_barrier(struct rcx_boot *boot, bool (*go_on)(void *arg),
                               void *arg)
{
    (void)boot, (void)go_on, (void)arg;
    return RCX_OK;
}

/* No other rank enters. Half an hour passes with each call of go_on(). */
static rcx_status_t endless_barrier(struct rcx_boot *boot,
                                    bool (*go_on)(void *arg), void *arg)
{
    (void)boot;
    do
        rank_0->time.skipped_ns += HOUR_NS / 2;
    while (go_on(arg));
    return RCX_IN_PROGRESS;
}

static rcx_request_t *start_barrier(struct rcx_context *context)
{
    const struct rcx_call barrier = {.coll = RCX_COLL_BARRIER,
                                     .type = RCX_BYTE,
                                     .op = RCX_BOR,
                                     .role = RCX_CALL_OWN};
    struct rcx_program *entry;
    rcx_request_t *request;

    assert_ok(rcx_program_get(context->internal, &barrier, &entry));
    assert_ok(
        rcx_request_create(context->internal, entry, NULL, NULL, &request));
    rcx_request_launch(request);
    return request;
}

/* Rank 1 takes part in that many barriers before it is reported as failed. */
static void finalize_with_peer_that_exits(int barriers, int64_t timeout_ns,
                                          barrier_fn *barrier,
                                          struct rank ranks[MOST])
{
    struct rcx_transport_ops ops;
    struct rcx_boot_ops boot_ops;
    rcx_request_t *requests[2];
    struct job job;

    memset(failed, 0, sizeof failed);
    final_phase_ns = 0;
    open_job(&job, 2, false, timeout_ns, ranks);
    rank_0 = job.contexts[0];
    ops = *rank_0->transport->ops;
    true_progress = ops.progress;
    ops.flush = flush_and_fail_rank_1;
    ops.progress = progress_and_skip_time;
    rank_0->transport->ops = &ops;
    rank_0->transport->failed_peers = failed;
    rank_0->transport->watches_peers = true;
    boot_ops = *rank_0->boot->ops;
    boot_ops.barrier = barrier;
    rank_0->boot->ops = &boot_ops;
    for (int i = 0; i < barriers; i++)
        requests[i] = start_barrier(job.contexts[1]);
    finalize(&job, 0, ranks);
    for (int i = 0; i < barriers; i++) {
        while (requests[i]->state == RCX_REQUEST_ACTIVE)
            rcx_context_progress(job.contexts[1]);
        rcx_request_destroy(requests[i]);
    }
    close_other(&job);
}

static void an_exit_after_the_last_barrier_is_no_failure(void **state)
{
    struct rank ranks[MOST];

    (void)state;
    finalize_with_peer_that_exits(2, 0, no_barrier, ranks);
    assert_ok(ranks[0].status);
    assert_int_equal(ranks[0].said.count, 0);
}

static void finalize_does_not_wait_for_a_peer_that_exited_early(void **state)
{
    struct rank ranks[MOST];

    (void)state;
    for (int hours = 0; hours <= 1; hours++) { /* deadline; 0: none */
        finalize_with_peer_that_exits(1, hours * HOUR_NS, no_barrier, ranks);
        assert_status(ranks[0].status, RCX_ERR_TIMEOUT);
        assert_true(says(&ranks[0], "rank 1 does not answer"));
        assert_true(final_phase_ns < UINT64_C(60000000000));
    }
}

static void the_bootstraps_barrier_has_the_deadline(void **state)
{
    struct rank ranks[MOST];

    (void)state;
    finalize_with_peer_that_exits(2, HOUR_NS, endless_barrier, ranks);
    assert_status(ranks[0].status, RCX_ERR_TIMEOUT);
    assert_true(says(&ranks[0], "barrier timed out"));
}

/* The flush never completes. An hour passes with each call. */
static rcx_status_t never_flush(struct rcx_transport *t)
{
    (void)t;
    rank_0->time.skipped_ns += HOUR_NS;
    return RCX_IN_PROGRESS;
}

static void a_flush_that_never_completes_is_abandoned(void **state)
{
    struct rcx_transport_ops ops[2];
    struct rank ranks[MOST];
    struct job job;

    (void)state;
    open_job(&job, 2, true, 0, ranks);
    rank_0 = job.contexts[0];
    ops[0] = *rank_0->transport->ops;
    ops[0].flush = never_flush;
    rank_0->transport->ops = &ops[0];
    job_each(&job, finalize, ranks);
    assert_ok(ranks[0].status);
    assert_ok(ranks[1].status);
    job_free(&job);
}

/* ---- Order of the phases ------------------------------------------------- */

enum { IDLE = 1000, POLLS = 3 };

/* Events while rank 0 finalizes, a letter each. Rank 1 enters a barrier
 * whenever nothing else will happen. */
static struct {
    char text[16];
    const struct rcx_transport_ops *ops;
    struct rcx_context *other;
    rcx_request_t *barriers[2]; /* barriers of rank 1 */
    int entered, idle, polls;
} course;

static void record_event(char symbol)
{
    course.text[strlen(course.text)] = symbol;
}

static unsigned progress_until_idle(struct rcx_transport *t)
{
    const unsigned events = course.ops->progress(t);

    course.idle = events ? 0 : course.idle + 1;
    if (course.idle == IDLE && course.entered < 2) {
        course.idle = 0;
        record_event('M');
        course.barriers[course.entered++] = start_barrier(course.other);
    }
    return events;
}

static rcx_status_t flush_in_a_while(struct rcx_transport *t)
{
    (void)t;
    if (course.polls == 0)
        record_event('f');
    if (++course.polls < POLLS)
        return RCX_IN_PROGRESS;
    record_event('F');
    return RCX_OK;
}

static void record_close(struct rcx_transport *t)
{
    record_event('C');
    course.ops->close(t);
}

/* Barriers (M) of all ranks precede and follow the flush (f, F) of rank 0. It
 * closes (C) after the second one, when all have flushed. */
static void finalize_flushes_between_two_barriers(void **state)
{
    struct rcx_transport_ops ops;
    struct rcx_boot_ops boot_ops;
    struct rank ranks[MOST];
    struct rcx_boot *boot;
    struct job job;

    (void)state;
    open_job(&job, 2, false, 0, ranks);
    memset(&course, 0, sizeof course);
    course.other = job.contexts[1];
    course.ops = job.contexts[0]->transport->ops;
    ops = *course.ops;
    ops.progress = progress_until_idle;
    ops.flush = flush_in_a_while;
    ops.close = record_close;
    job.contexts[0]->transport->ops = &ops;
    boot = job.contexts[0]->boot;
    boot_ops = *boot->ops;
    boot_ops.barrier = no_barrier;
    boot->ops = &boot_ops;
    finalize(&job, 0, ranks);
    assert_string_equal(course.text, "MfFMC");
    assert_ok(ranks[0].status);
    for (int i = 0; i < course.entered; i++) {
        while (course.barriers[i]->state == RCX_REQUEST_ACTIVE)
            rcx_context_progress(job.contexts[1]);
        rcx_request_destroy(course.barriers[i]);
    }
    close_other(&job);
}

/* ---- Announcements before a close ---------------------------------------- */

/* The status of the world on rank 2, if rank 1 announced it to rank 0 only. */
static rcx_status_t status_on_2(bool watches_peers)
{
    struct rcx_ctrl_msg body = {.kind = RCX_CTRL_FAILED,
                                .status = RCX_ERR_TIMEOUT,
                                .rank_count = 1,
                                .ranks = {1}};
    struct rank ranks[MOST];
    rcx_error_info_t info;
    struct job job;

    memset(failed, 0, sizeof failed);
    open_job(&job, 3, false, 0, ranks);
    job.contexts[0]->transport->failed_peers = watches_peers ? failed : NULL;
    job.contexts[0]->transport->watches_peers = watches_peers;
    rcx_ctrl_send(world_of(&job, 1), 0, &body);
    finalize(&job, 0, ranks);
    assert_status(ranks[0].status, RCX_ERR_TIMEOUT);
    rcx_progress(job.contexts[2]);
    assert_ok(rcx_comm_error(world_of(&job, 2), &info));
    assert_true(info.status == RCX_OK || info.ranks[0] == 1);
    for (int i = 1; i < 3; i++) {
        mark_failed(world_of(&job, i));
        rcx_finalize(&job.contexts[i]);
    }
    job_free(&job);
    return info.status;
}

static void finalize_announces_a_failure_if_peers_are_watched(void **state)
{
    (void)state;
    assert_status(status_on_2(true), RCX_ERR_TIMEOUT);
    assert_ok(status_on_2(false));
}

static unsigned progress_one_ctrl_msg(struct rcx_transport *t)
{
    if (t->ctrl_unsent > 0 && ++course.polls == POLLS) {
        t->ctrl_unsent = 0;
        record_event('N');
    }
    return course.ops->progress(t);
}

static void announcements_are_sent_before_the_transport_closes(void **state)
{
    struct rcx_transport_ops ops;
    struct rank ranks[MOST];
    struct job job;

    (void)state;
    open_job(&job, 2, false, 0, ranks);
    memset(&course, 0, sizeof course);
    course.ops = job.contexts[0]->transport->ops;
    ops = *course.ops;
    ops.progress = progress_one_ctrl_msg;
    ops.close = record_close;
    job.contexts[0]->transport->ops = &ops;
    assert_ok(rcx_comm_abort(world_of(&job, 0)));
    job.contexts[0]->transport->ctrl_unsent = 1;
    finalize(&job, 0, ranks);
    assert_string_equal(course.text, "NC");
    close_other(&job);
}

/* ---- A host's barrier ---------------------------------------------------- */

static int no_allgather(const void *send, void *recv, size_t bytes, void *arg)
{
    (void)send, (void)recv, (void)bytes, (void)arg;
    return 1;
}

static int third_time_barrier(void *arg)
{
    return ++*(int *)arg < 3 ? RCX_IN_PROGRESS : 0;
}

static bool count_calls(void *arg)
{
    ++*(int *)arg;
    return true;
}

static bool decline(void *arg)
{
    ++*(int *)arg;
    return false;
}

static void a_hosts_barrier_may_be_polled(void **state)
{
    int calls = 0, progress = 0;
    const rcx_bootstrap_t host = {.size = 2,
                                  .allgather = no_allgather,
                                  .barrier = third_time_barrier,
                                  .arg = &calls};
    struct side side;

    (void)state;
    side_init(&side, &host);
    assert_int_equal(RCX_OK, rcx_boot_callback.open(&side.args, &side.boot));
    assert_int_equal(
        RCX_OK, side.boot->ops->barrier(side.boot, count_calls, &progress));
    assert_int_equal(3, calls);
    assert_int_equal(2, progress);
    calls = progress = 0;
    assert_int_equal(RCX_IN_PROGRESS,
                     side.boot->ops->barrier(side.boot, decline, &progress));
    assert_int_equal(1, calls);
    assert_int_equal(1, progress);
    assert_int_equal(0, side.lines.count);
    side.boot->ops->close(side.boot);
}

static void a_host_needs_no_barrier(void **state)
{
    const rcx_bootstrap_t host = {.size = 2, .allgather = no_allgather};
    struct side side;

    (void)state;
    side_init(&side, &host);
    assert_int_equal(RCX_OK, rcx_boot_callback.open(&side.args, &side.boot));
    assert_int_equal(RCX_OK, side.boot->ops->barrier(side.boot, NULL, NULL));
    side.boot->ops->close(side.boot);
    assert_int_equal(0, side.heap.live);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(finalize_flushes_between_two_barriers),
        cmocka_unit_test(announcements_are_sent_before_the_transport_closes),
        cmocka_unit_test(finalize_returns_the_abort_of_another_rank),
        cmocka_unit_test(finalize_returns_the_timeout_of_another_rank),
        cmocka_unit_test(a_failure_ends_the_wait_in_the_bootstraps_barrier),
        cmocka_unit_test(finalize_returns_a_failure_received_before_it),
        cmocka_unit_test(finalize_has_the_deadline_of_the_world),
        cmocka_unit_test(the_bootstraps_barrier_has_the_deadline),
        cmocka_unit_test(an_exit_after_the_last_barrier_is_no_failure),
        cmocka_unit_test(finalize_does_not_wait_for_a_peer_that_exited_early),
        cmocka_unit_test(a_flush_that_never_completes_is_abandoned),
        cmocka_unit_test(a_hosts_barrier_may_be_polled),
        cmocka_unit_test(a_host_needs_no_barrier),
        cmocka_unit_test(finalize_announces_a_failure_if_peers_are_watched),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
