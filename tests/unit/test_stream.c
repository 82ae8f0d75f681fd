/* SPDX-License-Identifier: BSD-3-Clause */
/* Final data of a plan: which it is, whether an execution lets it bypass the
 * caches, and that copy itself. */
#include "test.h"

#include <string.h>

#include "built.h"
#include "core/base/stream.h"
#include "core/exec/exec.h"
#include "core/sched/algo.h"

enum { N = 8, BYTES = 4 * 64 + 7 };

static struct built built;
static const struct rcx_shape plain = {
    .coll = RCX_COLL_BCAST, .rank = 1, .size = 3, .count = N, .elem_bytes = 8};

static int set_up(void **state)
{
    (void)state;
    built_open(&built, NULL);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    return built_close(&built);
}

/* ---- Final data ---------------------------------------------------------- */

static void received_data_is_final(void **state)
{
    struct rcx_plan *plan;

    (void)state;
    rcx_builder_begin(&built.builder, &plain);
    rcx_step_recv(&built.builder, 0, rcx_span_out(&plain));
    plan = built_finish(&built);
    assert_true(plan->steps[0].is_final);
    rcx_heap_free(&built.heap, plan);
}

static void data_that_is_sent_on_is_not(void **state)
{
    const struct rcx_span out = rcx_span_out(&plain);
    struct rcx_plan *plan;

    (void)state;
    rcx_builder_begin(&built.builder, &plain);
    rcx_step_recv(&built.builder, 0, out);
    rcx_step_send(&built.builder, 2, rcx_span_sub(out, N - 1, 1));
    plan = built_finish(&built);
    assert_false(plan->steps[0].is_final);
    assert_false(plan->steps[1].is_final); /* it stores nothing */
    rcx_heap_free(&built.heap, plan);
}

static void nor_is_data_in_scratch(void **state)
{
    struct rcx_span scratch;
    struct rcx_plan *plan;

    (void)state;
    rcx_builder_begin(&built.builder, &plain);
    scratch = rcx_span_scratch(&built.builder, N);
    rcx_step_recv(&built.builder, 0, scratch);
    plan = built_finish(&built);
    assert_false(plan->steps[0].is_final);
    rcx_heap_free(&built.heap, plan);
}

/* OUT is IN here, so a send of IN reads what was received. */
static void aliases_count_as_one_buffer(void **state)
{
    struct rcx_shape in_place = plain;
    struct rcx_plan *plan;

    (void)state;
    in_place.coll = RCX_COLL_ALLREDUCE;
    in_place.alias = RCX_ALIAS_SAME;
    rcx_builder_begin(&built.builder, &in_place);
    rcx_step_recv(&built.builder, 0, rcx_span_out(&in_place));
    rcx_step_send(&built.builder, 2, rcx_span_in(&in_place));
    plan = built_finish(&built);
    assert_false(plan->steps[0].is_final);
    rcx_heap_free(&built.heap, plan);
}

static void results_of_last_reductions_are_final(void **state)
{
    struct rcx_shape sum = plain;
    struct rcx_span in, scratch, low, high;
    struct rcx_plan *plan;

    (void)state;
    sum.coll = RCX_COLL_ALLREDUCE;
    rcx_builder_begin(&built.builder, &sum);
    in = rcx_span_sub(rcx_span_in(&sum), 0, N / 2);
    low = rcx_span_sub(rcx_span_out(&sum), 0, N / 2);
    high = rcx_span_sub(rcx_span_out(&sum), N / 2, N / 2);
    scratch = rcx_span_scratch(&built.builder, N / 2);
    rcx_step_recv(&built.builder, 0, scratch);
    rcx_step_reduce(&built.builder, low, in, scratch); /* read by the next */
    rcx_step_reduce(&built.builder, low, low, scratch);
    rcx_step_reduce(&built.builder, high, in, scratch);
    plan = built_finish(&built);
    assert_false(plan->steps[1].is_final);
    assert_true(plan->steps[2].is_final);
    assert_true(plan->steps[3].is_final);
    assert_int_equal(plan->combined, N);
    rcx_heap_free(&built.heap, plan);

    rcx_builder_begin(&built.builder, &sum);
    scratch = rcx_span_scratch(&built.builder, N / 2);
    rcx_step_recv(&built.builder, 0, scratch);
    rcx_step_reduce(&built.builder, low, in, scratch);
    rcx_step_reduce(&built.builder, high, in, scratch);
    rcx_step_send(&built.builder, 2, rcx_span_sub(low, 1, 1));
    rcx_step_recv(&built.builder, 2, rcx_span_sub(high, 0, 1));
    plan = built_finish(&built);
    assert_false(plan->steps[1].is_final); /* sent on */
    assert_false(plan->steps[2].is_final); /* overwritten */
    assert_int_equal(plan->combined, 0);
    rcx_heap_free(&built.heap, plan);
}

