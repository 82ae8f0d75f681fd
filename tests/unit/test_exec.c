/* SPDX-License-Identifier: BSD-3-Clause */
/* The executor on hand-written schedules: results, errors, the order in which
 * messages and local work are issued, and the tags of messages. Algorithms are
 * tested elsewhere. */
#include "test.h"

#include <stdlib.h>
#include <string.h>

#include "core/exec/exec.h"
#include "core/sched/algo.h"
#include "sim/network.h"

enum { COUNT = 4, MOST_RANKS = 4, MOST_CALLS = 32 };

/* ---- A job of hand-written schedules ------------------------------------- */

struct bench {
    int size;
    struct rcx_heap heap;
    struct rcx_log log;
    struct rcx_builder builder;
    struct rcx_shape shapes[MOST_RANKS];
    struct rcx_plan *plans[MOST_RANKS];
    struct rcx_exec *execs[MOST_RANKS];
    struct rcx_sim *sim;
    struct rcx_reducer reducers[MOST_RANKS];
    int32_t in[MOST_RANKS][COUNT], out[MOST_RANKS][COUNT],
        scratch[MOST_RANKS][4 * COUNT];
    bool complete[MOST_RANKS];
};

static struct bench bench;

/* The part of the tag that all messages of one execution share. */
static uint64_t tag_of_call(const struct rcx_tag_layout *l, uint64_t comm,
                            uint64_t sequence, uint64_t fingerprint)
{
    return rcx_tag_base(l, comm, fingerprint) | rcx_tag_sequence(l, sequence);
}

static uint64_t whole_tag(const struct rcx_tag_layout *l, uint64_t base,
                          uint32_t message, int source)
{
    return base | rcx_tag_message(l, message, source);
}

static void add_kernel(void *dst, const void *left, const void *right,
                       size_t count)
{
    const int32_t *l = left, *r = right;
    int32_t *d = dst;

    for (size_t i = 0; i < count; i++)
        d[i] = l[i] + r[i];
}

static int add_or_fail(void *dst, const void *left, const void *right,
                       size_t count, rcx_datatype_t type, void *arg)
{
    (void)type;
    if (arg)
        return 1;
    add_kernel(dst, left, right, count);
    return 0;
}

/* Open a job of size ranks with in[r][i] = 10^r (i + 1). */
static void bench_open(int size, uint64_t seed)
{
    int32_t power = 1;

    memset(&bench, 0, sizeof bench);
    bench.size = size;
    bench.heap = RCX_HEAP_INIT;
    rcx_log_init(&bench.log);
    rcx_builder_init(&bench.builder, &bench.heap, &bench.log);
    bench.sim = rcx_sim_create(&bench.heap, size, seed);
    for (int r = 0; r < size; r++, power *= 10) {
        bench.shapes[r] = (struct rcx_shape){.coll = RCX_COLL_ALLREDUCE,
                                             .rank = r,
                                             .size = size,
                                             .count = COUNT,
                                             .elem_bytes = sizeof(int32_t)};
        bench.reducers[r] = (struct rcx_reducer){.kernel = add_kernel,
                                                 .type = RCX_INT32,
                                                 .elem_bytes = sizeof(int32_t)};
        for (int i = 0; i < COUNT; i++) {
            bench.in[r][i] = power * (i + 1);
            bench.out[r][i] = -1;
        }
    }
}

static struct rcx_builder *rank_begin(int r)
{
    rcx_builder_begin(&bench.builder, &bench.shapes[r]);
    rcx_span_scratch(&bench.builder, 4 * COUNT);
    return &bench.builder;
}

static void prepare(int r, struct rcx_transport *transport)
{
    const struct rcx_exec_setting setting = {.transport = transport,
                                             .reducer = &bench.reducers[r],
                                             .layout = RCX_TAG_LAYOUT,
                                             .rank = r};
    struct rcx_exec *x;

    assert_ok(rcx_sched_finish(&bench.builder, 1024, &bench.plans[r]));
    x = rcx_heap_alloc(&bench.heap, rcx_exec_bytes(bench.plans[r]));
    rcx_exec_init(x, bench.plans[r], &setting);
    x->tag_base = tag_of_call(&setting.layout, 1, 7, 3);
    x->base[RCX_BUFFER_IN] = (char *)bench.in[r];
    x->base[RCX_BUFFER_OUT] = (char *)bench.out[r];
    x->base[RCX_BUFFER_TMP] = (char *)bench.scratch[r];
    bench.execs[r] = x;
}

