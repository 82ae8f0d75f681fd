/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Sinks: reductions that consume received data as it arrives. Tests which
 * receives get a sink, and how the executor runs it. The proof suite checks the
 * results of all algorithms.
 */
#include "test.h"

#include <string.h>

#include "built.h"
#include "core/exec/exec.h"
#include "core/sched/algo.h"

enum { N = 10, PEER = 1, GARBAGE = -77 };

static struct built built;
static const struct rcx_shape shape = {.coll = RCX_COLL_ALLREDUCE,
                                       .size = 2,
                                       .count = 2 * N,
                                       .elem_bytes = sizeof(int32_t),
                                       .commutative = true};
static const struct rcx_span in = {RCX_BUFFER_IN, 0, N};
static const struct rcx_span out = {RCX_BUFFER_OUT, 0, N};
static const struct rcx_span rest = {RCX_BUFFER_OUT, N, N};

static int set_up(void **state)
{
    (void)state;
    built_open(&built, &shape);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    return built_close(&built);
}

static struct rcx_plan *finish(uint32_t window)
{
    struct rcx_plan *plan = NULL;

    require_ok(rcx_sched_finish(&built.builder, window, &plan));
    return plan;
}

/* ---- Receives that have a sink ------------------------------------------- */

/* Index of the step that is the sink of the first step; -1: none. With a window
 * of 1, each message from a peer waits for the one before. */
static int sink_of_first(void)
{
    struct rcx_plan *plan = finish(1);
    const int sink = (int)plan->steps[0].sink - 1;

    rcx_heap_free(&built.heap, plan);
    rcx_builder_begin(&built.builder, &shape);
    return sink;
}

static struct rcx_span receive(void)
{
    const struct rcx_span data = rcx_span_scratch(&built.builder, N);

    rcx_step_recv(&built.builder, PEER, data);
    return data;
}

static void a_reduction_that_is_the_only_reader_is_the_sink(void **state)
{
    struct rcx_span data;

    (void)state;
    data = receive();
    rcx_step_reduce(&built.builder, out, in, data);
    assert_int_equal(sink_of_first(), 1);
    data = receive();
    rcx_step_send(&built.builder, PEER, in);
    rcx_step_reduce(&built.builder, out, data, in);
    assert_int_equal(sink_of_first(), 2);
    data = receive();
    rcx_step_reduce(&built.builder, data, data, in);
    rcx_step_copy(&built.builder, out, data);
    assert_int_equal(sink_of_first(), 1);
}

/* A later receive into the same span and a completion ack wait for the data,
 * but do not read it. The reduction must still be the sink. */
static void steps_that_wait_without_reading_allow_a_sink(void **state)
{
    struct rcx_span data;

    (void)state;
    data = receive();
    rcx_step_reduce(&built.builder, out, in, data);
    rcx_sched_completion_ack(&built.builder, 0);
    assert_int_equal(sink_of_first(), 1);
    data = receive();
    rcx_step_reduce(&built.builder, out, in, data);
    rcx_step_recv(&built.builder, PEER, data);
    rcx_step_reduce(&built.builder, rest, in, data);
    assert_int_equal(sink_of_first(), 1);
}

static void data_that_another_step_reads_is_stored(void **state)
{
    struct rcx_span data;

    (void)state;
    data = receive();
    rcx_step_reduce(&built.builder, out, in, data);
    rcx_step_reduce(&built.builder, rest, in, data);
    assert_int_equal(sink_of_first(), -1);
    data = receive();
    rcx_step_reduce(&built.builder, out, in, data);
    rcx_step_send(&built.builder, PEER, rcx_span_sub(data, N - 1, 1));
    assert_int_equal(sink_of_first(), -1);
    data = receive();
    rcx_step_copy(&built.builder, rest, data);
    rcx_step_reduce(&built.builder, out, data, in);
    assert_int_equal(sink_of_first(), -1);
    data = receive();
    rcx_step_copy(&built.builder, out, data);
    assert_int_equal(sink_of_first(), -1);
}

