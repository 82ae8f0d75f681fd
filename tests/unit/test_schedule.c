/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The schedule builder: rejected steps, the plans that it makes, spans, blocks,
 * groups and completion acks. Dependencies between steps are in test_hazards.c.
 */
#include "test.h"

#include <string.h>

#include "capture.h"
#include "core/sched/algo.h"

enum { WINDOW = 1024 };

static struct capture said;
static struct rcx_heap heap;
static struct rcx_log listener;
static struct rcx_builder builder;

static int set_up(void **state)
{
    (void)state;
    heap = RCX_HEAP_INIT;
    rcx_log_init(&listener);
    listener.fn = capture_line;
    listener.arg = &said;
    rcx_builder_init(&builder, &heap, &listener);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    rcx_builder_free(&builder);
    return heap.live == 0 ? 0 : -1;
}

/* Rank 1 of 4, ten elements, not in place. */
static struct rcx_shape usual(void)
{
    return (struct rcx_shape){.coll = RCX_COLL_ALLREDUCE,
                              .rank = 1,
                              .size = 4,
                              .count = 10,
                              .elem_bytes = 4,
                              .commutative = true};
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

static struct rcx_plan *finish(uint32_t window)
{
    struct rcx_plan *plan = NULL;

    assert_ok(rcx_sched_finish(&builder, window, &plan));
    assert_non_null(plan);
    return plan;
}

/* ---- Misuse -------------------------------------------------------------- */

#define assert_misuse(shape, call, word)                                       \
    do {                                                                       \
        struct rcx_plan *plan_ = (void *)&said;                                \
        rcx_builder_begin(&builder, shape);                                    \
        rcx_span_scratch(&builder, 10);                                        \
        rcx_step_send(&builder, 2, in(0, 10));                                 \
        assert_refused(&said,                                                  \
                       (call, rcx_sched_finish(&builder, WINDOW, &plan_)),     \
                       RCX_ERR_INTERNAL, "allreduce", "step 1", word);         \
        assert_ptr_equal(plan_, &said);                                        \
    } while (0)

static void a_peer_that_is_no_other_rank_is_refused(void **state)
{
    const struct rcx_shape s = usual();

    (void)state;
    assert_misuse(&s, rcx_step_send(&builder, -1, in(0, 1)), "peer");
    assert_misuse(&s, rcx_step_send(&builder, 4, in(0, 1)), "peer");
    assert_misuse(&s, rcx_step_send(&builder, 1, in(0, 1)), "peer");
    assert_misuse(&s, rcx_step_recv(&builder, -1, tmp(0, 1)), "peer");
    assert_misuse(&s, rcx_step_recv(&builder, 4, tmp(0, 1)), "peer");
    assert_misuse(&s, rcx_step_recv(&builder, 1, tmp(0, 1)), "peer");
}

static void a_span_outside_of_its_buffer_is_refused(void **state)
{
    const struct rcx_shape s = usual();

    (void)state;
    assert_misuse(&s, rcx_step_send(&builder, 0, in(0, 11)), "outside");
    assert_misuse(&s, rcx_step_send(&builder, 0, in(11, 0)), "outside");
    assert_misuse(&s, rcx_step_send(&builder, 0, out(5, 6)), "outside");
    assert_misuse(&s, rcx_step_send(&builder, 0, tmp(10, 1)), "outside");
    assert_misuse(&s, rcx_step_send(&builder, 0, tmp(1, SIZE_MAX)), "outside");
    assert_misuse(&s, rcx_step_recv(&builder, 0, out(10, 1)), "outside");
    assert_misuse(&s, rcx_step_recv(&builder, 0, tmp(4, 7)), "outside");
    assert_misuse(&s, rcx_step_copy(&builder, out(1, 10), in(0, 10)),
                  "outside");
    assert_misuse(&s, rcx_step_copy(&builder, out(0, 10), tmp(1, 10)),
                  "outside");
    assert_misuse(&s, rcx_step_reduce(&builder, out(9, 2), in(0, 2), in(2, 2)),
                  "outside");
    assert_misuse(&s, rcx_step_reduce(&builder, out(0, 2), in(9, 2), in(2, 2)),
                  "outside");
    assert_misuse(&s, rcx_step_reduce(&builder, out(0, 2), in(0, 2), in(9, 2)),
                  "outside");
}

static void the_result_is_as_long_as_the_collective_says(void **state)
{
    static const size_t displs[] = {0, 1, 4, 4, 10};
    struct rcx_shape s = usual();

    (void)state;
    assert_int_equal(rcx_span_out(&s).count, 10);
    s.coll = RCX_COLL_REDUCE;
    s.root = 2;
    assert_int_equal(rcx_span_out(&s).count, 0);
    s.root = 1;
    assert_int_equal(rcx_span_out(&s).count, 10);
    s.coll = RCX_COLL_REDUCE_SCATTER;
    s.displs = displs;
    assert_int_equal(rcx_span_out(&s).count, 3);
    assert_int_equal(rcx_shape_block(&s, 1).offset, 1);
    assert_int_equal(rcx_shape_block(&s, 2).count, 0);
    assert_int_equal(rcx_shape_block(&s, 3).count, 6);
    s.displs = NULL;
    assert_int_equal(rcx_shape_block(&s, 1).offset, 3); /* lengths 3, 3, 2, 2 */
    assert_int_equal(rcx_shape_block(&s, 2).offset, 6);
    assert_int_equal(rcx_shape_block(&s, 2).count, 2);
}

static void the_operand_is_never_written_by_its_name(void **state)
{
    struct rcx_shape s = usual();

    (void)state;
    for (int alias = RCX_ALIAS_NONE; alias <= RCX_ALIAS_SAME; alias++) {
        s.alias = (enum rcx_alias)alias;
        assert_misuse(&s, rcx_step_recv(&builder, 0, in(0, 1)), "operand");
        assert_misuse(&s, rcx_step_copy(&builder, in(0, 1), tmp(0, 1)),
                      "operand");
        assert_misuse(&s,
                      rcx_step_reduce(&builder, in(0, 1), tmp(0, 1), tmp(1, 1)),
                      "operand");
    }
}

static void different_lengths_are_refused(void **state)
{
    const struct rcx_shape s = usual();

    (void)state;
    assert_misuse(&s, rcx_step_copy(&builder, out(0, 2), in(0, 3)), "length");
    assert_misuse(&s, rcx_step_reduce(&builder, out(0, 2), in(0, 3), in(0, 2)),
                  "length");
    assert_misuse(&s, rcx_step_reduce(&builder, out(0, 2), in(0, 2), in(0, 1)),
                  "length");
}

static void a_result_that_overlaps_an_operand_is_refused(void **state)
{
    struct rcx_shape s = usual();

    (void)state;
    assert_misuse(&s, rcx_step_copy(&builder, out(0, 3), out(2, 3)), "overlap");
    assert_misuse(&s, rcx_step_reduce(&builder, tmp(1, 3), tmp(0, 3), in(0, 3)),
                  "overlap");
    assert_misuse(&s, rcx_step_reduce(&builder, tmp(1, 3), in(0, 3), tmp(3, 3)),
                  "overlap");
    s.alias = RCX_ALIAS_SAME;
    assert_misuse(&s, rcx_step_copy(&builder, out(0, 3), in(2, 3)), "overlap");
    assert_misuse(&s, rcx_step_reduce(&builder, out(1, 3), in(0, 3), tmp(0, 3)),
                  "overlap");
}

static void a_result_in_the_place_of_an_operand_is_fine(void **state)
{
    struct rcx_shape s = usual();
    struct rcx_plan *plan;

    (void)state;
    s.alias = RCX_ALIAS_SAME;
    rcx_builder_begin(&builder, &s);
    rcx_span_scratch(&builder, 6);
    rcx_step_reduce(&builder, tmp(0, 3), tmp(0, 3), tmp(3, 3));
    rcx_step_reduce(&builder, tmp(0, 3), tmp(3, 3), tmp(0, 3));
    rcx_step_reduce(&builder, tmp(0, 3), tmp(0, 3), tmp(0, 3));
    rcx_step_reduce(&builder, out(2, 3), in(2, 3), tmp(0, 3));
    rcx_step_copy(&builder, out(0, 3), in(3, 3)); /* adjacent, no overlap */
    plan = finish(WINDOW);
    assert_int_equal(plan->step_count, 5);
    rcx_heap_free(&heap, plan);
}

static void finish_reports_the_first_error_and_leaves_output_alone(void **state)
{
    const struct rcx_shape s = usual();
    struct rcx_plan *plan = (void *)&said;

    (void)state;
    rcx_builder_begin(&builder, &s);
    rcx_builder_fail(&builder, RCX_ERR_LIMIT);
    capture_begin(&said);
    rcx_step_send(&builder, -7, in(0, 100)); /* not logged after an error */
    rcx_step_copy(&builder, out(0, 1), in(0, 2));
    rcx_builder_fail(&builder, RCX_ERR_NOMEM);
    assert_status(rcx_sched_finish(&builder, WINDOW, &plan), RCX_ERR_LIMIT);
    capture_end(&said);
    assert_int_equal(said.host_lines + said.stderr_lines, 0);
    assert_ptr_equal(plan, &said);

    rcx_builder_begin(&builder, &s); /* the error ends with the schedule */
    rcx_step_send(&builder, 0, in(0, 10));
    plan = finish(WINDOW);
    assert_int_equal(plan->step_count, 1);
    rcx_heap_free(&heap, plan);
}

static void scratch_beyond_all_memory_is_an_error(void **state)
{
    const struct rcx_shape s = usual();
    struct rcx_plan *plan = (void *)&said;

    (void)state;
    rcx_builder_begin(&builder, &s);
    rcx_span_scratch(&builder, SIZE_MAX);
    rcx_span_scratch(&builder, 2);
    assert_status(rcx_sched_finish(&builder, WINDOW, &plan), RCX_ERR_NOMEM);
    assert_ptr_equal(plan, &said);
}

/* ---- Plans --------------------------------------------------------------- */

static void spans_of_no_elements_make_no_step(void **state)
{
    const struct rcx_shape s = usual();
    struct rcx_plan *plan;

    (void)state;
    rcx_builder_begin(&builder, &s);
    rcx_step_send(&builder, 0, in(10, 0));
    rcx_step_recv(&builder, 0, out(3, 0));
    rcx_step_copy(&builder, out(4, 0), in(4, 0));
    rcx_step_reduce(&builder, out(4, 0), in(4, 0), in(5, 0));
    plan = finish(WINDOW);
    assert_int_equal(plan->step_count, 0);
    assert_int_equal(plan->ready_count, 0);
    rcx_heap_free(&heap, plan);
}

static void a_copy_onto_itself_makes_no_step(void **state)
{
    struct rcx_shape s = usual();
    struct rcx_plan *plan;

    (void)state;
    s.alias = RCX_ALIAS_SAME;
    rcx_builder_begin(&builder, &s);
    rcx_step_copy(&builder, out(0, 10), in(0, 10));
    plan = finish(WINDOW);
    assert_int_equal(plan->step_count, 0);
    rcx_heap_free(&heap, plan);
}

static void scratch_is_handed_out_piece_after_piece(void **state)
{
    const struct rcx_shape s = usual();
    struct rcx_span first, second;
    struct rcx_plan *plan;

    (void)state;
    rcx_builder_begin(&builder, &s);
    first = rcx_span_scratch(&builder, 7);
    second = rcx_span_scratch(&builder, 5);
    assert_int_equal(first.buffer, RCX_BUFFER_TMP);
    assert_int_equal(first.offset, 0);
    assert_int_equal(second.offset, 7);
    assert_int_equal(second.count, 5);
    plan = finish(WINDOW);
    assert_int_equal(plan->scratch, 12);
    rcx_heap_free(&heap, plan);
}

static void messages_are_numbered_per_peer_and_direction(void **state)
{
    static const uint32_t expected[] = {0, 0, 1, 0, 0, 1, 2, 1};
    const struct rcx_shape s = usual();
    struct rcx_plan *plan;

    (void)state;
    rcx_builder_begin(&builder, &s);
    rcx_step_send(&builder, 0, in(0, 1));
    rcx_step_recv(&builder, 0, out(0, 1));
    rcx_step_recv(&builder, 0, out(1, 1));
    rcx_step_send(&builder, 3, in(0, 1));
    rcx_step_recv(&builder, 3, out(2, 1));
    rcx_step_send(&builder, 0, in(1, 1));
    rcx_step_recv(&builder, 0, out(3, 1));
    rcx_step_send(&builder, 3, in(1, 1));
    plan = finish(WINDOW);
    assert_int_equal(plan->step_count, 8);
    for (int i = 0; i < 8; i++)
        assert_int_equal(plan->steps[i].message, expected[i]);
    assert_int_equal(plan->ready_count, 8); /* numbers add no dependencies */
    rcx_heap_free(&heap, plan);
}

static void sends_come_first_among_ready_steps(void **state)
{
    static const uint32_t expected[] = {1, 5, 2, 4, 0, 3};
    const struct rcx_shape s = usual();
    struct rcx_plan *plan;

    (void)state;
    rcx_builder_begin(&builder, &s);
    rcx_span_scratch(&builder, 4);
    rcx_step_copy(&builder, out(0, 1), in(0, 1));
    rcx_step_send(&builder, 0, in(0, 1));
    rcx_step_recv(&builder, 0, tmp(0, 1));
    rcx_step_reduce(&builder, out(1, 1), in(0, 1), in(1, 1));
    rcx_step_recv(&builder, 3, tmp(1, 1));
    rcx_step_send(&builder, 2, in(0, 1));
    plan = finish(WINDOW);
    assert_int_equal(plan->ready_count, 6);
    assert_memory_equal(plan->ready, expected, sizeof expected);
    rcx_heap_free(&heap, plan);
}

static void sends_come_first_among_successors(void **state)
{
    static const uint32_t expected[] = {1, 3, 4, 2};
    const struct rcx_shape s = usual();
    struct rcx_plan *plan;

    (void)state;
    rcx_builder_begin(&builder, &s);
    rcx_span_scratch(&builder, 10);
    rcx_step_copy(&builder, out(0, 10), tmp(0, 10));
    rcx_step_send(&builder, 0, out(0, 2));
    rcx_step_reduce(&builder, out(2, 2), in(0, 2), in(1, 2));
    rcx_step_send(&builder, 2, out(4, 2));
    rcx_step_recv(&builder, 3, out(6, 2));
    plan = finish(WINDOW);
    assert_int_equal(plan->steps[0].successor_count, 4);
    assert_memory_equal(&plan->successors[plan->steps[0].first_successor],
                        expected, sizeof expected);
    for (int i = 1; i < 5; i++)
        assert_int_equal(plan->steps[i].waits, 1);
    rcx_heap_free(&heap, plan);
}

static void a_logarithmic_plan_of_a_million_ranks_is_small(void **state)
{
    static const int ranks[] = {0, 1, 2, 524287, 524288, 1000000, 1048575};
    const struct rcx_algo *algo =
        rcx_algo_find(RCX_COLL_ALLREDUCE, "recursive_doubling");

    (void)state;
    for (int size = (1 << 20) - 1; size <= (1 << 20); size++) {
        for (size_t i = 0; i < sizeof ranks / sizeof *ranks; i++) {
            const struct rcx_shape s = {.coll = RCX_COLL_ALLREDUCE,
                                        .size = size,
                                        .count = 1000,
                                        .rank = ranks[i] % size,
                                        .elem_bytes = 4};
            struct rcx_plan *plan;

            rcx_builder_begin(&builder, &s);
            algo->build(&builder, &s);
            plan = finish(WINDOW);
            assert_true(plan->bytes < 16 * 1024);
            assert_true(plan->step_count <= 3 * 20 + 3);
            if (size == 1 << 20)
                assert_int_equal(plan->step_count, 3 * 20);
            rcx_heap_free(&heap, plan);
        }
    }
}

/* ---- Spans and groups ---------------------------------------------------- */

static void parts_differ_by_at_most_one_and_cover_the_span(void **state)
{
    (void)state;
    for (size_t count = 0; count < 40; count++) {
        for (int n = 1; n < 12; n++) {
            size_t next = 5;

            for (int i = 0; i < n; i++) {
                const struct rcx_span part = rcx_span_part(tmp(5, count), n, i);
                const size_t share = count / (size_t)n;

                assert_int_equal(part.buffer, RCX_BUFFER_TMP);
                assert_int_equal(part.offset, next);
                assert_int_equal(part.count,
                                 share + ((size_t)i < count % (size_t)n));
                next += part.count;
            }
            assert_int_equal(next, 5 + count);
        }
    }
}

static void a_block_lies_where_the_displacements_say(void **state)
{
    static const size_t displs[] = {0, 3, 3, 9};
    const struct rcx_blocks given = {displs, 9, 3};
    const struct rcx_blocks equal = {NULL, 11, 3};

    (void)state;
    assert_int_equal(rcx_block(&given, out(2, 9), 2).offset, 5);
    assert_int_equal(rcx_block(&given, out(2, 9), 2).count, 6);
    assert_int_equal(rcx_block(&given, out(2, 9), 1).count, 0);
    assert_int_equal(rcx_blocks_largest(&given), 6);
    assert_int_equal(rcx_block(&equal, out(0, 11), 2).offset, 8);
    assert_int_equal(rcx_block(&equal, out(0, 11), 2).count, 3);
    assert_int_equal(rcx_blocks_largest(&equal), 4);
}

static void a_clash_is_overlap_without_being_equal(void **state)
{
    struct rcx_shape s = usual();

    (void)state;
    assert_false(rcx_span_clash(&s, out(0, 3), in(1, 3)));
    assert_false(rcx_span_clash(&s, tmp(2, 3), tmp(2, 3)));
    assert_false(rcx_span_clash(&s, tmp(0, 3), tmp(3, 3)));
    assert_true(rcx_span_clash(&s, tmp(0, 3), tmp(2, 3)));
    assert_true(rcx_span_clash(&s, tmp(2, 3), tmp(0, 3)));
    s.alias = RCX_ALIAS_SAME;
    assert_true(rcx_span_clash(&s, out(0, 3), in(1, 3)));
    assert_false(rcx_span_clash(&s, out(1, 3), in(1, 3)));
    s.coll = RCX_COLL_REDUCE_SCATTER;
    s.alias = RCX_ALIAS_BLOCK; /* rank 1's block is elements 3 to 5 */
    assert_false(rcx_span_clash(&s, out(0, 3), in(3, 3)));
    assert_true(rcx_span_clash(&s, out(0, 3), in(2, 3)));
    assert_false(rcx_span_clash(&s, out(0, 3), in(0, 3)));
}

/* The group must have these members in this order, on every rank. */
static void check_group(struct rcx_group (*make)(const struct rcx_shape *s),
                        int p, const int *ranks, int size)
{
    for (int me = 0; me < p; me++) {
        const struct rcx_shape s = {.rank = me, .size = p};
        const struct rcx_group g = make(&s);
        int expected = -1;

        assert_int_equal(g.size, size);
        for (int i = 0; i < size; i++) {
            assert_int_equal(rcx_group_member(&g, i), ranks[i]);
            if (ranks[i] == me)
                expected = i;
        }
        assert_int_equal(g.rank, expected);
    }
}

static struct rcx_group every_third(const struct rcx_shape *s)
{
    return rcx_group_strided(s, 1, 3, 3);
}

static struct rcx_group three_folded(const struct rcx_shape *s)
{
    return rcx_group_folded(s, 3);
}

static struct rcx_group some(const struct rcx_shape *s)
{
    static const int list[] = {7, 2, 9};