static void rank_end(int r)
{
    prepare(r, rcx_sim_port(bench.sim, r));
}

static void drain(int r)
{
    struct rcx_transport *port = rcx_sim_port(bench.sim, r);

    while (port->done) {
        struct rcx_message *m = port->done;

        port->done = m->next;
        if (!port->done)
            port->done_end = &port->done;
        bench.complete[r] |= rcx_exec_advance(m->owner, m);
    }
}

/* Start all ranks, and deliver messages until there are none left. All ranks
 * must complete. */
static void run_all(void)
{
    int ranks[2];

    for (int r = 0; r < bench.size; r++)
        bench.complete[r] = rcx_exec_start(bench.execs[r]);
    while (rcx_sim_deliver(bench.sim, ranks)) {
        drain(ranks[0]);
        drain(ranks[1]);
    }
    for (int r = 0; r < bench.size; r++)
        assert_true(bench.complete[r]); /* no rank hangs */
    assert_int_equal(rcx_sim_unmatched(bench.sim), 0);
}

static void bench_close(void)
{
    rcx_sim_destroy(bench.sim);
    for (int r = 0; r < bench.size; r++) {
        rcx_heap_free(&bench.heap, bench.execs[r]);
        rcx_heap_free(&bench.heap, bench.plans[r]);
    }
    rcx_builder_free(&bench.builder);
    assert_int_equal(bench.heap.live, 0);
}

static struct rcx_span span(enum rcx_buffer buffer, size_t offset, size_t count)
{
    return (struct rcx_span){buffer, offset, count};
}

#define IN span(RCX_BUFFER_IN, 0, COUNT)
#define OUT span(RCX_BUFFER_OUT, 0, COUNT)
#define TMP(i) span(RCX_BUFFER_TMP, (size_t)(i)*COUNT, COUNT)

/* Each rank adds its operand and sends the sum to the next rank. The last rank
 * sends the result to all. */
static void write_chain(void)
{
    const int last = bench.size - 1;

    for (int r = 0; r < bench.size; r++) {
        struct rcx_builder *b = rank_begin(r);

        if (r > 0) {
            rcx_step_recv(b, r - 1, TMP(0));
            rcx_step_reduce(b, TMP(1), TMP(0), IN);
        }
        if (r < last) {
            rcx_step_send(b, r + 1, r ? TMP(1) : IN);
            rcx_step_recv(b, last, OUT);
        } else {
            for (int peer = 0; peer < last; peer++)
                rcx_step_send(b, peer, TMP(1));
            rcx_step_copy(b, OUT, TMP(1));
        }
        rank_end(r);
    }
}

/* ---- Tests --------------------------------------------------------------- */

static void a_chain_of_four_adds_up_everywhere(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < 20; seed++) {
        bench_open(4, seed);
        write_chain();
        for (int again = 0; again < 3; again++) {
            memset(bench.out, 0xff, sizeof bench.out);
            run_all();
            for (int r = 0; r < 4; r++) {
                assert_ok(bench.execs[r]->status);
                for (int i = 0; i < COUNT; i++)
                    assert_int_equal(bench.out[r][i], 1111 * (i + 1));
            }
        }
        bench_close();
    }
}

static void an_empty_plan_is_complete_at_once(void **state)
{
    (void)state;
    bench_open(1, 0);
    rank_begin(0);
    rank_end(0);
    assert_true(rcx_exec_start(bench.execs[0]));
    assert_ok(bench.execs[0]->status);
    bench_close();
}

static void a_failing_op_fails_all_ranks_that_depend_on_it(void **state)
{
    (void)state;
    for (int failing = 1; failing < 4; failing++) {
        bench_open(4, (uint64_t)failing);
        write_chain();
        for (int r = 0; r < 4; r++) {
            bench.reducers[r].kernel = NULL;
            bench.reducers[r].fn = add_or_fail;
            bench.reducers[r].arg = r == failing ? &bench : NULL;
        }
        run_all();
        for (int r = 0; r < 4; r++)
            assert_status(bench.execs[r]->status, RCX_ERR_OP);
        bench_close();
    }
}

static void a_failed_execution_starts_anew_without_its_error(void **state)
{
    (void)state;
    bench_open(3, 1);
    write_chain();
    for (int r = 0; r < 3; r++) {
        bench.reducers[r].kernel = NULL;
        bench.reducers[r].fn = add_or_fail;
    }
    bench.reducers[1].arg = &bench;
    run_all();
    bench.reducers[1].arg = NULL;
    run_all();
    for (int r = 0; r < 3; r++) {
        assert_ok(bench.execs[r]->status);
        assert_int_equal(bench.out[r][0], 111);
    }
    bench_close();
}