static void only_a_reduction_of_the_same_span_is_a_sink(void **state)
{
    struct rcx_span data;

    (void)state;
    data = receive();
    rcx_step_reduce(&built.builder, rcx_span_sub(out, 0, 4),
                    rcx_span_sub(in, 0, 4), rcx_span_sub(data, 0, 4));
    assert_int_equal(sink_of_first(), -1);
    data = receive();
    rcx_span_scratch(&built.builder, 2);
    data.offset += 2;
    rcx_step_reduce(&built.builder, out, in, data);
    assert_int_equal(sink_of_first(), -1);
    data = receive();
    rcx_step_reduce(&built.builder, out, data, data);
    assert_int_equal(sink_of_first(), -1);
    rcx_step_recv(&built.builder, PEER, out); /* the data is in the result */
    rcx_step_reduce(&built.builder, rest, in, out);
    assert_int_equal(sink_of_first(), -1);
}

/* ---- Execution ----------------------------------------------------------- */

/* A transport that completes no receive by itself. */
static struct rcx_message *posted[4];
static int posts;

static rcx_status_t post(struct rcx_transport *t, int peer, void *buffer,
                         size_t bytes, uint64_t tag, struct rcx_message *m)
{
    (void)t, (void)peer, (void)buffer, (void)bytes, (void)tag;
    posted[posts++] = m;
    return RCX_IN_PROGRESS;
}

static const struct rcx_transport_ops ops = {.name = "test", .recv = post};
static int32_t operand[2 * N], result[2 * N], scratch[2 * N], coming[2 * N];

static void subtract(void *dst, const void *left, const void *right,
                     size_t count)
{
    const int32_t *a = left, *b = right;

    for (size_t i = 0; i < count; i++)
        ((int32_t *)dst)[i] = a[i] - b[i];
}

static struct rcx_exec *start(const struct rcx_plan *plan,
                              struct rcx_transport *t,
                              const struct rcx_reducer *reducer)
{
    const struct rcx_exec_setting setting = {
        .transport = t, .reducer = reducer, .layout = {0}};
    struct rcx_exec *x = rcx_heap_alloc(&built.heap, rcx_exec_bytes(plan));

    posts = 0;
    rcx_exec_init(x, plan, &setting);
    x->tag_base = 0;
    x->base[RCX_BUFFER_IN] = (void *)operand;
    x->base[RCX_BUFFER_OUT] = (void *)result;
    x->base[RCX_BUFFER_TMP] = (void *)scratch;
    for (int i = 0; i < 2 * N; i++) {
        operand[i] = 100 + i;
        coming[i] = i * i;
        result[i] = scratch[i] = GARBAGE;
    }
    require(!rcx_exec_start(x));
    return x;
}

/* Complete a receive as a transport does, with elements from first on in two
 * parts. Returns whether x is over. */
static bool arrive(struct rcx_exec *x, struct rcx_message *m, int first)
{
    const size_t bytes = N * sizeof(int32_t), part = bytes / 2;

    m->bytes = bytes;
    m->is_consumed = m->sink && m->sink->is_ready(m);
    if (m->is_consumed) {
        m->sink->take(m, 0, coming + first, part);
        m->sink->take(m, part, coming + first + N / 2, bytes - part);
    } else {
        memcpy(scratch + m->step->dst_at, coming + first, bytes);
    }
    m->status = RCX_OK;
    return rcx_exec_advance(x, m);
}

/* Two receives and two reductions. The second reduction needs the result of the
 * first, which is a part of the plan's result: so they are not fused. */
static struct rcx_plan *two_in_a_row(void)
{
    const struct rcx_span first = receive(), second = receive();

    rcx_step_reduce(&built.builder, rest, in, first);
    rcx_step_reduce(&built.builder, out, second, rest);
    return finish(1024);
}

