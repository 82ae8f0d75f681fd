/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Execution of fused reductions, with data that the transport holds for them,
 * copies, or has no hold of. test_fuse.c has the plans.
 */
#include "test.h"

#include <string.h>

#include "built.h"
#include "core/exec/exec.h"
#include "core/sched/algo.h"

enum { N = 10, PEER = 1, VECTORS = 20, LONG = (128 << 10) / 4 + 1 };

static struct built built;
static struct rcx_shape shape;
static struct rcx_plan *plan;
static struct rcx_span in, out;

static int set_up(void **state)
{
    (void)state;
    shape = (struct rcx_shape){.coll = RCX_COLL_ALLREDUCE,
                               .size = 2,
                               .count = 2 * N,
                               .elem_bytes = sizeof(int32_t)};
    in = (struct rcx_span){RCX_BUFFER_IN, 0, N};
    out = (struct rcx_span){RCX_BUFFER_OUT, 0, N};
    built_open(&built, &shape);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    rcx_heap_free(&built.heap, plan);
    plan = NULL;
    return built_close(&built);
}

static void finish(void)
{
    rcx_heap_free(&built.heap, plan);
    plan = built_finish(&built);
    rcx_builder_begin(&built.builder, &shape);
}

static struct rcx_span receive(void)
{
    const struct rcx_span data = rcx_span_scratch(&built.builder, N);

    rcx_step_recv(&built.builder, PEER, data);
    return data;
}

static void reduce(struct rcx_span dst, struct rcx_span left,
                   struct rcx_span right)
{
    rcx_step_reduce(&built.builder, dst, left, right);
}

/* ---- Execution ----------------------------------------------------------- */

/* A transport that completes no receive by itself. */
static struct {
    struct rcx_transport base;
    struct rcx_message *posted[VECTORS];
    char *buffers[VECTORS];
    int posts, releases;
} net;

static rcx_status_t post(struct rcx_transport *t, int peer, void *buffer,
                         size_t bytes, uint64_t tag, struct rcx_message *m)
{
    (void)t, (void)peer, (void)bytes, (void)tag;
    net.buffers[net.posts] = buffer;
    net.posted[net.posts++] = m;
    return RCX_IN_PROGRESS;
}

static void release(struct rcx_transport *t, struct rcx_message *m)
{
    assert_ptr_equal(t, &net.base);
    assert_non_null(m->held);
    memset((void *)m->held, 0x77, m->due);
    m->held = NULL;
    net.releases++;
}

static void cancel(struct rcx_transport *t, struct rcx_message *m)
{
    (void)t;
    m->status = RCX_ERR_COMM_FAILED;
}

static const struct rcx_transport_ops ops = {
    .name = "test", .recv = post, .release = release, .cancel = cancel};
static int32_t operand[LONG], result[2 * LONG], tmp[VECTORS * LONG],
    coming[VECTORS][LONG];
static int calls, fails_at;
static struct rcx_exec *x;

static int subtract(void *dst, const void *left, const void *right,
                    size_t count, rcx_datatype_t type, void *arg)
{
    const int32_t *a = left, *b = right;

    (void)type, (void)arg;
    if (calls++ == fails_at)
        return 1;
    for (size_t i = 0; i < count; i++)
        ((int32_t *)dst)[i] = a[i] - b[i];
    return 0;
}

static const struct rcx_reducer reducer = {.fn = subtract,
                                           .elem_bytes = sizeof(int32_t)};

static int32_t element(int vector, int i)
{
    return 1000 * (vector + 1) + i * i;
}

static void fill(void)
{
    memset(tmp, 0x33, sizeof tmp);
    memset(result, 0x33, sizeof result);
    for (int i = 0; i < LONG; i++) {
        operand[i] = 7 * i;
        for (int k = 0; k < VECTORS; k++)
            coming[k][i] = element(k, i);
    }
    net.posts = net.releases = calls = 0;
    fails_at = -1;
}

