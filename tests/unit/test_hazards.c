/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Dependencies between the steps of a plan: each kind of hazard by a
 * hand-written schedule, and random schedules against a comparison of all pairs
 * of steps.
 */
#include "test.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/random.h"
#include "core/sched/algo.h"

enum { WINDOW = 1024, MOST_STEPS = 60 };

static struct rcx_heap heap;
static struct rcx_log log_;
static struct rcx_builder builder;

static int set_up(void **state)
{
    (void)state;
    heap = RCX_HEAP_INIT;
    rcx_log_init(&log_);
    rcx_builder_init(&builder, &heap, &log_);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    rcx_builder_free(&builder);
    return heap.live == 0 ? 0 : -1;
}

static struct rcx_span in(size_t offset, size_t count)
{
    return (struct rcx_span){RCX_BUFFER_IN, offset, count};
}

static struct rcx_span out(size_t offset, size_t count)
{
    return (struct rcx_span){RCX_BUFFER_OUT, offset, count};
}

static struct rcx_span tmp(size_t offset, size_t count)
{
    return (struct rcx_span){RCX_BUFFER_TMP, offset, count};
}

static void begin(const struct rcx_shape *s)
{
    rcx_builder_begin(&builder, s);
    rcx_span_scratch(&builder, 100);
}

/* The successors of step from in the plan, as a set of bits. */
static uint64_t successors_of(const struct rcx_plan *plan, uint32_t from)
{
    const struct rcx_step *step = &plan->steps[from];
    uint64_t set = 0;

    for (uint32_t i = 0; i < step->successor_count; i++)
        set |= UINT64_C(1) << plan->successors[step->first_successor + i];
    return set;
}

/* The plan must have exactly these edges: pairs from, to, ended by -1. */
static void check_edges(uint32_t window, const int expected[])
{
    uint64_t sets[MOST_STEPS] = {0};
    struct rcx_plan *plan = NULL;

    for (int i = 0; expected[i] >= 0; i += 2)
        sets[expected[i]] |= UINT64_C(1) << expected[i + 1];
    assert_ok(rcx_sched_finish(&builder, window, &plan));
    for (uint32_t i = 0; i < plan->step_count; i++)
        assert_int_equal(successors_of(plan, i), sets[i]);
    rcx_heap_free(&heap, plan);
}

#define EDGES(...) ((const int[]){__VA_ARGS__, -1})
#define NO_EDGES ((const int[]){-1})

static const struct rcx_shape apart = {.coll = RCX_COLL_ALLREDUCE,
                                       .rank = 1,
                                       .size = 4,
                                       .count = 100,
                                       .elem_bytes = 4};
static const struct rcx_shape in_place = {.coll = RCX_COLL_ALLREDUCE,
                                          .rank = 1,
                                          .size = 4,
                                          .count = 100,
                                          .elem_bytes = 4,
                                          .alias = RCX_ALIAS_SAME};
/* rank 1's block is elements 25 to 49 */
static const struct rcx_shape own_block = {.coll = RCX_COLL_REDUCE_SCATTER,
                                           .rank = 1,
                                           .size = 4,
                                           .count = 100,
                                           .elem_bytes = 4,
                                           .alias = RCX_ALIAS_BLOCK};

static void a_read_waits_for_the_write_before_it(void **state)
{
    (void)state;
    begin(&apart);
    rcx_step_recv(&builder, 0, tmp(0, 10));
    rcx_step_send(&builder, 2, tmp(0, 10));
    check_edges(WINDOW, EDGES(0, 1));
    begin(&apart);
    rcx_step_recv(&builder, 0, tmp(0, 10));
    rcx_step_reduce(&builder, out(0, 10), in(0, 10), tmp(0, 10));
    rcx_step_copy(&builder, tmp(20, 10), out(0, 10));
    check_edges(WINDOW, EDGES(0, 1, 1, 2));
}

static void a_write_waits_for_the_reads_before_it(void **state)
{
    (void)state;
    begin(&apart);
    rcx_step_send(&builder, 0, tmp(0, 10));
    rcx_step_send(&builder, 2, tmp(5, 10));
    rcx_step_reduce(&builder, out(0, 5), tmp(0, 5), in(0, 5));
    rcx_step_recv(&builder, 3, tmp(0, 10));
    check_edges(WINDOW, EDGES(0, 3, 1, 3, 2, 3));
}

static void a_write_waits_for_the_write_before_it(void **state)
{
    (void)state;
    begin(&apart);
    rcx_step_recv(&builder, 0, tmp(0, 10));
    rcx_step_copy(&builder, tmp(0, 10), in(0, 10));
    rcx_step_recv(&builder, 2, tmp(0, 10));
    check_edges(WINDOW, EDGES(0, 1, 1, 2));
}

