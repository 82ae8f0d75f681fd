/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Sleep on the descriptor of rcx_get_fd(): rcx_arm() must not succeed while
 * there is something to do, and an operation that starts must wake the sleeper.
 * Ranks share a thread over the simulated network.
 */
#include "test.h"

#include <poll.h>
#include <pthread.h>

#include "context.h"
#include "core/run/detect/poll.h"

enum { RANKS = 2, COUNT = 3 };

static int64_t in[RANKS][COUNT], out[RANKS][COUNT];

static const rcx_params_t params = {.field_mask = RCX_PARAM_WAKEUP,
                                    .wakeup = 1};

static void open_awake(struct job *job)
{
    const struct job_options options = {.params = &params};

    assert_ok(job_open(job, RANKS, &options));
}

static rcx_request_t *start(struct job *job, int rank)
{
    rcx_request_t *request;

    assert_ok(rcx_iallreduce(in[rank], out[rank], COUNT, RCX_INT64, RCX_SUM,
                             world_of(job, rank), &request));
    return request;
}

static void go_to_sleep(rcx_context_t *context)
{
    while (rcx_progress(context) > 0)
        ;
    while (rcx_arm(context) == RCX_IN_PROGRESS)
        ;
}

static bool is_woken(rcx_context_t *context)
{
    struct pollfd at = {.events = POLLIN};

    assert_ok(rcx_get_fd(context, &at.fd));
    return poll(&at, 1, 0) == 1;
}

static void finish(struct job *job, rcx_request_t *requests[])
{
    assert_ok(job_wait(job, requests));
    for (int i = 0; i < RANKS; i++)
        assert_ok(rcx_request_free(&requests[i]));
}

/* ---- Operations that start ----------------------------------------------- */

static const struct rcx_transport_ops *true_ops;
static int wakes;

static void count_wake(struct rcx_transport *t)
{
    wakes++;
    true_ops->wake(t);
}

/* The sleeper does not know the deadline of an operation that starts, so it
 * must be woken, once. */
static void an_operation_that_starts_wakes_a_sleeper_once(void **state)
{
    rcx_request_t *requests[RANKS], *more[RANKS], *again[RANKS];
    struct rcx_transport_ops ops;
    struct job job;

    (void)state;
    open_awake(&job);
    true_ops = job.contexts[0]->transport->ops;
    ops = *true_ops;
    ops.wake = count_wake;
    job.contexts[0]->transport->ops = &ops;
    for (int i = 0; i < RANKS; i++)
        assert_ok(rcx_allreduce_init(in[i], out[i], COUNT, RCX_INT64, RCX_SUM,
                                     world_of(&job, i), &again[i]));
    go_to_sleep(job.contexts[0]);
    assert_false(is_woken(job.contexts[0]));
    assert_int_equal(wakes, 0);
    requests[0] = start(&job, 0);
    assert_true(is_woken(job.contexts[0]));
    more[0] = start(&job, 0);
    assert_int_equal(wakes, 1);
    go_to_sleep(job.contexts[0]);
    assert_false(is_woken(job.contexts[0]));
    assert_ok(rcx_start(again[0]));
    assert_true(is_woken(job.contexts[0]));
    assert_int_equal(wakes, 2);
    requests[1] = start(&job, 1);
    more[1] = start(&job, 1);
    assert_ok(rcx_start(again[1]));
    finish(&job, requests);
    finish(&job, more);
    finish(&job, again);
    job.contexts[0]->transport->ops = true_ops;
    assert_ok(job_close(&job));
}

/* In a single process, a send completes at once and completes a receive, for
 * which another thread may sleep. */
static void an_operation_that_completes_at_once_wakes_a_sleeper(void **state)
{
    int64_t word[2] = {0, 7};
    rcx_request_t *recv, *send;
    rcx_context_t *context;
    rcx_comm_t *world;

    (void)state;
    assert_ok(rcx_init(&params, &context));
    world = rcx_world(context);
    for (int again = 0; again <= 1; again++) {
        assert_ok(rcx_irecv(&word[0], 1, RCX_INT64, 0, 1, world, &recv));
        if (again)
            assert_ok(
                rcx_send_init(&word[1], 1, RCX_INT64, 0, 1, world, &send));
        go_to_sleep(context);
        assert_false(is_woken(context));
        assert_ok(again
                      ? rcx_start(send)
                      : rcx_isend(&word[1], 1, RCX_INT64, 0, 1, world, &send));
        assert_int_not_equal(send->state, RCX_REQUEST_ACTIVE);
        assert_true(is_woken(context));
        assert_ok(rcx_wait(recv));
        assert_ok(rcx_wait(send));
        assert_int_equal(word[0], 7);
        assert_ok(rcx_request_free(&recv));
        assert_ok(rcx_request_free(&send));
    }
    assert_ok(rcx_finalize(&context));
}

/* ---- Pending work -------------------------------------------------------- */

/* Progress within a receive, as UCX does if the message has arrived. */
static rcx_status_t receive_at_once(struct rcx_transport *t, int peer,
                                    void *buffer, size_t bytes, uint64_t tag,
                                    struct rcx_message *m)
{
    const rcx_status_t status = true_ops->recv(t, peer, buffer, bytes, tag, m);

