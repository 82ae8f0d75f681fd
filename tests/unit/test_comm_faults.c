/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Failed communicators: announcements, the ids and children of a failed
 * communicator, deadlines, and groups that fail while they are made. Ranks are
 * threads over the simulated network; failures of real processes are in
 * tests/job.
 */
#include "test.h"

#include <pthread.h>
#include <sched.h>
#include <string.h>
#include <unistd.h>

#include "context.h"
#include "core/run/fault/ctrl_msg.h"
#include "core/run/fault/failure.h"
#include "crew.h"
#include "members.h"

enum { MOST = 5 };
/* Expires soon, but communicators are made within it on a busy machine. */
#define SHORT_NS INT64_C(500000000)
#define LONG_NS INT64_C(60000000000)

/* Run fn on each rank of a job. */
static void run(int size, rcx_thread_mode_t threads, crew_fn_t *fn, void *arg)
{
    const rcx_params_t params = {.field_mask =
                                     RCX_PARAM_LOG | RCX_PARAM_THREADS,
                                 .log = lines_discard,
                                 .threads = threads};

    crew_job_with(size, &params, fn, arg);
}

static rcx_status_t add_up(rcx_comm_t *comm)
{
    int x = 1;

    return rcx_allreduce(RCX_IN_PLACE, &x, 1, RCX_INT, RCX_SUM, comm);
}

static rcx_status_t failure_of(rcx_comm_t *comm)
{
    rcx_error_info_t info;

    require_ok(rcx_comm_error(comm, &info));
    return info.status;
}

static void await_failure(rcx_comm_t *comm)
{
    while (failure_of(comm) == RCX_OK)
        rcx_progress(comm->context);
    require_status(failure_of(comm), RCX_ERR_COMM_FAILED);
}

/* ---- Failed communicators ------------------------------------------------ */

/* Rank 2 finds the failure of rank 1 in a communicator of the two. All
 * communicators with rank 1 must fail on all ranks, and one without it must
 * work. */
static void find_failed_rank(struct job *job, int rank, void *arg)
{
    static const int dead[] = {0}; /* rank 1's rank in pair */
    const bool is_in = rank == 1 || rank == 2;
    rcx_comm_t *world = world_of(job, rank), *all = NULL, *pair = NULL;
    rcx_comm_t *rest = NULL;
    atomic_int *ready = arg;
    rcx_error_info_t info;

    require_ok(rcx_comm_dup(world, &all));
    require_ok(rcx_comm_split(world, is_in ? 0 : RCX_UNDEFINED, 0, &pair));
    require_ok(rcx_comm_split(world, rank == 1 ? RCX_UNDEFINED : 0, 0, &rest));
    atomic_fetch_add(ready, 1);
    while (atomic_load(ready) < job->size)
        rcx_progress(world->context);
    if (rank == 2)
        rcx_comm_fail(pair, RCX_ERR_PEER_FAILED, dead, 1, "bad");
    while (failure_of(all) == RCX_OK)
        rcx_progress(world->context);
    require_ok(rcx_comm_error(all, &info));
    require_status(info.status, RCX_ERR_PEER_FAILED);
    require(info.rank_count == 1 && info.ranks[0] == 1);
    if (rest)
        require_ok(add_up(rest));
    if (rest)
        require_ok(rcx_comm_free(&rest));
    if (pair)
        require_ok(rcx_comm_free(&pair));
    require_ok(rcx_comm_free(&all));
}

/* ---- Announcements ------------------------------------------------------- */

enum { LARGE = 100, LISTED = 20, FIRST = 60, FINDER = 7 };

static struct {
    struct job job;
    struct rcx_transport_ops ops; /* send_ctrl counts messages */
    void (*send_ctrl)(struct rcx_transport *t, int peer, const void *message,
                      size_t bytes);
    int sent[LARGE]; /* messages that each rank has sent */
} large;