static void reads_do_not_wait_for_reads(void **state)
{
    (void)state;
    begin(&apart);
    rcx_step_send(&builder, 0, in(0, 10));
    rcx_step_send(&builder, 2, in(0, 10));
    rcx_step_copy(&builder, out(0, 10), in(0, 10));
    check_edges(WINDOW, NO_EDGES);
}

static void disjoint_spans_are_independent(void **state)
{
    (void)state;
    begin(&apart);
    rcx_step_recv(&builder, 0, tmp(0, 10));
    rcx_step_recv(&builder, 0, tmp(10, 10)); /* adjacent, no overlap */
    rcx_step_send(&builder, 2, tmp(20, 10));
    rcx_step_copy(&builder, out(0, 10), tmp(30, 5 + 5));
    rcx_step_recv(&builder, 2, out(10, 10));
    rcx_step_send(&builder, 3, in(0, 10)); /* not in place: IN is not OUT */
    check_edges(WINDOW, NO_EDGES);
}

static void a_partial_overlap_is_enough(void **state)
{
    (void)state;
    begin(&apart);
    rcx_step_recv(&builder, 0, tmp(0, 10));
    rcx_step_send(&builder, 2, tmp(9, 10)); /* the last element of step 0 */
    rcx_step_recv(&builder, 0, tmp(18, 1)); /* within the span of step 1 */
    rcx_step_recv(&builder, 0, tmp(0, 30)); /* covers all spans */
    check_edges(WINDOW, EDGES(0, 1, 1, 2, 0, 3, 1, 3, 2, 3));
}

static void a_step_does_not_wait_for_itself(void **state)
{
    (void)state;
    begin(&apart);
    rcx_step_recv(&builder, 0, tmp(0, 10));
    rcx_step_reduce(&builder, tmp(0, 10), tmp(0, 10), in(0, 10));
    rcx_step_reduce(&builder, tmp(0, 10), tmp(0, 10), tmp(0, 10));
    rcx_step_send(&builder, 0, tmp(0, 10));
    check_edges(WINDOW, EDGES(0, 1, 1, 2, 2, 3));
}

static void in_place_operand_and_result_are_one_buffer(void **state)
{
    (void)state;
    begin(&in_place);
    rcx_step_send(&builder, 0, in(0, 10));
    rcx_step_recv(&builder, 2, out(5, 10));
    rcx_step_copy(&builder, tmp(0, 10), in(14, 10));
    check_edges(WINDOW, EDGES(0, 1, 1, 2));
}

static void the_own_block_as_result_lies_inside_the_operand(void **state)
{
    (void)state;
    begin(&own_block);
    rcx_step_send(&builder, 0, in(0, 25));
    rcx_step_send(&builder, 2, in(49, 10));
    rcx_step_recv(&builder, 3, out(0, 25));
    check_edges(WINDOW, EDGES(1, 2));
}

static void messages_a_window_apart_wait(void **state)
{
    (void)state;
    begin(&apart);
    rcx_step_send(&builder, 0, in(0, 1)); /* step 0 */
    rcx_step_recv(&builder, 0, tmp(0, 1));
    rcx_step_send(&builder, 0, in(1, 1));
    rcx_step_recv(&builder, 0, tmp(1, 1));
    rcx_step_send(&builder, 2, in(1, 1)); /* step 4: first to another peer */
    rcx_step_send(&builder, 0, in(2, 1)); /* third to 0: waits for the first */
    rcx_step_send(&builder, 0, in(3, 1));
    rcx_step_recv(&builder, 0, tmp(2, 1));
    rcx_step_send(&builder, 0, in(4, 1)); /* fifth: waits for the third */
    check_edges(2, EDGES(0, 5, 2, 6, 1, 7, 5, 8));
}

static void a_window_of_one_makes_a_chain_per_peer_and_direction(void **state)
{
    (void)state;
    begin(&apart);
    rcx_step_send(&builder, 0, in(0, 1));
    rcx_step_send(&builder, 0, in(1, 1));
    rcx_step_recv(&builder, 0, tmp(0, 1));
    rcx_step_send(&builder, 0, in(2, 1));
    rcx_step_recv(&builder, 0, tmp(1, 1));
    check_edges(1, EDGES(0, 1, 1, 3, 2, 4));
}

/* ---- Pairs of messages --------------------------------------------------- */

