/* SPDX-License-Identifier: BSD-3-Clause */
/* The executor if messages complete at once or soon: which functions of the
 * transport it calls and in which order, when it polls for a message (expect),
 * and how errors end an execution. */
#include "test.h"

#include <string.h>

#include "core/exec/exec.h"
#include "core/sched/algo.h"

enum { N = 16, PARENT = 0, CHILD = 2, MOST_CALLS = 16, POLLS = 3 };

/* ---- A transport that records calls -------------------------------------- */

static struct {
    struct rcx_transport base;  /* must be first */
    char calls[MOST_CALLS + 1]; /* s, r, e: expect; + where the op was called */
    int count;
    struct rcx_message *received[MOST_CALLS];
    int receives;
    rcx_status_t recv, expect; /* the results of these functions */
} net;

static const int32_t coming[N] = {[0] = 7, [N - 1] = 70};
static int32_t in[N], out[N], scratch[2 * N];

static void log_call(char call)
{
    require(net.count < MOST_CALLS);
    net.calls[net.count++] = call;
}

static rcx_status_t send(struct rcx_transport *t, int peer, const void *buffer,
                         size_t bytes, uint64_t tag, struct rcx_message *m)
{
    (void)t, (void)peer, (void)buffer, (void)bytes, (void)tag, (void)m;
    log_call('s');
    return RCX_OK;
}

/* Deliver a message; a sink gets it in two parts. */
static void deliver(struct rcx_message *m, void *buffer)
{
    m->bytes = sizeof coming;
    if (rcx_message_offer_to_sink(m)) {
        m->sink->take(m, 0, coming, RCX_PART_BYTES);
        m->sink->take(m, RCX_PART_BYTES, coming + RCX_PART_BYTES / 4,
                      sizeof coming - RCX_PART_BYTES);
    } else {
        memcpy(buffer, coming, sizeof coming);
    }
}

static rcx_status_t recv(struct rcx_transport *t, int peer, void *buffer,
                         size_t bytes, uint64_t tag, struct rcx_message *m)
{
    (void)t, (void)peer, (void)tag;
    log_call('r');
    require(bytes == sizeof coming);
    m->handle = (void *)buffer;
    net.received[net.receives++] = m;
    if (net.recv == RCX_OK)
        deliver(m, buffer);
    return net.recv;
}

static rcx_status_t expect(struct rcx_transport *t, struct rcx_message *m,
                           unsigned *polls)
{
    (void)t;
    log_call('e');
    require(m == net.received[net.receives - 1] && *polls == POLLS);
    if (net.expect == RCX_OK)
        deliver(m, m->handle);
    return net.expect;
}

static const struct rcx_transport_ops ops = {
    .name = "notes", .send = send, .recv = recv, .expect = expect};

/* ---- Executions ---------------------------------------------------------- */

static int add(void *dst, const void *left, const void *right, size_t count,
               rcx_datatype_t type, void *arg)
{
    const int32_t *l = left, *r = right;

    (void)type, (void)arg;
    log_call('+');
    for (size_t i = 0; i < count; i++)
        ((int32_t *)dst)[i] = l[i] + r[i];
    return 0;
}

static const struct rcx_reducer reducer = {
    .fn = add, .type = RCX_INT32, .elem_bytes = sizeof(int32_t)};
static struct rcx_heap heap;
static struct rcx_log lines;
static struct rcx_builder builder;
static struct rcx_plan *plan;
static struct rcx_exec *x;

/* The operand, the result, and two vectors of scratch. */
static struct rcx_span operand, result, first, second;

static struct rcx_builder *begin(rcx_status_t recv_answer,
                                 rcx_status_t expect_answer)
{
    static const struct rcx_shape shape = {.coll = RCX_COLL_ALLREDUCE,
                                           .rank = 1,
                                           .size = 3,
                                           .count = N,
                                           .elem_bytes = sizeof(int32_t)};

    memset(&net, 0, sizeof net);
    net.base.ops = &ops;
    net.recv = recv_answer;
    net.expect = expect_answer;
    heap = RCX_HEAP_INIT;
    rcx_log_init(&lines);
    rcx_builder_init(&builder, &heap, &lines);
    rcx_builder_begin(&builder, &shape);
    operand = rcx_span_in(&shape);
    result = rcx_span_out(&shape);
    first = rcx_span_scratch(&builder, N);
    second = rcx_span_scratch(&builder, N);
    return &builder;
}