static void send_and_count(struct rcx_transport *t, int peer,
                           const void *message, size_t bytes)
{
    for (int i = 0; i < LARGE; i++)
        large.sent[i] += large.job.contexts[i]->transport == t;
    large.send_ctrl(t, peer, message, bytes);
}

static bool is_stopped(int rank)
{
    return rank == FINDER + 1 || rank == FINDER + 2 || rank == FINDER - 4;
}

/* FINDER finds a failure and lists LISTED ranks; three ranks make no progress.
 * All other ranks must learn all listed ranks. No rank may send more than 3
 * messages to each of 2 ceil(lg p) members. */
static void an_announcement_takes_few_messages_of_each_rank(void **state)
{
    const struct job_options options = {
        .params =
            &(rcx_params_t){.field_mask = RCX_PARAM_LOG, .log = lines_discard}};
    int listed[LISTED];

    (void)state;
    memset(large.sent, 0, sizeof large.sent);
    assert_ok(job_open(&large.job, LARGE, &options));
    large.ops = *large.job.contexts[0]->transport->ops;
    large.send_ctrl = large.ops.send_ctrl;
    large.ops.send_ctrl = send_and_count;
    for (int i = 0; i < LARGE; i++)
        large.job.contexts[i]->transport->ops = &large.ops;
    for (int i = 0; i < LISTED; i++)
        listed[i] = FIRST + i;
    rcx_comm_fail(world_of(&large.job, FINDER), RCX_ERR_TIMEOUT, listed, LISTED,
                  "bad");
    for (int k = 0; k < 100; k++)
        for (int i = 0; i < LARGE; i++)
            if (!is_stopped(i))
                rcx_progress(large.job.contexts[i]);
    for (int i = 0; i < LARGE; i++) {
        rcx_error_info_t info;

        if (is_stopped(i)) {
            assert_false(rcx_comm_is_failed(world_of(&large.job, i)));
            continue;
        }
        assert_ok(rcx_comm_error(world_of(&large.job, i), &info));
        assert_status(info.status, RCX_ERR_TIMEOUT);
        assert_int_equal(info.rank_count, LISTED);
        assert_in_range(large.sent[i], 1, 3 * 2 * 7);
        for (int j = 0; j < info.rank_count; j++)
            assert_int_equal(info.ranks[j], FIRST + j);
    }
    for (int i = 0; i < LARGE; i++)
        mark_failed(world_of(&large.job, i));
    job_abandon(&large.job);
}

/* Control messages from rank 0 to ranks 1 and 3 are lost. Ranks 2 and 4 must
 * announce the failure to all. */
static void lose_some(struct rcx_transport *t, int peer, const void *message,
                      size_t bytes)
{
    if (large.job.contexts[0]->transport == t && peer % 2 == 1)
        t->ctrl_lost = true;
    else
        large.send_ctrl(t, peer, message, bytes);
}

static void a_failure_that_reaches_some_ranks_reaches_all(void **state)
{
    static const int listed[] = {0};
    const struct job_options options = {
        .params =
            &(rcx_params_t){.field_mask = RCX_PARAM_LOG, .log = lines_discard}};

    (void)state;
    assert_ok(job_open(&large.job, MOST, &options));
    large.ops = *large.job.contexts[0]->transport->ops;
    large.send_ctrl = large.ops.send_ctrl;
    large.ops.send_ctrl = lose_some;
    for (int i = 0; i < MOST; i++)
        large.job.contexts[i]->transport->ops = &large.ops;
    rcx_comm_fail(world_of(&large.job, 0), RCX_ERR_LIMIT, listed, 1, "bad");
    for (int k = 0; k < 100; k++)
        for (int i = 0; i < MOST; i++)
            rcx_progress(large.job.contexts[i]);
    for (int i = 0; i < MOST; i++) {
        rcx_error_info_t info;

        assert_ok(rcx_comm_error(world_of(&large.job, i), &info));
        assert_status(info.status, RCX_ERR_LIMIT);
        assert_int_equal(info.rank_count, 1);
        assert_int_equal(info.ranks[0], 0);
    }
    job_abandon(&large.job);
}