static void start(void)
{
    const struct rcx_exec_setting setting = {
        .transport = &net.base, .reducer = &reducer, .layout = {0}};

    net.base.ops = &ops;
    x = rcx_heap_alloc(&built.heap, rcx_exec_bytes(plan));
    rcx_exec_init(x, plan, &setting);
    x->tag_base = 0;
    x->base[RCX_BUFFER_IN] = (void *)operand;
    x->base[RCX_BUFFER_OUT] = (void *)result;
    x->base[RCX_BUFFER_TMP] = (void *)tmp;
    fill();
    require(!rcx_exec_start(x));
}

static void end(void)
{
    rcx_heap_free(&built.heap, x);
}

/* How a message arrives: its data is held, or held and copied later, or copied
 * at once. */
enum { HELD, ENDED, COPIED, WAYS };

static bool arrive(int i, int how)
{
    struct rcx_message *m = net.posted[i];

    assert_int_equal(m->status, RCX_IN_PROGRESS);
    assert_true(m->may_hold);
    assert_null(m->sink);
    m->bytes = m->due;
    m->status = RCX_OK;
    if (how == COPIED)
        memcpy(net.buffers[i], coming[i], m->due);
    else
        m->held = coming[i];
    return rcx_exec_advance(x, m);
}

/* End the hold of a message, as the transport may do at any time. */
static void copy(int i)
{
    struct rcx_message *m = net.posted[i];

    memcpy(net.buffers[i], m->held, m->due);
    m->held = NULL;
}

/* ((in - 0) - (1 - 2)) */
static void write_tree(void)
{
    struct rcx_span a = receive(), b = receive(), c = receive();

    reduce(a, in, a);
    reduce(b, b, c);
    reduce(out, a, b);
    finish();
}

static void check_tree(void)
{
    assert_ok(x->status);
    for (int i = 0; i < N; i++)
        assert_int_equal(result[i], 7 * i - element(0, i) -
                                        (element(1, i) - element(2, i)));
    for (uint32_t i = 0; i < plan->step_count; i++)
        assert_null(x->messages[i].held);
}

static void nothing_is_reduced_until_all_operands_are_there(void **state)
{
    static const int orders[][3] = {{0, 1, 2}, {0, 2, 1}, {1, 0, 2},
                                    {1, 2, 0}, {2, 0, 1}, {2, 1, 0}};

    (void)state;
    write_tree();
    for (int k = 0; k < 6; k++)
        for (int ways = 0; ways < WAYS * WAYS * WAYS; ways++) {
            const int *order = orders[k];
            const int how[] = {ways % WAYS, ways / WAYS % WAYS,
                               ways / WAYS / WAYS};

            start();
            for (int i = 0; i < 3; i++) {
                assert_int_equal(calls, 0);
                assert_int_equal(net.releases, 0);
                for (int n = 0; n < i; n++)
                    if (how[n] == ENDED && net.posted[order[n]]->held)
                        copy(order[n]);
                assert_int_equal(arrive(order[i], how[i]), i == 2);
            }
            assert_int_equal(calls, 3);
            assert_int_equal(net.releases, (how[0] == HELD) + (how[1] == HELD) +
                                               (how[2] != COPIED));
            check_tree();
            end();
        }
}

/* Where an operand was held, its scratch keeps its content, except that of a
 * result. */
static void data_that_is_held_is_not_stored(void **state)
{
    (void)state;
    write_tree();
    start();
    for (int i = 0; i < 3; i++)
        arrive(i, HELD);
    for (int i = 0; i < N; i++)
        assert_int_equal(tmp[2 * N + i], 0x33333333);
    end();
}

static void a_run_leaves_nothing_to_the_next(void **state)
{
    (void)state;
    write_tree();
    start();
    for (int run = 0; run < 4; run++) {
        for (int i = 0; i < 3; i++)
            arrive((i + run) % 3, run % 2 ? HELD : COPIED);
        check_tree();
        fill();
        assert_false(rcx_exec_start(x));
    }
    end();
}