static void
messages_of_a_pair_wait_for_all_of_the_one_a_window_before(void **state)
{
    (void)state;
    begin(&apart);
    for (int i = 0; i < 3; i++) { /* step 2 i receives, 2 i + 1 sends */
        rcx_step_pair(&builder, 2);
        rcx_step_recv(&builder, 0, tmp((size_t)i, 1));
        rcx_step_send(&builder, 2, in((size_t)i, 1));
    }
    check_edges(WINDOW, EDGES(0, 4, 0, 5, 1, 4, 1, 5));
}

static void pairs_without_messages_and_local_steps_do_not_count(void **state)
{
    (void)state;
    begin(&apart);
    rcx_step_pair(&builder, 1);
    rcx_step_send(&builder, 2, in(0, 1)); /* step 0 */
    rcx_step_pair(&builder, 1);
    rcx_step_copy(&builder, out(0, 1), in(0, 1)); /* step 1: does not wait */
    rcx_step_pair(&builder, 1);
    rcx_step_recv(&builder, 0, tmp(0, 1)); /* step 2 */
    check_edges(WINDOW, EDGES(0, 2));
}

static void without_a_window_pairs_do_not_wait(void **state)
{
    (void)state;
    begin(&apart);
    for (int i = 0; i < 3; i++) {
        rcx_step_pair(&builder, 0);
        rcx_step_send(&builder, 2, in((size_t)i, 1));
    }
    check_edges(WINDOW, NO_EDGES);
}

/* ---- Random schedules ---------------------------------------------------- */

static uint64_t random_state;

static size_t draw(size_t n)
{
    return (size_t)(rcx_random(&random_state) % n);
}

/* The memory that a step reads and writes, as intervals of one address
 * space. */
struct interval {
    size_t lo, hi;
};

struct touched {
    struct interval reads[2], writes;
    int stream; /* peer and direction of a message; -1: none */
    int number;
};

/* Place a span of a buffer of 12 elements (OUT: 4). OUT begins behind IN, on
 * it, or inside it. */
static struct interval place(const struct rcx_shape *s, struct rcx_span span)
{
    static const size_t result_at[] = {
        [RCX_ALIAS_NONE] = 100, [RCX_ALIAS_SAME] = 0, [RCX_ALIAS_BLOCK] = 4};
    size_t lo = span.offset;

    if (span.buffer == RCX_BUFFER_OUT)
        lo += result_at[s->alias];
    else if (span.buffer == RCX_BUFFER_TMP)
        lo += 200;
    return (struct interval){lo, lo + span.count};
}

static struct rcx_span any_span(size_t count, bool write)
{
    const size_t first = write; /* the operand is never written */
    const enum rcx_buffer buffer = (enum rcx_buffer)(first + draw(3 - first));
    const size_t size = buffer == RCX_BUFFER_OUT ? 4 : 12;

    return (struct rcx_span){buffer, draw(size - count + 1), count};
}

static bool overlap(struct interval a, struct interval b)
{
    return a.lo < b.hi && b.lo < a.hi;
}

static bool clash(struct interval a, struct interval b)
{
    return overlap(a, b) && a.lo != b.lo;
}

/* Append a random step. Returns false if what was drawn is not legal. */
static bool add_random(const struct rcx_shape *s, struct touched *t,
                       int numbers[])
{
    static const int peers[] = {0, 2};
    const size_t kind = draw(4), which = draw(2), count = 1 + draw(4);
    const struct rcx_span dst = any_span(count, true);
    const struct rcx_span left = any_span(count, false);
    const struct rcx_span right = any_span(count, false);
    const struct interval to = place(s, dst), a = place(s, left),
                          b = place(s, right);

    *t = (struct touched){.stream = -1};
    if (kind == RCX_STEP_COPY && (overlap(to, a)))
        return false;
    if (kind == RCX_STEP_REDUCE && (clash(to, a) || clash(to, b)))
        return false;
    if (kind != RCX_STEP_RECV)
        t->reads[0] = a;
    if (kind == RCX_STEP_REDUCE)
        t->reads[1] = b;
    if (kind != RCX_STEP_SEND)
        t->writes = to;
    if (kind == RCX_STEP_RECV)
        rcx_step_recv(&builder, peers[which], dst);
    else if (kind == RCX_STEP_SEND)
        rcx_step_send(&builder, peers[which], left);
    else if (kind == RCX_STEP_COPY)
        rcx_step_copy(&builder, dst, left);
    else
        rcx_step_reduce(&builder, dst, left, right);
    if (rcx_step_is_message(kind)) {
        t->stream = (int)(2 * which + kind);
        t->number = numbers[t->stream]++;
    }
    return true;
}