static void a_failed_rank_fails_all_its_communicators(void **state)
{
    (void)state;
    for (int size = 3; size <= MOST; size++) {
        atomic_int ready = 0;

        run(size, RCX_THREAD_SINGLE, find_failed_rank, &ready);
    }
}

static bool is_used(const struct rcx_context *context, uint32_t id)
{
    return context->comms.ids.used[id / 8] >> id % 8 & 1;
}

static void abort_and_free(struct job *job, int rank, void *arg)
{
    rcx_comm_t *world = world_of(job, rank), *comm = NULL, *next = NULL;
    rcx_request_t *request = NULL;
    uint32_t id;
    int x = 1;

    (void)arg;
    require_ok(rcx_comm_dup(world, &comm));
    id = comm->id;
    require_ok(rcx_allreduce_init(RCX_IN_PLACE, &x, 1, RCX_INT, RCX_SUM, comm,
                                  &request));
    require_ok(add_up(world));
    if (rank == job->size - 1)
        require_ok(rcx_comm_abort(comm));
    await_failure(comm);
    require_status(add_up(comm), RCX_ERR_COMM_FAILED);
    require_status(rcx_start(request), RCX_ERR_COMM_FAILED);
    require_status(rcx_comm_dup(comm, &next), RCX_ERR_COMM_FAILED);
    require_status(rcx_comm_split(comm, 0, 0, &next), RCX_ERR_COMM_FAILED);
    require_status(rcx_comm_create_group(comm, 1, &rank, 0, &next),
                   RCX_ERR_COMM_FAILED);
    require_ok(rcx_comm_free(&comm));
    require_ok(rcx_request_free(&request));
    require(!comm && !next);
    for (int i = 0; i < 3; i++) { /* the world still works */
        require_ok(rcx_comm_dup(world, &next));
        require(next->id != id && is_used(job->contexts[rank], id));
        members_check(next, rank, in_order, job->size);
        require_ok(rcx_comm_free(&next));
    }
}

static void numbers_of_failed_communicators_are_not_used_again(void **state)
{
    (void)state;
    for (int size = 1; size <= MOST; size++)
        for (int threads = 0; threads <= RCX_THREAD_MULTIPLE; threads++)
            run(size, (rcx_thread_mode_t)threads, abort_and_free, NULL);
}

/* A rank may receive the announcement before it has made the communicator. */
static void abort_at_once(struct job *job, int rank, void *arg)
{
    (void)arg;
    for (int i = 0; i < 50; i++) {
        rcx_comm_t *comm = NULL;

        require_ok(rcx_comm_dup(world_of(job, rank), &comm));
        if (rank == i % job->size)
            require_ok(rcx_comm_abort(comm));
        await_failure(comm);
        require_ok(rcx_comm_free(&comm));
    }
}

static void an_abort_of_a_new_communicator_reaches_all_members(void **state)
{
    (void)state;
    for (int size = 1; size <= MOST; size++)
        run(size, RCX_THREAD_SERIALIZED, abort_at_once, NULL);
}

/* Ranks 1 and 2 free a communicator, and make another one that gets its id.
 * Rank 0, no member of the new one, announces a failure under that id late. The
 * new communicator must not fail. */
static void announce_late(struct job *job, int rank, void *arg)
{
    static const int others[] = {1, 2};
    rcx_comm_t *world = world_of(job, rank), *comm = NULL, *next = NULL;
    struct rcx_ctrl_msg body = {.kind = RCX_CTRL_FAILED,
                                .status = RCX_ERR_TIMEOUT};

    (void)arg;
    require_ok(rcx_comm_dup(world, &comm));
    body.comm_id = comm->id;
    if (rank > 0) {
        require_ok(rcx_comm_free(&comm));
        require_ok(rcx_comm_create_group(world, 2, others, 0, &next));
        require(next->id == body.comm_id);
    }
    require_ok(add_up(world));
    for (int i = 1; i < 3 && rank == 0; i++)
        rcx_ctrl_send(comm, i, &body);
    require_ok(add_up(world));
    if (rank > 0) {
        require_status(failure_of(next), RCX_OK);
        members_check(next, rank, others, 2);
    }
    require_ok(rcx_comm_free(rank > 0 ? &next : &comm));
}