/* An empty message in place of data: its sender has failed. */
static void an_execution_that_fails_releases_all(void **state)
{
    (void)state;
    write_tree();
    for (int when = 0; when < 3; when++) {
        start();
        for (int i = 0; i < 3; i++) {
            if (i != when) {
                arrive(i, HELD);
                continue;
            }
            net.posted[i]->bytes = 0;
            net.posted[i]->status = RCX_OK;
            rcx_exec_advance(x, net.posted[i]);
        }
        assert_int_equal(x->steps_left, 0);
        assert_status(x->status, RCX_ERR_OP);
        assert_int_equal(net.releases, 2);
        assert_int_equal(calls, 0);
        end();
    }
}

static void an_op_that_fails_releases_all(void **state)
{
    (void)state;
    write_tree();
    for (int k = 0; k < 3; k++) {
        start();
        fails_at = k;
        for (int i = 0; i < 3; i++)
            arrive(i, HELD);
        assert_int_equal(x->steps_left, 0);
        assert_status(x->status, RCX_ERR_OP);
        assert_int_equal(net.releases, 3);
        assert_int_equal(calls, k + 1);
        end();
    }
}

static void a_lost_message_releases_all_when_detached(void **state)
{
    (void)state;
    write_tree();
    start();
    arrive(0, HELD);
    arrive(2, HELD);
    net.posted[1]->status = RCX_ERR_PEER_FAILED;
    assert_true(rcx_exec_advance(x, net.posted[1]));
    assert_int_equal(net.releases, 0);
    rcx_exec_detach(x);
    assert_int_equal(x->steps_left, 0);
    assert_int_equal(net.releases, 2);
    end();
    start(); /* with a message in flight */
    arrive(0, HELD);
    rcx_exec_detach(x);
    assert_int_equal(x->steps_left, 2);
    assert_int_equal(net.releases, 1);
    end();
}

static void long_vectors_are_reduced_step_by_step(void **state)
{
    struct rcx_span a, b, c;

    (void)state;
    for (int excess = 0; excess < 2; excess++) {
        const size_t n = LONG - 1 + (size_t)excess;

        shape.count = n;
        rcx_builder_begin(&built.builder, &shape);
        a = rcx_span_scratch(&built.builder, n);
        b = rcx_span_scratch(&built.builder, n);
        c = rcx_span_scratch(&built.builder, n);
        rcx_step_recv(&built.builder, PEER, a);
        rcx_step_recv(&built.builder, PEER, b);
        reduce(c, rcx_span_in(&shape), a);
        reduce(rcx_span_out(&shape), c, b);
        finish();
        assert_int_equal(plan->part_count, 2);
        start();
        assert_int_equal(net.posted[0]->may_hold, !excess);
        assert_int_equal(net.posted[0]->sink != NULL, excess);
        net.posted[0]->bytes = net.posted[0]->due;
        net.posted[0]->status = RCX_OK;
        memcpy(net.buffers[0], coming[0], net.posted[0]->due);
        assert_false(rcx_exec_advance(x, net.posted[0]));
        assert_int_equal(calls, excess);
        net.posted[1]->bytes = net.posted[1]->due;
        net.posted[1]->status = RCX_OK;
        memcpy(net.buffers[1], coming[1], net.posted[1]->due);
        assert_true(rcx_exec_advance(x, net.posted[1]));
        assert_ok(x->status);
        for (int i = 0; i < (int)n; i++)
            assert_int_equal(result[i], 7 * i - element(0, i) - element(1, i));
        end();
    }
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    static const struct CMUnitTest tests[] = {
        TEST(nothing_is_reduced_until_all_operands_are_there),
        TEST(data_that_is_held_is_not_stored),
        TEST(a_run_leaves_nothing_to_the_next),
        TEST(an_execution_that_fails_releases_all),
        TEST(an_op_that_fails_releases_all),
        TEST(a_lost_message_releases_all_when_detached),
        TEST(long_vectors_are_reduced_step_by_step),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