static void data_that_arrives_too_early_is_stored(void **state)
{
    struct rcx_transport t = {.ops = &ops};
    const struct rcx_reducer reducer = {.kernel = subtract,
                                        .elem_bytes = sizeof(int32_t)};

    (void)state;
    for (int turned = 0; turned < 2; turned++) {
        struct rcx_plan *plan = two_in_a_row();
        struct rcx_exec *x = start(plan, &t, &reducer);

        assert_int_equal(posts, 2);
        assert_false(arrive(x, posted[turned], turned * N));
        assert_true(arrive(x, posted[!turned], !turned * N));
        for (int i = 0; i < N; i++) {
            const int32_t one = 100 + i - coming[i];

            assert_int_equal(result[i], coming[N + i] - one);
            assert_int_equal(scratch[i], GARBAGE);
            assert_int_equal(scratch[N + i], turned ? coming[N + i] : GARBAGE);
        }
        rcx_heap_free(&built.heap, x);
        rcx_heap_free(&built.heap, plan);
        rcx_builder_begin(&built.builder, &shape);
    }
}

/* Run the same plan again, with the other order of arrival. */
static void a_run_leaves_nothing_to_the_next(void **state)
{
    struct rcx_transport t = {.ops = &ops};
    const struct rcx_reducer reducer = {.kernel = subtract,
                                        .elem_bytes = sizeof(int32_t)};
    struct rcx_plan *plan = two_in_a_row();
    struct rcx_exec *x = start(plan, &t, &reducer);

    (void)state;
    assert_false(arrive(x, posted[0], 0));
    assert_true(arrive(x, posted[1], N));
    for (int again = 0; again < 3; again++) {
        posts = 0;
        memset(result, 0, sizeof result);
        assert_false(rcx_exec_start(x));
        assert_false(arrive(x, posted[again % 2 == 0], (again % 2 == 0) * N));
        assert_true(arrive(x, posted[again % 2], again % 2 * N));
        for (int i = 0; i < N; i++)
            assert_int_equal(result[i], coming[N + i] - (100 + i - coming[i]));
    }
    rcx_heap_free(&built.heap, x);
    rcx_heap_free(&built.heap, plan);
}

/* If a part may end within an element, there must be no sink. */
static void odd_elements_are_stored(void **state)
{
    struct rcx_transport t = {.ops = &ops};
    const struct rcx_reducer reducer = {.kernel = subtract, .elem_bytes = 24};
    struct rcx_plan *plan;
    struct rcx_exec *x;

    (void)state;
    rcx_step_reduce(&built.builder, out, in, receive());
    plan = finish(1024);
    x = start(plan, &t, &reducer);
    assert_null(posted[0]->sink);
    rcx_heap_free(&built.heap, x);
    rcx_heap_free(&built.heap, plan);
}

static int refuse(void *dst, const void *left, const void *right, size_t count,
                  rcx_datatype_t type, void *arg)
{
    (void)dst, (void)left, (void)right, (void)count, (void)type, (void)arg;
    return 1;
}

static void an_op_that_fails_fails_the_execution(void **state)
{
    struct rcx_transport t = {.ops = &ops};
    const struct rcx_reducer reducer = {.fn = refuse,
                                        .elem_bytes = sizeof(int32_t)};
    struct rcx_plan *plan = two_in_a_row();
    struct rcx_exec *x = start(plan, &t, &reducer);

    (void)state;
    assert_false(arrive(x, posted[0], 0));
    assert_true(arrive(x, posted[1], N));
    assert_int_equal(x->status, RCX_ERR_OP);
    rcx_heap_free(&built.heap, x);
    rcx_heap_free(&built.heap, plan);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    static const struct CMUnitTest tests[] = {
        TEST(a_reduction_that_is_the_only_reader_is_the_sink),
        TEST(steps_that_wait_without_reading_allow_a_sink),
        TEST(data_that_another_step_reads_is_stored),
        TEST(only_a_reduction_of_the_same_span_is_a_sink),
        TEST(data_that_arrives_too_early_is_stored),
        TEST(a_run_leaves_nothing_to_the_next),
        TEST(odd_elements_are_stored),
        TEST(an_op_that_fails_fails_the_execution),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
