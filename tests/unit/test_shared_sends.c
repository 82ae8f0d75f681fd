/* SPDX-License-Identifier: BSD-3-Clause */
/* Sends of one span to several peers: which may share a copy, and how an
 * execution sends them. */
#include "test.h"

#include "built.h"
#include "core/exec/exec.h"
#include "core/op/registry.h"
#include "core/sched/algo.h"

enum { N = 8, STEPS = 16 };

static struct built built;
static const struct rcx_shape shape = {.coll = RCX_COLL_ALLREDUCE,
                                       .rank = STEPS,
                                       .size = STEPS + 1,
                                       .count = N,
                                       .elem_bytes = 8,
                                       .commutative = true};

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

/* Check that the steps of the plan listed in circle, ended by -1, share. */
static void check_circle(const struct rcx_plan *plan, const int circle[])
{
    int n = 0;

    while (circle[n] >= 0)
        n++;
    for (int i = 0; i < n; i++)
        assert_int_equal(plan->steps[circle[i]].next_shared,
                         circle[(i + 1) % n] + 1);
}

static void check_alone(const struct rcx_plan *plan, int step)
{
    assert_int_equal(plan->steps[step].next_shared, 0);
}

/* ---- The pass ------------------------------------------------------------ */

static void sends_of_one_span_share(void **state)
{
    const struct rcx_span in = rcx_span_in(&shape);
    struct rcx_plan *plan;

    (void)state;
    rcx_step_send(&built.builder, 1, in);
    rcx_step_send(&built.builder, 2, rcx_span_sub(in, 0, N / 2));
    rcx_step_send(&built.builder, 3, in);
    rcx_step_send(&built.builder, 4, rcx_span_sub(in, 0, N / 2));
    rcx_step_send(&built.builder, 5, rcx_span_sub(in, 1, N / 2));
    rcx_step_send(&built.builder, 6, in);
    plan = built_finish(&built);
    check_circle(plan, (const int[]){0, 2, 5, -1});
    check_circle(plan, (const int[]){1, 3, -1});
    check_alone(plan, 4);
    rcx_heap_free(&built.heap, plan);
}

static void sends_behind_one_receive_share(void **state)
{
    const struct rcx_span out = rcx_span_out(&shape);
    struct rcx_plan *plan;

    (void)state;
    rcx_step_recv(&built.builder, 1, out);
    rcx_step_send(&built.builder, 2, out);
    rcx_step_send(&built.builder, 3, out);
    plan = built_finish(&built);
    check_circle(plan, (const int[]){1, 2, -1});
    rcx_heap_free(&built.heap, plan);
}

/* The same span holds other data, or is ready at another time. */
static void sends_that_are_not_ready_together_do_not_share(void **state)
{
    const struct rcx_span out = rcx_span_out(&shape);
    struct rcx_plan *plan;

    (void)state;
    rcx_step_recv(&built.builder, 1, out);
    rcx_step_send(&built.builder, 2, out);
    rcx_step_recv(&built.builder, 3, out);
    rcx_step_send(&built.builder, 4, out);
    plan = built_finish(&built);
    check_alone(plan, 1);
    check_alone(plan, 3);
    rcx_heap_free(&built.heap, plan);
}

/* A window of pairs delays the later ones. */
static void sends_that_wait_for_others_do_not_share(void **state)
{
    const struct rcx_span in = rcx_span_in(&shape);
    const struct rcx_span out = rcx_span_out(&shape);
    struct rcx_plan *plan;

    (void)state;
    for (int i = 0; i < 4; i++) {
        rcx_step_pair(&built.builder, 2);
        rcx_step_recv(&built.builder, i + 1, rcx_span_sub(out, (size_t)i, 1));
        rcx_step_send(&built.builder, i + 1, in);
    }
    plan = built_finish(&built);
    check_circle(plan, (const int[]){1, 3, -1});
    check_alone(plan, 5);
    check_alone(plan, 7);
    rcx_heap_free(&built.heap, plan);
}

/* Each pair waits for the one before, so equally many steps precede its sends,
 * but other ones. */
static void sends_of_one_pair_share(void **state)
{
    const struct rcx_span in = rcx_span_in(&shape);
    struct rcx_plan *plan;

    (void)state;
    for (int i = 0; i < 6; i++) {
        if (i % 2 == 0)
            rcx_step_pair(&built.builder, 1);
        rcx_step_send(&built.builder, i + 1, in);
    }
    plan = built_finish(&built);
    for (int i = 0; i < 6; i += 2)
        check_circle(plan, (const int[]){i, i + 1, -1});
    rcx_heap_free(&built.heap, plan);
}

static void empty_messages_do_not_share(void **state)
{
    struct rcx_plan *plan;

    (void)state;
    rcx_step_ack(&built.builder, RCX_STEP_SEND, 1);
    rcx_step_ack(&built.builder, RCX_STEP_SEND, 2);
    plan = built_finish(&built);
    check_alone(plan, 0);
    check_alone(plan, 1);
    rcx_heap_free(&built.heap, plan);
}

/* ---- The executor -------------------------------------------------------- */

/* A transport that counts messages by peer. It shares with peers below limit,
 * and fails receives. */
struct counting {
    struct rcx_transport base;
    unsigned alone[STEPS], shared[STEPS], calls, longest;
    size_t bytes; /* of the last message */
    int limit;
    bool fails;
};