/* Rank 0 sends give elements to rank 1, which expects want elements and sends
 * as many to rank 2. */
static void write_mismatch(size_t give, size_t want)
{
    bench_open(3, 5);
    rcx_step_send(rank_begin(0), 1, span(RCX_BUFFER_IN, 0, give));
    rank_end(0);
    rcx_step_recv(rank_begin(1), 0, span(RCX_BUFFER_TMP, 0, want));
    rcx_step_send(&bench.builder, 2, span(RCX_BUFFER_TMP, 0, want));
    rank_end(1);
    rcx_step_recv(rank_begin(2), 1, span(RCX_BUFFER_OUT, 0, want));
    rank_end(2);
}

static void a_message_of_another_length_is_a_mismatch(void **state)
{
    (void)state;
    for (int longer = 0; longer < 2; longer++) {
        write_mismatch(longer ? 4 : 2, 3);
        run_all();
        assert_ok(bench.execs[0]->status);
        assert_status(bench.execs[1]->status, RCX_ERR_MISMATCH);
        assert_status(bench.execs[2]->status, RCX_ERR_PEER_FAILED);
        bench_close();
    }
}

/* ---- Order of issue: a transport that records calls ---------------------- */

struct call_log {
    struct rcx_transport base;
    char calls[MOST_CALLS]; /* r, s, and c for a call of the op */
    uint64_t tags[MOST_CALLS];
    size_t bytes[MOST_CALLS];
    struct rcx_message *messages[MOST_CALLS];
    int count;
    rcx_status_t answer;
};

static struct call_log call_log;

static rcx_status_t log_call(char what, uint64_t tag, size_t bytes,
                             struct rcx_message *m)
{
    call_log.calls[call_log.count] = what;
    call_log.tags[call_log.count] = tag;
    call_log.bytes[call_log.count] = bytes;
    call_log.messages[call_log.count++] = m;
    if (call_log.answer == RCX_OK)
        m->bytes = bytes;
    return call_log.answer;
}

static rcx_status_t log_send(struct rcx_transport *t, int peer,
                             const void *buffer, size_t bytes, uint64_t tag,
                             struct rcx_message *m)
{
    (void)t, (void)peer, (void)buffer;
    return log_call('s', tag, bytes, m);
}

static rcx_status_t log_recv(struct rcx_transport *t, int peer, void *buffer,
                             size_t bytes, uint64_t tag, struct rcx_message *m)
{
    (void)t, (void)peer, (void)buffer;
    return log_call('r', tag, bytes, m);
}

static const struct rcx_transport_ops logging_ops = {
    .name = "call log", .send = log_send, .recv = log_recv};

static int log_op(void *dst, const void *left, const void *right, size_t count,
                  rcx_datatype_t type, void *arg)
{
    (void)dst, (void)left, (void)right, (void)count, (void)type, (void)arg;
    call_log.calls[call_log.count++] = 'c';
    return 0;
}

/* Local work, sends and receives, written in the least favourable order. The
 * two reductions are not fused, as the first one stores a part of the result.
 * answer is the result of each transport call. */
static void call_log_open(rcx_status_t answer)
{
    struct rcx_builder *b;

    memset(&call_log, 0, sizeof call_log);
    call_log.base.ops = &logging_ops;
    call_log.answer = answer;
    bench_open(4, 0);
    b = rank_begin(1);
    rcx_step_reduce(b, OUT, IN, IN);
    rcx_step_send(b, 2, IN);
    rcx_step_recv(b, 0, TMP(1));
    rcx_step_reduce(b, TMP(0), TMP(1), OUT);
    rcx_step_send(b, 0, IN);
    rcx_step_recv(b, 3, TMP(2));
    rcx_step_send(b, 3, TMP(0));
    prepare(1, &call_log.base);
    bench.reducers[1].kernel = NULL;
    bench.reducers[1].fn = log_op;
}

/* The step that made transport call i. */
static long step_of(int i)
{
    return call_log.messages[i]->step - bench.plans[1]->steps;
}

/* Complete the message of transport call i. */
static bool advance(struct rcx_exec *x, int i)
{
    call_log.messages[i]->status = RCX_OK;
    return rcx_exec_advance(x, call_log.messages[i]);
}