/* Update the reads: a step of the plan may read the operand instead of a
 * copy. */
static void look_again(const struct rcx_shape *s, const struct rcx_plan *plan,
                       struct touched t[])
{
    for (uint32_t i = 0; i < plan->step_count; i++) {
        const struct rcx_step *step = &plan->steps[i];

        if (step->kind != RCX_STEP_RECV)
            t[i].reads[0] = place(s, rcx_step_left(step));
        if (step->kind == RCX_STEP_REDUCE)
            t[i].reads[1] = place(s, rcx_step_right(step));
    }
}

/* Whether b, which is later in the program, must wait for a. */
static bool conflict(const struct touched *a, const struct touched *b,
                     int window)
{
    bool data = overlap(a->writes, b->writes);

    for (int i = 0; i < 2; i++)
        data |=
            overlap(a->reads[i], b->writes) || overlap(a->writes, b->reads[i]);
    return data || (a->stream >= 0 && a->stream == b->stream &&
                    b->number - a->number == window);
}

static void check_against_all_pairs(const struct rcx_plan *plan,
                                    const struct touched t[], int n, int window)
{
    uint64_t reach[MOST_STEPS] = {0};
    uint32_t waits[MOST_STEPS] = {0};
    int ready = 0;

    assert_int_equal(plan->step_count, n);
    for (int i = n - 1; i >= 0; i--) {
        const uint64_t direct = successors_of(plan, (uint32_t)i);

        for (int j = 0; j < n; j++) {
            if (!(direct >> j & 1))
                continue;
            assert_true(j > i);
            assert_true(conflict(&t[i], &t[j], window)); /* has a reason */
            reach[i] |= reach[j];
        }
        reach[i] |= direct;
        for (int j = i + 1; j < n; j++)
            if (conflict(&t[i], &t[j], window))
                assert_true(reach[i] >> j & 1); /* no conflict without a path */
        for (uint32_t k = 0; k < plan->steps[i].successor_count; k++)
            waits[plan->successors[plan->steps[i].first_successor + k]]++;
    }
    for (int i = 0; i < n; i++) {
        assert_int_equal(plan->steps[i].waits, waits[i]);
        ready += waits[i] == 0;
    }
    assert_int_equal(plan->ready_count, ready);
}

static void random_schedules_keep_every_conflict_and_nothing_else(void **state)
{
    static const size_t displs[] = {0, 4, 8, 12};

    (void)state;
    for (int run = 0; run < 6000; run++) {
        struct touched t[MOST_STEPS];
        int numbers[4] = {0}, n = 0;
        struct rcx_plan *plan = NULL;

        random_state = (uint64_t)run;
        /* reduce_scatter, so that OUT has 4 elements: the own block 4 to 7 of
         * 12 */
        const struct rcx_shape s = {.coll = RCX_COLL_REDUCE_SCATTER,
                                    .rank = 1,
                                    .size = 3,
                                    .count = 12,
                                    .displs = displs,
                                    .elem_bytes = 4,
                                    .alias = (enum rcx_alias)draw(3)};
        const int steps = 1 + (int)draw(MOST_STEPS);
        const int window = 1 << draw(4);

        rcx_builder_begin(&builder, &s);
        rcx_span_scratch(&builder, 12);
        while (n < steps)
            n += add_random(&s, &t[n], numbers);
        assert_ok(rcx_sched_finish(&builder, (uint32_t)window, &plan));
        look_again(&s, plan, t);
        check_against_all_pairs(plan, t, n, window);
        rcx_heap_free(&heap, plan);
    }
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    static const struct CMUnitTest tests[] = {
        TEST(a_read_waits_for_the_write_before_it),
        TEST(a_write_waits_for_the_reads_before_it),
        TEST(a_write_waits_for_the_write_before_it),
        TEST(reads_do_not_wait_for_reads),
        TEST(disjoint_spans_are_independent),
        TEST(a_partial_overlap_is_enough),
        TEST(a_step_does_not_wait_for_itself),
        TEST(in_place_operand_and_result_are_one_buffer),
        TEST(the_own_block_as_result_lies_inside_the_operand),
        TEST(messages_a_window_apart_wait),
        TEST(a_window_of_one_makes_a_chain_per_peer_and_direction),
        TEST(messages_of_a_pair_wait_for_all_of_the_one_a_window_before),
        TEST(pairs_without_messages_and_local_steps_do_not_count),
        TEST(without_a_window_pairs_do_not_wait),
        TEST(random_schedules_keep_every_conflict_and_nothing_else),
    };

    return cmocka_run_group_tests_name("hazards", tests, NULL, NULL);
}