    true_ops->progress(t);
    return status;
}

static void a_message_received_at_the_start_prevents_sleep(void **state)
{
    rcx_request_t *requests[RANKS];
    struct rcx_transport_ops ops;
    struct job job;

    (void)state;
    open_awake(&job);
    true_ops = job.contexts[0]->transport->ops;
    ops = *true_ops;
    ops.recv = receive_at_once;
    requests[1] = start(&job, 1);
    job.contexts[0]->transport->ops = &ops;
    requests[0] = start(&job, 0);
    job.contexts[0]->transport->ops = true_ops;
    while (true_ops->progress(job.contexts[0]->transport) > 0)
        ;
    rcx_arm(job.contexts[0]); /* clears the wake-up */
    assert_status(rcx_arm(job.contexts[0]), RCX_IN_PROGRESS);
    finish(&job, requests);
    assert_ok(job_close(&job));
}

static void try_to_sleep(rcx_request_t *request, rcx_status_t status, void *arg)
{
    rcx_status_t *armed = arg;
    struct rcx_context *context = request->comm->context;

    assert_ok(status);
    rcx_arm(context);
    *armed = rcx_arm(context);
}

/* Within the first of two callbacks rcx_arm() must fail, as the second one is
 * due. */
static void callbacks_that_are_due_prevent_sleep(void **state)
{
    rcx_request_t *requests[RANKS], *more[RANKS];
    rcx_status_t first = RCX_OK, last = RCX_ERR_INTERNAL;
    struct job job;

    (void)state;
    open_awake(&job);
    for (int i = 0; i < RANKS; i++) {
        requests[i] = start(&job, i);
        more[i] = start(&job, i);
    }
    assert_ok(rcx_request_set_callback(requests[0], try_to_sleep, &first));
    assert_ok(rcx_request_set_callback(more[0], try_to_sleep, &last));
    assert_ok(job_wait(&job, requests));
    assert_ok(job_wait(&job, more));
    rcx_progress(job.contexts[0]); /* makes the callbacks */
    assert_status(first, RCX_IN_PROGRESS);
    assert_ok(last);
    finish(&job, requests);
    finish(&job, more);
    assert_ok(job_close(&job));
}

/* ---- Other threads ------------------------------------------------------- */

static void *make_progress(void *context)
{
    return rcx_progress(context) < 0 ? context : NULL;
}

static void let_thread_progress(rcx_context_t *context)
{
    pthread_t thread;
    void *failed;

    assert_int_equal(pthread_create(&thread, NULL, make_progress, context), 0);
    pthread_join(thread, &failed);
    assert_null(failed);
}

/* Apart from what the transport may have signalled. */
static bool is_told(const rcx_context_t *context)
{
    struct pollfd at = {.fd = context->sleeper.told_fd, .events = POLLIN};

    return poll(&at, 1, 0) == 1;
}

/* Its polls may have taken an event, and the transport may not signal more. */
static void a_thread_that_leaves_wakes_the_host_that_waits(void **state)
{
    rcx_request_t *requests[RANKS];
    struct job job;

    (void)state;
    open_awake(&job);
    go_to_sleep(job.contexts[0]);
    let_thread_progress(job.contexts[0]);
    assert_false(is_woken(job.contexts[0])); /* nothing is in flight */
    requests[0] = start(&job, 0);
    go_to_sleep(job.contexts[0]);
    rcx_progress(job.contexts[0]); /* the host's own thread */
    assert_false(is_woken(job.contexts[0]));
    let_thread_progress(job.contexts[0]);
    assert_true(is_woken(job.contexts[0]));
    go_to_sleep(job.contexts[0]);
    assert_false(is_woken(job.contexts[0]));
    requests[1] = start(&job, 1);
    finish(&job, requests);
    assert_ok(job_close(&job));
}

static void a_thread_that_completes_an_operation_wakes_the_host(void **state)
{
    rcx_request_t *requests[RANKS];
    struct job job;

    (void)state;
    open_awake(&job);
    requests[0] = start(&job, 0);
    go_to_sleep(job.contexts[0]);
    requests[1] = start(&job, 1);
    while (requests[0]->state == RCX_REQUEST_ACTIVE) {
        assert_false(is_told(job.contexts[0]));
        rcx_progress(job.contexts[1]);
        /* as another thread that stays in RCX */
        job.contexts[0]->sleeper.host = 1;
        rcx_context_poll(job.contexts[0]);
    }
    assert_true(is_told(job.contexts[0]));
    finish(&job, requests);
    assert_ok(job_close(&job));
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_operation_that_starts_wakes_a_sleeper_once),
        cmocka_unit_test(an_operation_that_completes_at_once_wakes_a_sleeper),
        cmocka_unit_test(a_message_received_at_the_start_prevents_sleep),
        cmocka_unit_test(callbacks_that_are_due_prevent_sleep),
        cmocka_unit_test(a_thread_that_leaves_wakes_the_host_that_waits),
        cmocka_unit_test(a_thread_that_completes_an_operation_wakes_the_host),
    };

    return cmocka_run_group_tests_name("sleep", tests, NULL, NULL);
}
