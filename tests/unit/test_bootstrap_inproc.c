/* SPDX-License-Identifier: BSD-3-Clause */
/* The bootstrap for several ranks in one process, on which most unit tests
 * rely: publication, lookup, barrier, and failed allocations. */
#include "test.h"

#include <pthread.h>

#include "inproc.h"
#include "bootstrap_side.h"

static void one_thread_opens_and_publishes_for_all_inproc_ranks(void **state)
{
    struct rcx_heap heap = RCX_HEAP_INIT;
    struct inproc *job = inproc_create(&heap, 3);
    struct side sides[3];

    (void)state;
    for (int i = 0; i < 3; i++) {
        side_init(&sides[i], NULL);
        assert_int_equal(RCX_OK,
                         inproc_open(job, i, &sides[i].args, &sides[i].boot));
        assert_int_equal(i, sides[i].boot->rank);
        assert_int_equal(3, sides[i].boot->size);
        assert_int_equal(3, sides[i].boot->local_size);
    }
    for (int i = 0; i < 3; i++)
        assert_int_equal(RCX_OK, publish_own(&sides[i]));
    for (int i = 0; i < 3; i++) {
        for (int peer = 0; peer < 3; peer++)
            assert_true(sees_blob_of(&sides[i], peer));
    }
    for (int i = 0; i < 3; i++) {
        sides[i].boot->ops->close(sides[i].boot);
        assert_int_equal(0, sides[i].heap.live);
    }
    inproc_destroy(job);
    assert_int_equal(0, heap.live);
}

/* A local exchange passes the own record for every rank, as a record describes
 * a process and all ranks are in this one. So only the record of rank 1 is as
 * expected. */
static void an_inproc_local_exchange_repeats_the_own_record(void **state)
{
    struct rcx_heap heap = RCX_HEAP_INIT;
    struct inproc *job = inproc_create(&heap, 3);
    struct received received;
    struct side side;

    (void)state;
    side_init(&side, NULL);
    assert_int_equal(RCX_OK, inproc_open(job, 1, &side.args, &side.boot));
    assert_int_equal(RCX_OK, exchange_records(&side, &received));
    assert_int_equal(3, received.seen);
    assert_int_equal(1, received.right);
    side.boot->ops->close(side.boot);
    inproc_destroy(job);
}

static void
inproc_lookup_before_the_peer_published_is_a_launch_error(void **state)
{
    struct rcx_heap heap = RCX_HEAP_INIT;
    struct inproc *job = inproc_create(&heap, 2);
    const void *blob = &heap;
    struct side side;
    size_t bytes = 99;

    (void)state;
    side_init(&side, NULL);
    assert_int_equal(RCX_OK, inproc_open(job, 0, &side.args, &side.boot));
    assert_int_equal(RCX_ERR_LAUNCH,
                     side.boot->ops->lookup(side.boot, 1, &blob, &bytes));
    assert_int_equal(1, side.lines.count);
    assert_ptr_equal(&heap, blob);
    assert_int_equal(99, bytes);
    side.boot->ops->close(side.boot);
    inproc_destroy(job);
}

static void an_inproc_rank_is_open_once_at_a_time(void **state)
{
    struct rcx_heap heap = RCX_HEAP_INIT;
    struct inproc *job = inproc_create(&heap, 2);
    struct rcx_boot *again = NULL;
    struct side side;

    (void)state;
    side_init(&side, NULL);
    assert_int_equal(RCX_ERR_ARG, inproc_open(job, 2, &side.args, &again));
    assert_int_equal(RCX_OK, inproc_open(job, 0, &side.args, &side.boot));
    assert_int_equal(RCX_ERR_ARG, inproc_open(job, 0, &side.args, &again));
    assert_null(again);
    side.boot->ops->close(side.boot);
    assert_int_equal(RCX_OK, inproc_open(job, 0, &side.args, &side.boot));
    side.boot->ops->close(side.boot);
    assert_int_equal(0, side.heap.live);
    inproc_destroy(job);
}

struct inproc_member {
    struct inproc *job;
    int *arrived; /* number of barriers each rank has entered */
    int rank;
    bool ok;
};

static bool count_poll(void *arg)
{
    ++*(unsigned long *)arg;
    return true;
}

/* After each barrier all ranks must have entered it. No rank may have entered
 * the one after the next. */
static void *run_inproc(void *arg)
{
    struct inproc_member *member = arg;
    unsigned long polls = 0;
    struct side side;

    side_init(&side, NULL);
    member->ok = inproc_open(member->job, member->rank, &side.args,
                             &side.boot) == RCX_OK &&
                 publish_own(&side) == RCX_OK;
    for (int round = 1; round <= 50; round++) {
        __atomic_store_n(&member->arrived[member->rank], round,
                         __ATOMIC_RELAXED);
        side.boot->ops->barrier(side.boot, count_poll, &polls);
        for (int i = 0; i < side.boot->size; i++) {
            const int at =
                __atomic_load_n(&member->arrived[i], __ATOMIC_RELAXED);

            member->ok = member->ok && (at == round || at == round + 1);
            member->ok = member->ok && sees_blob_of(&side, i);
        }
    }
    side.boot->ops->close(side.boot);
    member->ok = member->ok && side.heap.live == 0;
    return NULL;
}