static rcx_status_t count_send(struct rcx_transport *t, int peer,
                               const void *buffer, size_t bytes, uint64_t tag,
                               struct rcx_message *m)
{
    struct counting *c = (struct counting *)t;

    (void)buffer, (void)tag, (void)m;
    c->alone[peer]++;
    c->bytes = bytes;
    return RCX_OK;
}

static rcx_status_t give(struct rcx_transport *t, int peer, void *buffer,
                         size_t bytes, uint64_t tag, struct rcx_message *m)
{
    (void)peer, (void)buffer, (void)tag;
    m->bytes = ((struct counting *)t)->fails ? 0 : bytes;
    return RCX_OK;
}

static void count_shared(struct rcx_transport *t, struct rcx_message *m[],
                         unsigned n, const void *buffer, size_t bytes,
                         uint64_t tag_base)
{
    struct counting *c = (struct counting *)t;

    (void)buffer, (void)tag_base;
    c->calls++;
    c->longest = n > c->longest ? n : c->longest;
    c->bytes = bytes;
    for (unsigned i = 0; i < n; i++) {
        const bool is_sent = m[i]->peer < c->limit;

        assert_int_equal(m[i]->sharing, RCX_SHARING_POSSIBLE);
        c->shared[m[i]->peer] += is_sent;
        m[i]->sharing = is_sent ? RCX_SHARING_SENT : RCX_SHARING_REFUSED;
    }
}

static const struct rcx_transport_ops counting_ops = {.name = "counting",
                                                      .send = count_send,
                                                      .recv = give,
                                                      .send_shared =
                                                          count_shared};

/* Run plan so many times. */
static void run(struct counting *c, const struct rcx_plan *plan, int times)
{
    double in[N] = {0}, out[N];
    struct rcx_reducer reducer = {.elem_bytes = sizeof *in};
    const struct rcx_exec_setting setting = {
        .transport = &c->base, .reducer = &reducer, .layout = RCX_TAG_LAYOUT};
    struct rcx_exec *x = rcx_heap_alloc(&built.heap, rcx_exec_bytes(plan));

    c->base.ops = &counting_ops;
    rcx_exec_init(x, plan, &setting);
    x->base[RCX_BUFFER_IN] = (char *)in;
    x->base[RCX_BUFFER_OUT] = (char *)out;
    for (int i = 0; i < times; i++)
        assert_true(rcx_exec_begin(x));
    rcx_heap_free(&built.heap, x);
}

static struct rcx_plan *plan_of_sends(int n)
{
    rcx_step_recv(&built.builder, 0, rcx_span_out(&shape));
    for (int i = 1; i <= n; i++)
        rcx_step_send(&built.builder, i, rcx_span_out(&shape));
    return built_finish(&built);
}

static void each_peer_gets_one_message_a_run(void **state)
{
    struct rcx_plan *plan = plan_of_sends(STEPS - 1);

    (void)state;
    for (int limit = 0; limit <= STEPS; limit++) {
        struct counting c = {.limit = limit};

        run(&c, plan, 3);
        assert_int_equal(c.calls, 3);
        for (int i = 1; i < STEPS; i++) {
            assert_int_equal(c.shared[i], i < limit ? 3 : 0);
            assert_int_equal(c.alone[i], i < limit ? 0 : 3);
        }
    }
    rcx_heap_free(&built.heap, plan);
}

static void many_peers_are_told_in_several_calls(void **state)
{
    enum { MANY = 2 * RCX_SHARED_MOST + 5 };
    struct rcx_plan *plan;
    struct counting c = {.limit = 2};

    (void)state;
    rcx_step_recv(&built.builder, 0, rcx_span_out(&shape));
    for (int i = 0; i < MANY; i++)
        rcx_step_send(&built.builder, 1, rcx_span_out(&shape));
    plan = built_finish(&built);
    run(&c, plan, 2);
    assert_int_equal(c.calls, 2 * 3);
    assert_int_equal(c.longest, RCX_SHARED_MOST);
    assert_int_equal(c.shared[1], 2 * MANY);
    assert_int_equal(c.alone[1], 0);
    rcx_heap_free(&built.heap, plan);
}

static void a_failed_execution_sends_empty_messages(void **state)
{
    struct rcx_plan *plan = plan_of_sends(4);
    struct counting c = {.limit = STEPS, .fails = true};

    (void)state;
    run(&c, plan, 2);
    assert_int_equal(c.calls, 0);
    assert_int_equal(c.bytes, 0);
    for (int i = 1; i <= 4; i++)
        assert_int_equal(c.alone[i], 2);
    rcx_heap_free(&built.heap, plan);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(sends_of_one_span_share, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(sends_behind_one_receive_share, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(
            sends_that_are_not_ready_together_do_not_share, set_up, tear_down),
        cmocka_unit_test_setup_teardown(sends_that_wait_for_others_do_not_share,
                                        set_up, tear_down),
        cmocka_unit_test_setup_teardown(sends_of_one_pair_share, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(empty_messages_do_not_share, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(each_peer_gets_one_message_a_run,
                                        set_up, tear_down),
        cmocka_unit_test_setup_teardown(many_peers_are_told_in_several_calls,
                                        set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_failed_execution_sends_empty_messages,
                                        set_up, tear_down),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