/* ---- Executions ---------------------------------------------------------- */

struct checking {
    struct rcx_transport base;
    bool streams; /* of the last receive */
};

static rcx_status_t check(struct rcx_transport *t, int peer, void *buffer,
                          size_t bytes, uint64_t tag, struct rcx_message *m)
{
    (void)peer;
    (void)tag;
    memset(buffer, 0, bytes);
    m->bytes = bytes;
    ((struct checking *)t)->streams = m->streams;
    return RCX_OK;
}

static const struct rcx_transport_ops checking_ops = {.name = "checking",
                                                      .recv = check};

static bool does_stream(const struct rcx_plan *plan, bool streams)
{
    double out[N];
    struct checking c = {.base.ops = &checking_ops};
    const struct rcx_reducer reducer = {.elem_bytes = sizeof *out};
    const struct rcx_exec_setting setting = {.transport = &c.base,
                                             .reducer = &reducer,
                                             .layout = RCX_TAG_LAYOUT,
                                             .streams = streams};
    struct rcx_exec *x = rcx_heap_alloc(&built.heap, rcx_exec_bytes(plan));

    rcx_exec_init(x, plan, &setting);
    x->base[RCX_BUFFER_OUT] = (char *)out;
    assert_true(rcx_exec_begin(x));
    rcx_heap_free(&built.heap, x);
    return c.streams;
}

static void final_data_streams_if_the_call_is_long(void **state)
{
    struct rcx_plan *plan;

    (void)state;
    rcx_builder_begin(&built.builder, &plain);
    rcx_step_recv(&built.builder, 0, rcx_span_out(&plain));
    plan = built_finish(&built);
    assert_true(does_stream(plan, true));
    assert_false(does_stream(plan, false));
    rcx_heap_free(&built.heap, plan);
}

/* ---- The copy ------------------------------------------------------------ */

static void fill(unsigned char bytes[], unsigned char first)
{
    for (size_t i = 0; i < BYTES; i++)
        bytes[i] = (unsigned char)(first + i);
}

/* Any length and alignment, and no byte beside. */
static void a_streamed_copy_copies(void **state)
{
    _Alignas(64) unsigned char from[BYTES], to[BYTES], expected[BYTES];

    (void)state;
    for (size_t at = 0; at < 65; at++)
        for (size_t n = 0; n + at <= BYTES; n++) {
            fill(from, 1);
            fill(to, 100);
            fill(expected, 100);
            memcpy(expected + at, from + n % 5, n < BYTES - 5 ? n : 0);
            rcx_stream_copy(to + at, from + n % 5, n < BYTES - 5 ? n : 0);
            assert_memory_equal(to, expected, BYTES);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(received_data_is_final),
        cmocka_unit_test(data_that_is_sent_on_is_not),
        cmocka_unit_test(nor_is_data_in_scratch),
        cmocka_unit_test(aliases_count_as_one_buffer),
        cmocka_unit_test(results_of_last_reductions_are_final),
        cmocka_unit_test(final_data_streams_if_the_call_is_long),
        cmocka_unit_test(a_streamed_copy_copies),
    };

    return cmocka_run_group_tests(tests, set_up, tear_down);
}
