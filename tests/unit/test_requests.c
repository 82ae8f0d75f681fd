/* SPDX-License-Identifier: BSD-3-Clause */
/* Requests: many in flight, waited for in any order, with tags of few numbers;
 * completion acks; persistent requests; rcx_test(), rcx_wait_all(), callbacks.
 * Failures are tested elsewhere. */
#include "test.h"

#include <stdlib.h>
#include <string.h>

#include "../times.h"
#include "calls.h"

enum { OUTSTANDING = 100, SEEDS = TIMES(8, 2) };

static const size_t uneven[] = {3, 0, 5, 1, 2, 0, 4, 1, 1};

/* The shape of call i. */
static struct call nth(int i, int size)
{
    return (struct call){.coll = (enum collective)(i % COLLECTIVES),
                         .place = (enum place)(i / 3 % (PLACES + 1)),
                         .root = i % size,
                         .count = (size_t)(i * 3 % 17),
                         .blocks = uneven,
                         .kind = &sums};
}

static struct call legal(int i, int size)
{
    struct call call = nth(i, size);

    if (!collective_has_place(call.coll, call.place))
        call.place = SEPARATE;
    return call;
}

/* Start OUTSTANDING calls on every rank, then wait for them in reverse
 * order. */
static void run_many(int size, const struct job_options *options,
                     const char *variable, const char *method)
{
    struct calls *c = calloc(OUTSTANDING, sizeof *c);
    struct job job;

    open_with(&job, size, variable, method, options);
    for (int i = 0; i < OUTSTANDING; i++) {
        const struct call call = legal(i, size);

        calls_open(&c[i], &job, &call);
    }
    for (int rank = 0; rank < size; rank++)
        for (int i = 0; i < OUTSTANDING; i++)
            assert_ok(calls_make_one(&c[i], rank, false));
    for (int i = OUTSTANDING - 1; i >= 0; i--) {
        calls_wait(&c[i], RCX_OK);
        calls_check(&c[i]);
    }
    if (job.sim) /* no message may be left */
        assert_int_equal(rcx_sim_unmatched(job.sim), 0);
    for (int i = 0; i < OUTSTANDING; i++)
        calls_close(&c[i]);
    assert_ok(job_close(&job));
    free(c);
}

static void need_24_many_are_waited_for_in_any_order(void **state)
{
    (void)state;
    for (int size = 1; size <= 9; size += 2) {
        const struct job_options options = {.seed = (uint64_t)size};

        run_many(size, &options, NULL, NULL);
    }
}

static void
numbers_in_tags_may_begin_again_while_many_are_outstanding(void **state)
{
    static const struct rcx_tag_layout four = {2, 2, 2, 2, 2};
    static const struct rcx_tag_layout many = {2, 2, 2, 2, 22};

    (void)state;
    for (int size = 2; size <= 9; size++) {
        for (uint64_t seed = 0; seed < SEEDS; seed++) {
            const struct job_options options = {
                .layout = size <= 4 ? &four : &many, .seed = seed};

            run_many(size, &options, NULL, NULL);
            run_many(size, &options, "RCX_ALLREDUCE",
                     "ring"); /* more messages than message numbers */
            run_many(size, &options, "RCX_ALLTOALLV",
                     "bruck"); /* two stages in each call */
        }
    }
}

static void segments_and_small_tags_go_together(void **state)
{
    static const struct rcx_tag_layout many = {2, 2, 2, 2, 22};

    (void)state;
    for (int size = 2; size <= 9; size++) {
        for (uint64_t seed = 0; seed < SEEDS; seed++) {
            const struct job_options options = {.layout = &many, .seed = seed};

            run_many(size, &options, "RCX_ALLREDUCE",
                     "ring:segment=16,window=3");
            run_many(size, &options, "RCX_ALLREDUCE",
                     "recursive_doubling:segment=8,window=8");
        }
    }
}

/* Segments of several operations proceed in a different order on each rank, and
 * acks are due among them. All ranks must agree on the segments with acks. */
static void acks_are_due_at_the_same_segments_on_all_ranks(void **state)
{
    (void)state;
    for (int size = 2; size <= 5; size++) {
        for (uint64_t seed = 0; seed < SEEDS; seed++) {
            const struct job_options options = {.seed = seed};

            run_many(size, &options, "RCX_REDUCE",
                     "binomial:segment=8,window=2");
        }
    }
}

/* Rank 1 has long blocks and rank 0 short ones, and neither knows the other's
 * counts. Both must agree on whether acks are due. */