static void sends_are_issued_before_receives_and_both_before_work(void **state)
{
    struct rcx_exec *x;

    (void)state;
    call_log_open(RCX_IN_PROGRESS);
    x = bench.execs[1];
    assert_false(rcx_exec_start(x));
    assert_string_equal(call_log.calls, "ssrrc");
    assert_int_equal(step_of(2), 2);
    assert_int_equal(step_of(3), 5);

    call_log.messages[2]->bytes = COUNT * sizeof(int32_t);
    assert_false(advance(x, 2));
    assert_string_equal(call_log.calls, "ssrrccs"); /* its dependents */
    assert_int_equal(step_of(6), 6);
    call_log.messages[3]->bytes = COUNT * sizeof(int32_t);
    for (int i = 0; i < 4; i++)
        if (i != 2)
            assert_false(advance(x, i));
    assert_true(advance(x, 6));
    assert_ok(x->status);
    bench_close();
}

static void a_message_that_becomes_ready_overtakes_waiting_work(void **state)
{
    struct rcx_builder *b;

    (void)state;
    call_log_open(RCX_OK);
    bench_close();
    memset(&call_log.calls, 0, sizeof call_log.calls);
    call_log.count = 0;
    bench_open(4, 0);
    b = rank_begin(1);
    rcx_step_reduce(b, TMP(0), IN, IN);
    rcx_step_reduce(b, TMP(1), IN, IN);
    rcx_step_send(b, 0, TMP(0));
    prepare(1, &call_log.base);
    bench.reducers[1].kernel = NULL;
    bench.reducers[1].fn = log_op;
    assert_true(rcx_exec_start(bench.execs[1]));
    assert_string_equal(call_log.calls, "csc");
    bench_close();
}

static void messages_done_at_once_need_no_progress(void **state)
{
    (void)state;
    call_log_open(RCX_OK);
    assert_true(rcx_exec_start(bench.execs[1]));
    assert_ok(bench.execs[1]->status);
    assert_string_equal(call_log.calls, "ssrrccs");
    bench_close();
}

static void
a_transport_that_refuses_ends_the_execution_with_its_error(void **state)
{
    struct rcx_exec *x;

    (void)state;
    call_log_open(RCX_ERR_TRANSPORT);
    x = bench.execs[1];
    assert_true(rcx_exec_start(x));
    assert_status(x->status, RCX_ERR_TRANSPORT);
    assert_string_equal(call_log.calls, "s"); /* no more calls after an error */
    assert_int_equal(x->steps_left, bench.plans[1]->step_count);
    assert_int_equal(x->lost, call_log.messages[0]->step->peer);
    bench_close();
}

static void a_message_that_fails_later_fails_the_execution(void **state)
{
    struct rcx_exec *x;

    (void)state;
    call_log_open(RCX_IN_PROGRESS);
    x = bench.execs[1];
    assert_false(rcx_exec_start(x));
    call_log.messages[2]->status = RCX_ERR_PEER_FAILED;
    assert_true(rcx_exec_advance(x, call_log.messages[2]));
    assert_string_equal(call_log.calls, "ssrrc"); /* dependents never start */
    assert_true(x->steps_left > 0);
    assert_int_equal(x->lost, call_log.messages[2]->step->peer);
    assert_status(x->status, RCX_ERR_PEER_FAILED);
    bench_close();
}

/* ---- Tags ---------------------------------------------------------------- */

static void each_field_of_a_tag_has_its_bits(void **state)
{
    /* Bits: 1 for p2p messages, 13 communicator, 13 sequence, 9 message, 6
     * fingerprint, 22 rank. */
    const struct rcx_tag_layout l = RCX_TAG_LAYOUT;

    (void)state;
    assert_int_equal(whole_tag(&l, tag_of_call(&l, 1, 0, 0), 0, 0), UINT64_C(1)
                                                                        << 50);
    assert_int_equal(whole_tag(&l, tag_of_call(&l, 0, 1, 0), 0, 0), UINT64_C(1)
                                                                        << 37);
    assert_int_equal(whole_tag(&l, tag_of_call(&l, 0, 0, 0), 1, 0), UINT64_C(1)
                                                                        << 28);
    assert_int_equal(whole_tag(&l, tag_of_call(&l, 0, 0, 1), 0, 0), UINT64_C(1)
                                                                        << 22);
    assert_int_equal(whole_tag(&l, tag_of_call(&l, 0, 0, 0), 0, 1), 1);
    assert_int_equal(
        whole_tag(&l, tag_of_call(&l, 0x1fff, 0x1fff, 0x3f), 0x1ff, 0x3fffff),
        UINT64_MAX >> 1);
    assert_int_equal(
        whole_tag(&l, tag_of_call(&l, 0x1234, 0x0fed, 0x2a), 0x155, 0x2bcdef),
        UINT64_C(0x1234) << 50 | UINT64_C(0x0fed) << 37 |
            UINT64_C(0x155) << 28 | UINT64_C(0x2a) << 22 | 0x2bcdef);
}