static void a_failure_announced_by_a_non_member_is_ignored(void **state)
{
    (void)state;
    run(3, RCX_THREAD_SERIALIZED, announce_late, NULL);
}

/* ---- Deadlines ----------------------------------------------------------- */

static void inherit(struct job *job, int rank, void *arg)
{
    rcx_comm_t *world = world_of(job, rank), *comms[4] = {NULL};

    (void)arg;
    require_ok(rcx_comm_set_timeout(world, LONG_NS));
    require_ok(rcx_comm_dup(world, &comms[0]));
    require_ok(rcx_comm_set_timeout(comms[0], SHORT_NS));
    require_ok(rcx_comm_split(comms[0], 0, 0, &comms[1]));
    require_ok(rcx_comm_create_group(comms[0], 2, in_order, 0, &comms[2]));
    require_ok(rcx_comm_dup(world, &comms[3]));
    require_ok(rcx_comm_set_timeout(world, 0));
    require(comms[3]->timeout_ns == LONG_NS);
    for (int i = 0; i < 3; i++) {
        require(comms[i]->timeout_ns == SHORT_NS);
        if (rank == 0)
            require_status(add_up(comms[i]), RCX_ERR_TIMEOUT);
    }
    require_ok(add_up(world));
    for (int i = 0; i < 4; i++)
        require_ok(rcx_comm_free(&comms[i]));
}

static void a_deadline_is_inherited(void **state)
{
    (void)state;
    run(2, RCX_THREAD_SERIALIZED, inherit, NULL);
}

static void simulate_stall(struct rcx_context *context)
{
    const struct rcx_instant now = rcx_instant_now();
    const double ticks_per_ns = (double)(now.ticks - context->time.born.ticks) /
                                (double)(now.ns - context->time.born.ns);

    context->time.born.ns -= 2 * LONG_NS;
    context->time.born.ticks -= (uint64_t)(2 * LONG_NS * ticks_per_ns);
    context->progress.ticks = context->time.born.ticks;
}

/* Rank 1 enters after rank 0 has checked the deadline, and makes progress until
 * then. The contexts seem idle for 2 LONG_NS, so a deadline that counted from
 * the last tick would have passed. */
static void group_after_a_while(struct job *job, int rank, void *arg)
{
    rcx_comm_t *world = world_of(job, rank), *comm = NULL;

    (void)arg;
    require_ok(add_up(world));
    require_ok(rcx_comm_set_timeout(world, LONG_NS));
    simulate_stall(job->contexts[rank]);
    for (int i = 0; i < 3000 && rank == 1; i++) {
        rcx_progress(job->contexts[rank]);
        sched_yield();
    }
    require_ok(rcx_comm_create_group(world, 2, in_order, 0, &comm));
    require_ok(rcx_comm_free(&comm));
}

static void the_deadline_of_a_group_counts_from_its_start(void **state)
{
    (void)state;
    run(2, RCX_THREAD_SERIALIZED, group_after_a_while, NULL);
}

/* ---- Groups that fail while they are made -------------------------------- */

enum { BAD_TAG = 5, GOOD_TAG = 6 };

static void make_and_free(rcx_comm_t *parent, int n, int tag)
{
    rcx_comm_t *comm = NULL;

    require_ok(rcx_comm_create_group(parent, n, in_order, tag, &comm));
    members_check(comm, rcx_comm_rank(parent), in_order, n);
    require_ok(rcx_comm_free(&comm));
}

/* Rank 2 does not enter a group, so ranks 0 and 1 must time out. Afterwards the
 * same tag and parent must work, for groups with rank 2 too. */