static void counts_of_one_rank_alone_do_not_decide_on_acks(void **state)
{
    enum { MANY = 200, LONG = 5000, TURNS = 10000 };
    static const size_t sent[2][2] = {{1, 1}, {2, LONG}};
    static const size_t gotten[2][2] = {{1, 2}, {1, LONG}};
    static int64_t in[2][LONG + 2], out[2][LONG + 2];
    struct job job;

    (void)state;
    open_with(&job, 2, NULL, NULL, NULL);
    for (int i = 0; i < MANY; i++) {
        rcx_request_t *requests[2];
        int turns = 0;

        for (int r = 0; r < 2; r++)
            assert_ok(rcx_ialltoallv(in[r], sent[r], NULL, out[r], gotten[r],
                                     NULL, RCX_INT64, world_of(&job, r),
                                     &requests[r]));
        for (; turns < TURNS && (requests[0]->state == RCX_REQUEST_ACTIVE ||
                                 requests[1]->state == RCX_REQUEST_ACTIVE);
             turns++)
            rcx_context_progress(job.contexts[turns % 2]);
        assert_true(turns < TURNS); /* else an ack is never sent */
        for (int r = 0; r < 2; r++)
            assert_ok(rcx_request_free(&requests[r]));
    }
    assert_ok(job_close(&job));
}

/* Rank 1 sends in one-way calls that rank 0 has not entered. Each segment
 * counts as at least 1 KiB. The segment that fills 64 KiB must have an ack,
 * whatever its call is. */
static void every_64_kb_sent_one_way_end_with_an_ack(void **state)
{
    enum { MANY = 200, EACH = 64 };
    static const size_t counts[] = {1, 0};
    static int64_t in[2], out[2];
    rcx_request_t *requests[MANY];
    struct job job;

    (void)state;
    open_with(&job, 2, NULL, NULL, NULL);
    for (int i = 0; i < MANY; i++) {
        rcx_comm_t *comm = world_of(&job, 1);
        const struct rcx_piece *piece;

        if (i % 3 == 0)
            assert_ok(rcx_ireduce_scatter(in, out, counts, RCX_INT64, RCX_SUM,
                                          comm, &requests[i]));
        else
            assert_ok(rcx_ireduce(in, out, 1, RCX_INT64, RCX_SUM, 0, comm,
                                  &requests[i]));
        assert_non_null(requests[i]->slots[0]); /* in flight */
        piece = requests[i]->slots[0]->home;
        assert_int_equal(piece == requests[i]->program->pieces[0].acked,
                         i % EACH == EACH - 1);
    }
    for (int i = 0; i < 2; i++)
        assert_ok(rcx_comm_abort(world_of(&job, i)));
    for (int i = 0; i < MANY; i++)
        assert_ok(rcx_request_free(&requests[i]));
    job_abandon(&job);
}

/* The simulated network has acks from 256 bytes on. An exchange then takes two
 * more messages. */
static void a_message_long_for_its_transport_has_an_ack(void **state)
{
    struct job job;

    (void)state;
    open_with(&job, 2, "RCX_ALLREDUCE", "recursive_doubling", NULL);
    for (size_t count = 30; count <= 34; count++) {
        const struct call call = {
            .coll = ALLREDUCE, .count = count, .kind = &sums};
        const uint64_t before = rcx_sim_delivered(job.sim);

        calls_run(&job, &call, false);
        assert_int_equal(rcx_sim_delivered(job.sim) - before,
                         count * sizeof(int64_t) < 256 ? 2 : 4);
    }
    assert_ok(job_close(&job));
}

static void count_call(rcx_request_t *request, rcx_status_t status, void *arg)
{
    (void)request;
    assert_ok(status);
    ++*(int *)arg;
}

/* The second call has messages in flight, waits for sequence numbers of the
 * first, and may complete before it. It must call back once. */
static void a_call_that_waits_for_sequence_numbers_completes_once(void **state)
{
    static const struct rcx_tag_layout layout = {2, 2, 2, 2, 22};

    (void)state;
    for (uint64_t seed = 0; seed < 300; seed++) {
        const struct job_options options = {.layout = &layout, .seed = seed};
        const struct call first = {
            .coll = ALLREDUCE, .count = 4, .kind = &sums};
        const struct call second = {
            .coll = ALLREDUCE, .count = 2, .kind = &sums};
        struct calls c[2];
        struct job job;
        int called[2] = {0};

        open_with(&job, 2, "RCX_ALLREDUCE",
                  "recursive_doubling:segment=8,window=2", &options);
        calls_open(&c[0], &job, &first);
        calls_open(&c[1], &job, &second);
        calls_make(&c[0], false);
        for (uint64_t i = 0; i < seed % 8; i++)
            rcx_progress(job.contexts[i % 2]);
        calls_make(&c[1], false);
        for (int i = 0; i < 2; i++)
            assert_ok(rcx_request_set_callback(c[1].requests[i], count_call,
                                               &called[i]));
        for (int i = 1; i >= 0; i--) {
            calls_wait(&c[i], RCX_OK);
            calls_check(&c[i]);
        }
        for (int i = 0; i < 2; i++) {
            rcx_progress(job.contexts[i]);
            assert_int_equal(called[i], 1);
            assert_null(world_of(&job, i)->window.stalled);
        }
        calls_close(&c[1]);
        calls_close(&c[0]);
        assert_ok(job_close(&job));
    }
}