/* Start x; returns whether it is over. */
static bool start(unsigned polls)
{
    const struct rcx_exec_setting setting = {.transport = &net.base,
                                             .reducer = &reducer,
                                             .layout = RCX_TAG_LAYOUT,
                                             .rank = 1};

    assert_ok(rcx_sched_finish(&builder, 1024, &plan));
    x = rcx_heap_alloc(&heap, rcx_exec_bytes(plan));
    rcx_exec_init(x, plan, &setting);
    x->base[RCX_BUFFER_IN] = (void *)in;
    x->base[RCX_BUFFER_OUT] = (void *)out;
    x->base[RCX_BUFFER_TMP] = (void *)scratch;
    for (int i = 0; i < N; i++)
        in[i] = 1000 + i;
    return rcx_exec_begin(x) || rcx_exec_go_on(x, polls);
}

static void end(const char *calls)
{
    assert_string_equal(net.calls, calls);
    rcx_heap_free(&heap, x);
    rcx_heap_free(&heap, plan);
    rcx_builder_free(&builder);
    assert_int_equal(heap.live, 0);
}

/* Complete the last receive with status; returns whether x is over. */
static bool resolve(rcx_status_t status)
{
    struct rcx_message *m = net.received[net.receives - 1];

    if (status == RCX_OK)
        deliver(m, m->handle);
    m->status = status;
    return rcx_exec_advance(x, m);
}

/* Exchange with the parent, then with the child. The second sum depends on the
 * first. */
static void two_in_a_row(struct rcx_builder *b)
{
    rcx_step_recv(b, PARENT, first);
    rcx_step_send(b, PARENT, operand);
    rcx_step_reduce(b, second, operand, first);
    rcx_step_send(b, CHILD, second);
    rcx_step_recv(b, CHILD, first);
    rcx_step_reduce(b, result, second, first);
}

static void check_two(void)
{
    assert_ok(x->status);
    for (int i = 0; i < N; i++)
        assert_int_equal(out[i], 1000 + i + 2 * coming[i]);
}

/* ---- Tests --------------------------------------------------------------- */

static void data_that_is_here_at_once_is_combined_on_arrival(void **state)
{
    (void)state;
    two_in_a_row(begin(RCX_OK, RCX_OK));
    assert_true(start(POLLS));
    check_two();
    end("sr++sr++"); /* combined part by part on arrival */
}

static void a_receive_that_blocks_all_other_steps_is_polled_for(void **state)
{
    (void)state;
    two_in_a_row(begin(RCX_IN_PROGRESS, RCX_OK));
    assert_true(start(POLLS));
    check_two();
    end("sre++sre++");

    two_in_a_row(begin(RCX_IN_PROGRESS, RCX_OK));
    assert_false(start(0)); /* polls is 0: no expect */
    end("sr");
}

static void a_receive_without_its_message_stays_in_flight(void **state)
{
    (void)state;
    two_in_a_row(begin(RCX_IN_PROGRESS, RCX_IN_PROGRESS));
    assert_false(start(POLLS));
    assert_int_equal(net.receives, 1);
    assert_false(resolve(RCX_OK));
    assert_true(resolve(RCX_OK));
    check_two();
    end("sre++sr++");
}

static void one_of_two_receives_is_not_polled_for_alone(void **state)
{
    struct rcx_builder *b = begin(RCX_IN_PROGRESS, RCX_OK);

    (void)state;
    rcx_step_recv(b, PARENT, first);
    rcx_step_recv(b, CHILD, second);
    rcx_step_reduce(b, result, first, second);
    assert_false(start(POLLS));
    end("rr");
}

static void a_message_lost_while_polled_for_fails_the_execution(void **state)
{
    (void)state;
    two_in_a_row(begin(RCX_IN_PROGRESS, RCX_ERR_PEER_FAILED));
    assert_true(start(POLLS));
    assert_status(x->status, RCX_ERR_PEER_FAILED);
    assert_int_equal(x->lost, PARENT);
    assert_int_equal(x->steps_left, plan->step_count - 1);
    end("sre");
}

static void a_message_lost_in_flight_fails_the_execution(void **state)
{
    (void)state;
    two_in_a_row(begin(RCX_IN_PROGRESS, RCX_IN_PROGRESS));
    assert_false(start(POLLS));
    assert_false(resolve(RCX_OK));
    assert_true(resolve(RCX_ERR_PEER_FAILED));
    assert_status(x->status, RCX_ERR_PEER_FAILED);
    assert_int_equal(x->lost, CHILD);
    assert_int_equal(x->steps_left, 2);
    end("sre++sr");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(data_that_is_here_at_once_is_combined_on_arrival),
        cmocka_unit_test(a_receive_that_blocks_all_other_steps_is_polled_for),
        cmocka_unit_test(a_receive_without_its_message_stays_in_flight),
        cmocka_unit_test(one_of_two_receives_is_not_polled_for_alone),
        cmocka_unit_test(a_message_lost_while_polled_for_fails_the_execution),
        cmocka_unit_test(a_message_lost_in_flight_fails_the_execution),
    };

    return cmocka_run_group_tests_name("exec_in_order", tests, NULL, NULL);
}