static void time_out_in_a_group(struct job *job, int rank, void *arg)
{
    rcx_comm_t *world = world_of(job, rank), *comm = NULL;
    rcx_error_info_t info;

    (void)arg;
    if (rank < 2) {
        require_ok(rcx_comm_set_timeout(world, SHORT_NS));
        require_status(
            rcx_comm_create_group(world, 3, in_order, BAD_TAG, &comm),
            RCX_ERR_TIMEOUT);
        require(!comm);
        require_ok(rcx_comm_error(world, &info));
        require(info.status == RCX_OK && info.text[0] != '\0');
        require_ok(rcx_comm_set_timeout(world, 0));
        make_and_free(world, 2, BAD_TAG);
    }
    members_check(world, rank, in_order, job->size);
    make_and_free(world, 3, BAD_TAG);
    make_and_free(world, 3, GOOD_TAG);
}

static void
a_group_that_failed_leaves_its_tag_and_its_parent_alone(void **state)
{
    (void)state;
    for (int i = 0; i < 20; i++)
        run(3, RCX_THREAD_SERIALIZED, time_out_in_a_group, NULL);
}

/* Rank 0 has no memory for a group. Rank 2 may enter it before, and rank 1
 * enters it after rank 0's announcement. All must return RCX_ERR_NOMEM without
 * waiting, and the group must be possible later. */
static void lack_memory(struct job *job, int rank, void *arg)
{
    rcx_comm_t *world = world_of(job, rank), *comm = NULL;

    (void)arg;
    if (rank == 2)
        require_status(
            rcx_comm_create_group(world, 3, in_order, BAD_TAG, &comm),
            RCX_ERR_NOMEM);
    if (rank == 0) {
        job->contexts[0]->heap.budget = 0;
        require_status(
            rcx_comm_create_group(world, 3, in_order, BAD_TAG, &comm),
            RCX_ERR_NOMEM);
        job->contexts[0]->heap.budget = UINT64_MAX;
    }
    require_ok(add_up(world));
    if (rank == 1)
        require_status(
            rcx_comm_create_group(world, 3, in_order, BAD_TAG, &comm),
            RCX_ERR_NOMEM);
    require(!comm);
    members_check(world, rank, in_order, job->size);
    make_and_free(world, 3, BAD_TAG);
}

static void a_group_that_one_member_cannot_make_fails_on_all(void **state)
{
    (void)state;
    run(3, RCX_THREAD_SERIALIZED, lack_memory, NULL);
}

/* Rank 1 aborts the parent before (is_early) or while rank 0 makes a group from
 * it. There is no deadline, but rank 0 must not wait forever. Rank 2 is no
 * member of the group. */
static void lose_the_parent(struct job *job, int rank, void *arg)
{
    const bool *is_early = arg;
    rcx_comm_t *world = world_of(job, rank), *parent = NULL, *comm = NULL;

    require_ok(rcx_comm_dup(world, &parent));
    if (rank == 1 && !*is_early)
        usleep(20000);
    if (rank == 1)
        require_ok(rcx_comm_abort(parent));
    if (*is_early)
        require_ok(add_up(world));
    if (rank < 2)
        require_status(
            rcx_comm_create_group(parent, 2, in_order, BAD_TAG, &comm),
            RCX_ERR_COMM_FAILED);
    require(!comm);
    require_ok(rcx_comm_free(&parent));
    if (rank < 2)
        make_and_free(world, 2, BAD_TAG);
    members_check(world, rank, in_order, job->size);
}

static void a_group_fails_with_the_communicator_it_is_made_from(void **state)
{
    (void)state;
    for (int is_early = 0; is_early < 2; is_early++)
        run(3, RCX_THREAD_SERIALIZED, lose_the_parent, &(bool){is_early != 0});
}

/* Make a group of all ranks on a thread of its own. It waits for rank 2. */
static void *make_good_group(void *arg)
{
    struct rcx_context *context = arg;
    rcx_comm_t *comm = NULL;

    require_ok(rcx_comm_create_group(rcx_world(context), 3, in_order, GOOD_TAG,
                                     &comm));
    members_check(comm, rcx_comm_rank(rcx_world(context)), in_order, 3);
    require_ok(rcx_comm_free(&comm));
    return NULL;
}