static void
a_persistent_request_may_be_started_any_number_of_times(void **state)
{
    struct call call = legal(0, 5);
    struct calls c;
    struct job job;

    (void)state;
    open_with(&job, 5, "RCX_ALLREDUCE", "ring:segment=64,window=3", NULL);
    call.place = SEPARATE;
    call.count = 100;
    calls_open(&c, &job, &call);
    calls_make(&c, true);
    for (int i = 0; i < 1000; i++) {
        calls_fill(&c); /* new data for each start */
        calls_start(&c);
        calls_wait(&c, RCX_OK);
        calls_check(&c);
    }
    calls_close(&c);
    assert_ok(job_close(&job));
}

static void several_persistent_requests_of_one_shape_run_at_once(void **state)
{
    enum { N = 6 };
    struct calls c[N];
    struct job job;

    (void)state;
    open_with(&job, 4, "RCX_ALLREDUCE", "ring:segment=64,window=2", NULL);
    for (int i = 0; i < N; i++) {
        const struct call call = {.coll = ALLREDUCE,
                                  .count = 100,
                                  .place = (enum place)(i % OWN_BLOCK),
                                  .kind = &sums};

        calls_open(&c[i], &job, &call);
        calls_make(&c[i], true);
    }
    for (int round = 0; round < 5; round++) {
        for (int i = 0; i < N; i++) {
            calls_fill(&c[i]);
            calls_start(&c[i]);
        }
        for (int i = 0; i < N; i++) {
            calls_wait(&c[i], RCX_OK);
            calls_check(&c[i]);
        }
    }
    for (int i = 0; i < N; i++)
        calls_close(&c[i]);
    assert_ok(job_close(&job));
}

static void test_tells_when_an_operation_is_complete(void **state)
{
    const struct call call = {.coll = ALLREDUCE, .count = 10, .kind = &sums};
    struct calls c;
    struct job job;
    int done[2] = {-1, -1};

    (void)state;
    open_with(&job, 2, NULL, NULL, NULL);
    calls_open(&c, &job, &call);
    calls_make(&c, true);
    for (int rank = 0; rank < 2; rank++) { /* complete if not active */
        assert_ok(rcx_test(c.requests[rank], &done[rank]));
        assert_int_equal(done[rank], 1);
        assert_ok(rcx_wait(c.requests[rank]));
    }
    assert_ok(rcx_start(c.requests[0]));
    for (int i = 0; i < 10; i++) {
        assert_ok(rcx_test(c.requests[0], &done[0]));
        assert_int_equal(done[0], 0); /* rank 1 has not started */
    }
    assert_ok(rcx_start(c.requests[1]));
    for (int i = 0; i < 100 && !(done[0] && done[1]); i++)
        for (int rank = 0; rank < 2; rank++)
            assert_ok(rcx_test(c.requests[rank], &done[rank]));
    assert_int_equal(done[0] + done[1], 2);
    calls_check(&c);
    calls_close(&c);
    assert_ok(job_close(&job));
}

static void progress_counts_events_and_none_when_idle(void **state)
{
    const struct call call = {.coll = ALLREDUCE, .count = 10, .kind = &sums};
    struct calls c;
    struct job job;
    int events = 0;

    (void)state;
    open_with(&job, 2, NULL, NULL, NULL);
    calls_open(&c, &job, &call);
    assert_int_equal(rcx_progress(job.contexts[0]), 0);
    calls_make(&c, false);
    for (int i = 0; i < 20; i++)
        for (int rank = 0; rank < 2; rank++)
            events += rcx_progress(job.contexts[rank]);
    assert_true(events > 0);
    for (int rank = 0; rank < 2; rank++) {
        int done;

        assert_ok(rcx_test(c.requests[rank], &done));
        assert_int_equal(done, 1);
        assert_int_equal(rcx_progress(job.contexts[rank]), 0);
    }
    calls_check(&c);
    calls_close(&c);
    assert_ok(job_close(&job));
}