static void a_message_s_tag_is_none_of_a_collective(void **state)
{
    const struct rcx_tag_layout l = RCX_TAG_LAYOUT;
    const uint64_t tag = rcx_tag_p2p(&l, 0x1234, RCX_TAG_MAX, 0x2bcdef);

    (void)state;
    assert_int_equal(rcx_tag_user_most(&l), RCX_TAG_MAX);
    assert_int_equal(tag, UINT64_C(1) << 63 | UINT64_C(0x1234) << 50 |
                              UINT64_C(0xfffffff) << 22 | 0x2bcdef);
    assert_int_equal(tag & ~rcx_tag_any_source(&l), 0x2bcdef);
    assert_int_equal(tag & rcx_tag_p2p_mask(&l),
                     UINT64_C(1) << 63 | UINT64_C(0x1234) << 50);
    assert_true(rcx_tag_call_mask(&l) >> 63); /* calls compare bit 63 */
}

static void numbers_beyond_a_field_begin_again(void **state)
{
    const struct rcx_tag_layout l = RCX_TAG_LAYOUT;
    const struct rcx_tag_layout tiny = {2, 2, 2, 2, 2};

    (void)state;
    assert_int_equal(rcx_tag_sequence_window(&l), 8192);
    assert_int_equal(rcx_tag_message_window(&l), 512);
    assert_int_equal(tag_of_call(&l, 5, 8192 + 3, 64 + 1),
                     tag_of_call(&l, 5, 3, 1));
    assert_int_equal(whole_tag(&l, 0, 512 + 9, 2), whole_tag(&l, 0, 9, 2));
    assert_int_equal(rcx_tag_sequence_window(&tiny), 4);
    assert_int_equal(rcx_tag_message_window(&tiny), 4);
    assert_int_equal(whole_tag(&tiny, tag_of_call(&tiny, 1, 6, 7), 5, 2),
                     1 << 8 | 2 << 6 | 1 << 4 | 3 << 2 | 2);
}

static void
the_executor_sends_as_itself_and_receives_from_its_peer(void **state)
{
    const struct rcx_tag_layout l = RCX_TAG_LAYOUT;
    const uint64_t base = tag_of_call(&l, 1, 7, 3);

    (void)state;
    call_log_open(RCX_OK);
    rcx_exec_start(bench.execs[1]);
    assert_int_equal(call_log.tags[0], whole_tag(&l, base, 0, 1));
    assert_int_equal(call_log.tags[1], whole_tag(&l, base, 0, 1));
    assert_int_equal(call_log.tags[2], whole_tag(&l, base, 0, 0));
    assert_int_equal(call_log.tags[3], whole_tag(&l, base, 0, 3));
    assert_int_equal(call_log.bytes[0], COUNT * sizeof(int32_t));
    bench_close();
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_chain_of_four_adds_up_everywhere),
        cmocka_unit_test(an_empty_plan_is_complete_at_once),
        cmocka_unit_test(a_failing_op_fails_all_ranks_that_depend_on_it),
        cmocka_unit_test(a_failed_execution_starts_anew_without_its_error),
        cmocka_unit_test(a_message_of_another_length_is_a_mismatch),
        cmocka_unit_test(sends_are_issued_before_receives_and_both_before_work),
        cmocka_unit_test(a_message_that_becomes_ready_overtakes_waiting_work),
        cmocka_unit_test(messages_done_at_once_need_no_progress),
        cmocka_unit_test(
            a_transport_that_refuses_ends_the_execution_with_its_error),
        cmocka_unit_test(a_message_that_fails_later_fails_the_execution),
        cmocka_unit_test(each_field_of_a_tag_has_its_bits),
        cmocka_unit_test(a_message_s_tag_is_none_of_a_collective),
        cmocka_unit_test(numbers_beyond_a_field_begin_again),
        cmocka_unit_test(
            the_executor_sends_as_itself_and_receives_from_its_peer),
    };

    return cmocka_run_group_tests_name("exec", tests, NULL, NULL);
}