static void the_inproc_barrier_holds_every_thread_back(void **state)
{
    struct rcx_heap heap = RCX_HEAP_INIT;
    struct inproc *job = inproc_create(&heap, 4);
    struct inproc_member members[4];
    pthread_t threads[4];
    int arrived[4] = {0};

    (void)state;
    for (int i = 0; i < 4; i++) {
        members[i] =
            (struct inproc_member){.job = job, .arrived = arrived, .rank = i};
        assert_int_equal(
            0, pthread_create(&threads[i], NULL, run_inproc, &members[i]));
    }
    for (int i = 0; i < 4; i++)
        pthread_join(threads[i], NULL);
    for (int i = 0; i < 4; i++)
        assert_true(members[i].ok);
    inproc_destroy(job);
    assert_int_equal(0, heap.live);
}

struct last_arrival {
    struct rcx_boot *boot;
    unsigned long polls;
    pthread_t thread;
    bool started;
};

static void *arrive(void *arg)
{
    struct rcx_boot *boot = arg;

    boot->ops->barrier(boot, NULL, NULL);
    return NULL;
}

/* Rank 1 enters the barrier from rank 0's third call of go_on(). Without these
 * calls neither rank would return. */
static bool arrive_at_third_poll(void *arg)
{
    struct last_arrival *last = arg;

    if (++last->polls == 3)
        last->started =
            pthread_create(&last->thread, NULL, arrive, last->boot) == 0;
    return true;
}

static void the_inproc_barrier_makes_progress_while_it_waits(void **state)
{
    struct rcx_heap heap = RCX_HEAP_INIT;
    struct inproc *job = inproc_create(&heap, 2);
    struct last_arrival last = {.polls = 0};
    struct side sides[2];

    (void)state;
    for (int i = 0; i < 2; i++) {
        side_init(&sides[i], NULL);
        assert_int_equal(RCX_OK,
                         inproc_open(job, i, &sides[i].args, &sides[i].boot));
    }
    last.boot = sides[1].boot;
    assert_int_equal(RCX_OK, sides[0].boot->ops->barrier(
                                 sides[0].boot, arrive_at_third_poll, &last));
    assert_true(last.started);
    pthread_join(last.thread, NULL);
    for (int i = 0; i < 2; i++)
        sides[i].boot->ops->close(sides[i].boot);
    inproc_destroy(job);
}

static bool go_on_twice(void *arg)
{
    return ++*(int *)arg < 3;
}

/* A rank that stops waiting may enter the barrier again, and must not be
 * counted twice: 4 entries of 3 ranks do not complete it. */
static void an_inproc_barrier_may_be_cancelled(void **state)
{
    struct rcx_heap heap = RCX_HEAP_INIT;
    struct inproc *job = inproc_create(&heap, 3);
    struct side sides[3];
    int polls = 0;

    (void)state;
    for (int i = 0; i < 3; i++) {
        side_init(&sides[i], NULL);
        assert_int_equal(RCX_OK,
                         inproc_open(job, i, &sides[i].args, &sides[i].boot));
    }
    for (int i = 0; i < 4; i++, polls = 0) {
        struct rcx_boot *boot = sides[i % 3].boot;

        assert_int_equal(RCX_IN_PROGRESS,
                         boot->ops->barrier(boot, go_on_twice, &polls));
        assert_int_equal(3, polls);
    }
    for (int i = 0; i < 3; i++)
        sides[i].boot->ops->close(sides[i].boot);
    inproc_destroy(job);
}

static void an_inproc_job_survives_failed_allocations(void **state)
{
    struct rcx_heap job_heap = {.budget = 0};
    struct inproc *job;
    struct side side;

    (void)state;
    assert_null(inproc_create(&job_heap, 2));
    job_heap.budget = 1;
    job = inproc_create(&job_heap, 2);
    assert_non_null(job);
    side_init(&side, NULL);
    side.heap.budget = 0;
    assert_int_equal(RCX_ERR_NOMEM,
                     inproc_open(job, 1, &side.args, &side.boot));
    side.heap.budget = 1;
    assert_int_equal(RCX_OK, inproc_open(job, 1, &side.args, &side.boot));
    assert_int_equal(RCX_ERR_NOMEM, publish_own(&side));
    job_heap.budget = 1;
    assert_int_equal(RCX_OK, publish_own(&side));
    assert_true(sees_blob_of(&side, 1));
    side.boot->ops->close(side.boot);
    assert_int_equal(0, side.heap.live);
    inproc_destroy(job);
    assert_int_equal(0, job_heap.live);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_thread_opens_and_publishes_for_all_inproc_ranks),
        cmocka_unit_test(an_inproc_local_exchange_repeats_the_own_record),
        cmocka_unit_test(
            inproc_lookup_before_the_peer_published_is_a_launch_error),
        cmocka_unit_test(an_inproc_rank_is_open_once_at_a_time),
        cmocka_unit_test(the_inproc_barrier_holds_every_thread_back),
        cmocka_unit_test(the_inproc_barrier_makes_progress_while_it_waits),
        cmocka_unit_test(an_inproc_barrier_may_be_cancelled),
        cmocka_unit_test(an_inproc_job_survives_failed_allocations),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