static void wait_all_skips_null_requests(void **state)
{
    rcx_context_t *context;
    int32_t in[3] = {1, 2, 3}, out[3] = {0};
    rcx_request_t *requests[5] = {NULL};

    (void)state;
    assert_ok(rcx_init(NULL, &context));
    for (int i = 0; i < 3; i++)
        assert_ok(rcx_iallreduce(&in[i], &out[i], 1, RCX_INT32, RCX_SUM,
                                 rcx_world(context), &requests[2 * i]));
    assert_ok(rcx_wait_all(5, requests));
    assert_ok(rcx_wait_all(0, NULL));
    assert_memory_equal(in, out, sizeof in);
    for (int i = 0; i < 3; i++) {
        assert_ok(rcx_request_free(&requests[2 * i]));
        assert_null(requests[2 * i]);
    }
    assert_ok(rcx_finalize(&context));
}

static void a_request_names_its_method_as_the_environment_would(void **state)
{
    static const struct {
        const char *forced, *expected;
    } cases[] = {
        {"ring", "ring"},
        {"recursive_doubling", "recursive_doubling"},
        {"ring:segment=64,window=3", "ring:segment=64,window=3"},
        {"ring:window=5,segment=1K", "ring:segment=1024,window=5"},
        {"ring:segment=1M", "ring"}, /* longer than the vector */
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const struct call call = {
            .coll = ALLREDUCE, .count = 1000, .kind = &sums};
        struct calls c;
        struct job job;

        open_with(&job, 2, "RCX_ALLREDUCE", cases[i].forced, NULL);
        calls_open(&c, &job, &call);
        calls_make(&c, true);
        assert_string_equal(rcx_request_method(c.requests[0]),
                            cases[i].expected);
        calls_close(&c);
        assert_ok(job_close(&job));
    }
    assert_null(rcx_request_method(NULL));
}

static rcx_request_t *others[3];
static int calls_of[3];

/* A callback cannot be called within another one, so these wait in a queue. The
 * last one in the queue is freed, and one more is appended. */
static void queue_and_forget(rcx_request_t *request, rcx_status_t status,
                             void *arg)
{
    (void)request, (void)arg;
    assert_ok(status);
    for (int i = 0; i < 3; i++) {
        assert_ok(
            rcx_request_set_callback(others[i], count_call, &calls_of[i]));
        if (i == 1)
            assert_ok(rcx_request_free(&others[i]));
    }
}

static void a_callback_behind_a_freed_request_is_called(void **state)
{
    int32_t in = 1, out[4];
    rcx_context_t *context;
    rcx_request_t *first;

    (void)state;
    assert_ok(rcx_init(NULL, &context));
    for (int i = 0; i < 4; i++)
        assert_ok(rcx_iallreduce(&in, &out[i], 1, RCX_INT32, RCX_SUM,
                                 rcx_world(context),
                                 i < 3 ? &others[i] : &first));
    memset(calls_of, 0, sizeof calls_of);
    assert_ok(rcx_request_set_callback(first, queue_and_forget, NULL));
    assert_int_equal(calls_of[0], 1);
    assert_int_equal(calls_of[1], 0);
    assert_int_equal(calls_of[2], 1);
    assert_ok(rcx_request_free(&first));
    assert_ok(rcx_request_free(&others[0]));
    assert_ok(rcx_request_free(&others[2]));
    assert_ok(rcx_finalize(&context));
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(need_24_many_are_waited_for_in_any_order),
        cmocka_unit_test(
            numbers_in_tags_may_begin_again_while_many_are_outstanding),
        cmocka_unit_test(segments_and_small_tags_go_together),
        cmocka_unit_test(acks_are_due_at_the_same_segments_on_all_ranks),
        cmocka_unit_test(counts_of_one_rank_alone_do_not_decide_on_acks),
        cmocka_unit_test(every_64_kb_sent_one_way_end_with_an_ack),
        cmocka_unit_test(a_message_long_for_its_transport_has_an_ack),
        cmocka_unit_test(a_call_that_waits_for_sequence_numbers_completes_once),
        cmocka_unit_test(
            a_persistent_request_may_be_started_any_number_of_times),
        cmocka_unit_test(several_persistent_requests_of_one_shape_run_at_once),
        cmocka_unit_test(test_tells_when_an_operation_is_complete),
        cmocka_unit_test(progress_counts_events_and_none_when_idle),
        cmocka_unit_test(wait_all_skips_null_requests),
        cmocka_unit_test(a_callback_behind_a_freed_request_is_called),
        cmocka_unit_test(a_request_names_its_method_as_the_environment_would),
    };

    return cmocka_run_group_tests_name("requests", tests, NULL, NULL);
}