/* Ranks 0 and 1 make two groups concurrently, of different parents. One times
 * out; rank 2 then enters the other, which must succeed. */
static void fail_one_of_two(struct job *job, int rank, void *arg)
{
    rcx_comm_t *world = world_of(job, rank), *hasty = NULL, *comm = NULL;
    struct rcx_context *context = job->contexts[rank];
    pthread_t thread;

    (void)arg;
    require_ok(rcx_comm_dup(world, &hasty));
    require_ok(rcx_comm_set_timeout(hasty, SHORT_NS));
    if (rank < 2) {
        pthread_create(&thread, NULL, make_good_group, context);
        require_status(
            rcx_comm_create_group(hasty, 3, in_order, BAD_TAG, &comm),
            RCX_ERR_TIMEOUT);
    }
    require_ok(add_up(world));
    if (rank < 2)
        pthread_join(thread, NULL);
    else
        make_good_group(context);
    require_ok(rcx_comm_free(&hasty));
}

static void a_group_that_fails_does_not_fail_those_made_meanwhile(void **state)
{
    (void)state;
    run(3, RCX_THREAD_MULTIPLE, fail_one_of_two, NULL);
}

/* ---- What rcx_finalize() returns ----------------------------------------- */

/* The world of rank 0 of 2 has failed before it finalizes. seen: how the user
 * learned of it: 0, not at all; 1, by a call; 2, by rcx_comm_error(). */
static rcx_status_t finalize_failed_world(int seen)
{
    static const int other[] = {1};
    const struct job_options options = {
        .params =
            &(rcx_params_t){.field_mask = RCX_PARAM_LOG, .log = lines_discard}};
    rcx_status_t status;
    struct job job;

    assert_ok(job_open(&job, 2, &options));
    rcx_comm_fail(world_of(&job, 0), RCX_ERR_PEER_FAILED, other, 1, "bad");
    if (seen == 1)
        assert_status(add_up(world_of(&job, 0)), RCX_ERR_COMM_FAILED);
    if (seen == 2)
        assert_status(failure_of(world_of(&job, 0)), RCX_ERR_PEER_FAILED);
    status = rcx_finalize(&job.contexts[0]);
    mark_failed(world_of(&job, 1));
    rcx_finalize(&job.contexts[1]);
    job_free(&job);
    return status;
}

/* A failure that is found between two calls is only logged. rcx_finalize()
 * returns it, unless another function has returned an error for it. */
static void finalize_returns_a_failure_that_no_call_has_returned(void **state)
{
    (void)state;
    assert_status(finalize_failed_world(0), RCX_ERR_PEER_FAILED);
    assert_ok(finalize_failed_world(1));
    assert_ok(finalize_failed_world(2));
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(numbers_of_failed_communicators_are_not_used_again),
        cmocka_unit_test(an_abort_of_a_new_communicator_reaches_all_members),
        cmocka_unit_test(a_failure_announced_by_a_non_member_is_ignored),
        cmocka_unit_test(a_failed_rank_fails_all_its_communicators),
        cmocka_unit_test(an_announcement_takes_few_messages_of_each_rank),
        cmocka_unit_test(a_failure_that_reaches_some_ranks_reaches_all),
        cmocka_unit_test(finalize_returns_a_failure_that_no_call_has_returned),
        cmocka_unit_test(a_deadline_is_inherited),
        cmocka_unit_test(the_deadline_of_a_group_counts_from_its_start),
        cmocka_unit_test(
            a_group_that_failed_leaves_its_tag_and_its_parent_alone),
        cmocka_unit_test(a_group_that_one_member_cannot_make_fails_on_all),
        cmocka_unit_test(a_group_fails_with_the_communicator_it_is_made_from),
        cmocka_unit_test(a_group_that_fails_does_not_fail_those_made_meanwhile),
    };

    return cmocka_run_group_tests_name("comm_faults", tests, NULL, NULL);
}