    return rcx_group_listed(s, list, 3);
}

static void groups_have_the_members_that_their_name_says(void **state)
{
    (void)state;
    check_group(rcx_group_all, 5, (const int[]){0, 1, 2, 3, 4}, 5);
    check_group(every_third, 12, (const int[]){1, 4, 7}, 3);
    check_group(three_folded, 11, (const int[]){1, 3, 5, 6, 7, 8, 9, 10}, 8);
    check_group(some, 10, (const int[]){7, 2, 9}, 3);
}

/* ---- Completion acks ----------------------------------------------------- */

/* Whether step waits for step from. */
static bool waits_for(const struct rcx_plan *plan, uint32_t step, uint32_t from)
{
    const struct rcx_step *s = &plan->steps[from];

    for (uint32_t i = 0; i < s->successor_count; i++)
        if (plan->successors[s->first_successor + i] == step)
            return true;
    return false;
}

static void assert_ack(const struct rcx_plan *plan, uint32_t step,
                       enum rcx_step_kind kind, int peer, uint32_t message)
{
    assert_true(step < plan->step_count);
    assert_int_equal(plan->steps[step].kind, kind);
    assert_int_equal(plan->steps[step].peer, peer);
    assert_int_equal(plan->steps[step].count, 0);
    assert_int_equal(plan->steps[step].message, message);
}

static void an_ack_waits_for_all_that_its_peer_sends(void **state)
{
    const struct rcx_shape s = usual();
    struct rcx_plan *plan;

    (void)state;
    rcx_builder_begin(&builder, &s);
    rcx_span_scratch(&builder, 10);
    rcx_step_recv(&builder, 2, tmp(0, 4));
    rcx_step_send(&builder, 2, in(0, 10));
    rcx_step_recv(&builder, 2, tmp(4, 4));
    rcx_step_recv(&builder, 0, tmp(8, 1));
    rcx_step_send(&builder, 3, in(0, 3));
    rcx_sched_completion_ack(&builder, 4);
    plan = finish(WINDOW);
    assert_int_equal(plan->step_count, 7);
    assert_ack(plan, 5, RCX_STEP_SEND, 2, 1); /* no ack for short messages */
    assert_ack(plan, 6, RCX_STEP_RECV, 2, 2);
    assert_int_equal(plan->steps[5].waits, 2);
    assert_true(waits_for(plan, 5, 0) && waits_for(plan, 5, 2));
    assert_int_equal(plan->steps[6].waits, 0);
    rcx_heap_free(&heap, plan);
}

static void a_rank_that_only_sends_gets_an_ack_from_each(void **state)
{
    const struct rcx_shape s = usual();
    struct rcx_plan *plan;

    (void)state;
    rcx_builder_begin(&builder, &s);
    rcx_step_send(&builder, 3, in(0, 1));
    rcx_step_send(&builder, 0, in(0, 1));
    rcx_step_send(&builder, 0, in(1, 1));
    rcx_sched_completion_ack(&builder, 0);
    plan = finish(WINDOW);
    assert_int_equal(plan->step_count, 5);
    assert_ack(plan, 3, RCX_STEP_RECV, 0, 0);
    assert_ack(plan, 4, RCX_STEP_RECV, 3, 0);
    rcx_heap_free(&heap, plan);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    static const struct CMUnitTest tests[] = {
        TEST(a_peer_that_is_no_other_rank_is_refused),
        TEST(an_ack_waits_for_all_that_its_peer_sends),
        TEST(a_rank_that_only_sends_gets_an_ack_from_each),
        TEST(a_span_outside_of_its_buffer_is_refused),
        TEST(the_result_is_as_long_as_the_collective_says),
        TEST(the_operand_is_never_written_by_its_name),
        TEST(different_lengths_are_refused),
        TEST(a_result_that_overlaps_an_operand_is_refused),
        TEST(a_result_in_the_place_of_an_operand_is_fine),
        TEST(finish_reports_the_first_error_and_leaves_output_alone),
        TEST(scratch_beyond_all_memory_is_an_error),
        TEST(spans_of_no_elements_make_no_step),
        TEST(a_copy_onto_itself_makes_no_step),
        TEST(scratch_is_handed_out_piece_after_piece),
        TEST(messages_are_numbered_per_peer_and_direction),
        TEST(sends_come_first_among_ready_steps),
        TEST(sends_come_first_among_successors),
        TEST(a_logarithmic_plan_of_a_million_ranks_is_small),
        TEST(parts_differ_by_at_most_one_and_cover_the_span),
        TEST(a_block_lies_where_the_displacements_say),
        TEST(a_clash_is_overlap_without_being_equal),
        TEST(groups_have_the_members_that_their_name_says),
    };

    return cmocka_run_group_tests_name("schedule", tests, NULL, NULL);
}
