/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Phases: the shape that an algorithm gets in a frame, the translation of its
 * steps to the outer schedule, and rejected phases. The proof suite runs every
 * algorithm as a phase.
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

/* The outer shape: rank 5 of 8, 20 elements. */
static struct rcx_shape outer(enum rcx_alias alias)
{
    return (struct rcx_shape){.coll = RCX_COLL_ALLREDUCE,
                              .rank = 5,
                              .size = 8,
                              .count = 20,
                              .elem_bytes = 4,
                              .alias = alias,
                              .commutative = true};
}

/* The group of ranks 3, 5 and 7. */
static struct rcx_group odd_ones(const struct rcx_shape *s)
{
    return rcx_group_strided(s, 3, 2, 3);
}

/* ---- Algorithms that record their shape ---------------------------------- */

static struct rcx_shape seen;
static int builds;

static void look(struct rcx_builder *b, const struct rcx_shape *s)
{
    assert_ptr_equal(b->shape, s);
    seen = *s;
    builds++;
}

static bool even_only(const struct rcx_shape *s)
{
    return s->count % 2 == 0;
}

/* Candidates 0 to 9 for parts; by price() the number of ranks is the best. */
static int64_t any_number(const struct rcx_shape *s, int i)
{
    (void)s;
    return i < 10 ? i : RCX_PARAM_END;
}

static struct rcx_cost price(const struct rcx_shape *s)
{
    const double off = (double)(s->params[0] - s->size);

    return (struct rcx_cost){.rounds = off * off};
}

static const struct rcx_param params[] = {
    {.name = "parts", .usual = 7, .candidate = any_number}, {0}};

static const struct rcx_algo allreduce = {.name = "probe",
                                          .coll = RCX_COLL_ALLREDUCE,
                                          .params = params,
                                          .needs = "an even count",
                                          .fits = even_only,
                                          .cost = price,
                                          .build = look};
static const struct rcx_algo reduce = {
    .name = "probe", .coll = RCX_COLL_REDUCE, .build = look};
static const struct rcx_algo scatter = {
    .name = "probe", .coll = RCX_COLL_REDUCE_SCATTER, .build = look};

/* Each kind of step once, over all of IN, of OUT, and of scratch. */
static void all_verbs(struct rcx_builder *b, const struct rcx_shape *s)
{
    const struct rcx_span scratch = rcx_span_scratch(b, s->count);

    rcx_step_send(b, 0, rcx_span_in(s));
    rcx_step_recv(b, 2, scratch);
    rcx_step_reduce(b, rcx_span_out(s), scratch, rcx_span_in(s));
    rcx_step_copy(b, scratch, rcx_span_out(s));
}

static const struct rcx_algo verbs = {
    .name = "verbs", .coll = RCX_COLL_ALLREDUCE, .build = all_verbs};

/* ---- The shape of a phase ------------------------------------------------ */

static void an_algorithm_sees_the_call_of_its_group_only(void **state)
{
    static const size_t displs[] = {0, 1, 5, 6};
    struct rcx_shape s = outer(RCX_ALIAS_NONE);
    const struct rcx_group g = odd_ones(&s);
    struct rcx_phase phase = rcx_phase_of(&scatter);

    (void)state;
    s.commutative = false;
    phase.displs = displs;
    phase.root = 2;
    rcx_builder_begin(&builder, &s);
    rcx_sched_within(&builder, &phase, &g, in(3, 6), out(8, 4));
    assert_ok(builder.status);
    assert_ptr_equal(builder.shape, &s);
    assert_null(builder.frame);
    assert_int_equal(seen.coll, RCX_COLL_REDUCE_SCATTER);
    assert_int_equal(seen.rank, 1);
    assert_int_equal(seen.size, 3);
    assert_int_equal(seen.root, 2);
    assert_int_equal(seen.count, 6);
    assert_ptr_equal(seen.displs, displs);
    assert_int_equal(seen.elem_bytes, 4);
    assert_int_equal(seen.alias, RCX_ALIAS_NONE);
    assert_false(seen.commutative);
}

static void parameters_are_settled_for_the_group(void **state)
{
    const struct rcx_shape s = outer(RCX_ALIAS_NONE);
    const struct rcx_group g = odd_ones(&s);
    struct rcx_phase phase = rcx_phase_of(&allreduce);

    (void)state;
    rcx_builder_begin(&builder, &s);
    rcx_sched_within(&builder, &phase, &g, in(0, 4), out(0, 4));
    assert_int_equal(seen.params[0], 7);
    phase.params[0] = RCX_PARAM_AUTO;
    rcx_sched_within(&builder, &phase, &g, in(0, 4), out(0, 4));
    assert_int_equal(seen.params[0], 3);
    assert_int_equal(rcx_phase_shape(&phase, &s, 6, 4).params[0], 6);
    assert_ok(builder.status);
}

static void assert_alias(const struct rcx_algo *algo, enum rcx_alias whole,
                         struct rcx_span from, struct rcx_span to,
                         enum rcx_alias expected)
{
    const struct rcx_shape s = outer(whole);
    const struct rcx_group g = odd_ones(&s);
    const struct rcx_phase phase = rcx_phase_of(algo);

    rcx_builder_begin(&builder, &s);
    rcx_span_scratch(&builder, 20);
    builds = 0;
    rcx_sched_within(&builder, &phase, &g, from, to);
    assert_ok(builder.status);
    assert_int_equal(builds, 1);
    assert_int_equal(seen.alias, expected);
}

static void an_alias_follows_from_the_spans(void **state)
{
    const enum rcx_alias none = RCX_ALIAS_NONE, same = RCX_ALIAS_SAME;
    const enum rcx_alias block = RCX_ALIAS_BLOCK;

    (void)state;
    assert_alias(&allreduce, none, in(3, 6), out(3, 6), none);
    assert_alias(&allreduce, same, in(3, 6), out(3, 6), same);
    assert_alias(&allreduce, same, in(3, 6), out(9, 6), none);
    assert_alias(&allreduce, none, out(3, 6), out(3, 6), same);
    assert_alias(&allreduce, same, tmp(3, 6), out(3, 6), none);
    assert_alias(&allreduce, none, tmp(3, 6), tmp(3, 6), same);
    assert_alias(&allreduce, same, tmp(0, 6), tmp(14, 6), none);
    /* blocks of two elements; the own block is in the middle */
    assert_alias(&scatter, same, in(3, 6), out(3, 2), same);
    assert_alias(&scatter, same, in(3, 6), out(5, 2), block);
    assert_alias(&scatter, none, tmp(3, 6), tmp(5, 2), block);
    assert_alias(&scatter, same, in(3, 6), out(9, 2), none);
    assert_alias(&scatter, same, in(3, 6), out(1, 2), none);
    assert_alias(&scatter, none, in(3, 6), out(5, 2), none);
    /* this rank has no result, so its place does not matter */
    assert_alias(&reduce, same, in(3, 6), out(5, 6), none);
    assert_alias(&scatter, same, in(3, 0), out(3, 0), none);
}

static void a_rank_outside_the_group_builds_nothing(void **state)
{
    const struct rcx_shape s = outer(RCX_ALIAS_NONE);
    const struct rcx_group evens = rcx_group_strided(&s, 0, 2, 4);
    const struct rcx_phase phase = rcx_phase_of(&allreduce);

    (void)state;
    builds = 0;
    rcx_builder_begin(&builder, &s);
    rcx_sched_within(&builder, &phase, &evens, in(0, 3), out(1, 9));
    assert_ok(builder.status);
    assert_int_equal(builds, 0);
}

/* ---- Translation of steps ------------------------------------------------ */

static void assert_text(const char *expected)
{
    struct rcx_plan *plan = NULL;
    char *text = NULL;
    size_t bytes;
    FILE *file = open_memstream(&text, &bytes);

    assert_ok(rcx_sched_finish(&builder, WINDOW, &plan));
    rcx_plan_print(plan, file);
    fclose(file);
    assert_string_equal(text, expected);
    free(text);
    rcx_heap_free(&heap, plan);
}

static void steps_come_out_in_the_outer_schedules_terms(void **state)
{
    const struct rcx_shape s = outer(RCX_ALIAS_NONE);
    const struct rcx_phase phase = rcx_phase_of(&verbs);
    const struct rcx_group g = odd_ones(&s);

    (void)state;
    rcx_builder_begin(&builder, &s);
    rcx_span_scratch(&builder, 5);
    rcx_sched_within(&builder, &phase, &g, in(3, 6), out(11, 6));
    assert_text("0 send 3#0 in[3..9)\n"
                "1 recv 7#0 tmp[5..11) ->2\n"
                "2 reduce out[11..17) tmp[5..11) in[3..9) ->3\n"
                "3 copy tmp[5..11) out[11..17)\n");
}

static void a_phase_works_on_scratch_of_the_outer_schedule(void **state)
{
    const struct rcx_shape s = outer(RCX_ALIAS_NONE);
    const struct rcx_phase phase = rcx_phase_of(&verbs);
    const struct rcx_group g = odd_ones(&s);
    struct rcx_span operand;

    (void)state;
    rcx_builder_begin(&builder, &s);
    rcx_span_scratch(&builder, 5);
    operand = rcx_span_scratch(&builder, 6);
    rcx_sched_within(&builder, &phase, &g, operand, operand);
    assert_text("0 send 3#0 tmp[5..11) ->2\n"
                "1 recv 7#0 tmp[11..17) ->2\n"
                "2 reduce tmp[5..11) tmp[11..17) tmp[5..11) ->3\n"
                "3 copy tmp[11..17) tmp[5..11)\n");
}

static void messages_are_numbered_through_all_phases(void **state)
{
    const struct rcx_shape s = outer(RCX_ALIAS_SAME);
    const struct rcx_phase phase = rcx_phase_of(&verbs);
    const struct rcx_group g = odd_ones(&s);

    (void)state;
    rcx_builder_begin(&builder, &s);
    rcx_step_send(&builder, 3, in(0, 1));
    rcx_sched_within(&builder, &phase, &g, in(1, 2), out(1, 2));
    rcx_step_recv(&builder, 7, out(2, 1));
    assert_text("0 send 3#0 in[0..1)\n"
                "1 send 3#1 in[1..3) ->3\n"
                "2 recv 7#0 tmp[0..2) ->3\n"
                "3 reduce out[1..3) tmp[0..2) in[1..3) ->4\n"
                "4 copy tmp[0..2) out[1..3) ->5\n"
                "5 recv 7#1 out[2..3)\n");
}

/* A phase within a phase: the members 2, 1, 0 of the group, on parts of both
 * spans. */
static void in_two_frames(struct rcx_builder *b, const struct rcx_shape *s)
{
    static const int reverse[] = {2, 1, 0};
    const struct rcx_group g = rcx_group_listed(s, reverse, 3);
    const struct rcx_phase phase = rcx_phase_of(&verbs);

    rcx_sched_within(b, &phase, &g, rcx_span_sub(rcx_span_in(s), 1, 2),
                     rcx_span_sub(rcx_span_out(s), 2, 2));
}

static const struct rcx_algo nested = {
    .name = "nested", .coll = RCX_COLL_ALLREDUCE, .build = in_two_frames};

static void phases_nest(void **state)
{
    const struct rcx_shape s = outer(RCX_ALIAS_NONE);
    const struct rcx_phase phase = rcx_phase_of(&nested);
    int list[] = {7, 5, 3, 1};
    const struct rcx_group g = rcx_group_listed(&s, list, 4);

    (void)state;
    rcx_builder_begin(&builder, &s);
    rcx_sched_within(&builder, &phase, &g, in(3, 6), out(11, 6));
    memset(list, -1, sizeof list); /* not used any more */
    assert_text("0 send 3#0 in[4..6)\n"
                "1 recv 7#0 tmp[0..2) ->2\n"
                "2 reduce out[13..15) tmp[0..2) in[4..6) ->3\n"
                "3 copy tmp[0..2) out[13..15)\n");
}

/* ---- Rejected phases ----------------------------------------------------- */

#define assert_misuse(phase, g, from, to, status, ...)                         \
    do {                                                                       \
        const struct rcx_shape s_ = outer(RCX_ALIAS_SAME);                     \
        struct rcx_plan *plan_ = NULL;                                         \
        builds = 0;                                                            \
        rcx_builder_begin(&builder, &s_);                                      \
        assert_refused(&said,                                                  \
                       (rcx_sched_within(&builder, phase, g, from, to),        \
                        rcx_sched_finish(&builder, WINDOW, &plan_)),           \
                       status, __VA_ARGS__);                                   \
        assert_int_equal(builds, 0);                                           \
    } while (0)

static void spans_that_overlap_in_part_are_refused(void **state)
{
    const struct rcx_shape s = outer(RCX_ALIAS_SAME);
    const struct rcx_group g = odd_ones(&s);
    const struct rcx_phase all = rcx_phase_of(&allreduce);
    const struct rcx_phase block = rcx_phase_of(&scatter);

    (void)state;
    assert_misuse(&all, &g, in(3, 6), out(4, 6), RCX_ERR_INTERNAL, "overlaps");
    assert_misuse(&all, &g, in(3, 6), out(0, 6), RCX_ERR_INTERNAL, "overlaps");
    assert_misuse(&all, &g, in(3, 6), out(8, 6), RCX_ERR_INTERNAL, "overlaps");
    assert_misuse(&all, &g, out(3, 6), in(8, 6), RCX_ERR_INTERNAL, "overlaps");
    assert_misuse(&all, &g, tmp(3, 6), tmp(4, 6), RCX_ERR_INTERNAL, "overlaps");
    assert_misuse(&block, &g, in(3, 6), out(4, 2), RCX_ERR_INTERNAL,
                  "overlaps");
    assert_misuse(&block, &g, in(3, 6), out(7, 2), RCX_ERR_INTERNAL,
                  "overlaps");
}

static void a_phase_that_does_not_match_its_group_is_refused(void **state)
{
    static const size_t gap[] = {1, 2, 4, 6}, more[] = {0, 2, 4, 7};
    const struct rcx_shape s = outer(RCX_ALIAS_SAME);
    const struct rcx_group g = odd_ones(&s);
    struct rcx_group other = odd_ones(&s);
    struct rcx_phase all = rcx_phase_of(&allreduce);
    struct rcx_phase root = rcx_phase_of(&reduce);
    struct rcx_phase block = rcx_phase_of(&scatter);

    (void)state;
    other.rank = 2;
    assert_misuse(&all, &other, in(0, 6), out(0, 6), RCX_ERR_INTERNAL,
                  "does not map its own index to this rank");
    assert_misuse(&all, &g, in(0, 6), out(0, 5), RCX_ERR_INTERNAL, "length");
    assert_misuse(&block, &g, in(0, 6), out(0, 6), RCX_ERR_INTERNAL, "length");
    root.root = 3;
    assert_misuse(&root, &g, in(0, 6), out(0, 6), RCX_ERR_INTERNAL, "root");
    root.root = -1;
    assert_misuse(&root, &g, in(0, 6), out(0, 6), RCX_ERR_INTERNAL, "root");
    block.displs = gap;
    assert_misuse(&block, &g, in(0, 6), out(0, 2), RCX_ERR_INTERNAL, "blocks");
    block.displs = more;
    assert_misuse(&block, &g, in(0, 6), out(0, 2), RCX_ERR_INTERNAL, "blocks");
}

static void an_algorithm_that_does_not_fit_is_refused(void **state)
{
    const struct rcx_shape s = outer(RCX_ALIAS_SAME);
    const struct rcx_group g = odd_ones(&s);
    const struct rcx_phase phase = rcx_phase_of(&allreduce);

    (void)state;
    assert_misuse(&phase, &g, in(0, 5), out(0, 5), RCX_ERR_UNSUPPORTED,
                  "allreduce probe", "3 ranks", "an even count");
}

/* A step of verbs on these spans must fail with a line that contains word. */
#define assert_wrong_step(g, from, to, word)                                   \
    do {                                                                       \
        const struct rcx_phase phase_ = rcx_phase_of(&verbs);                  \
        assert_misuse(&phase_, g, from, to, RCX_ERR_INTERNAL, word);           \
    } while (0)

static void steps_are_checked_outside_too(void **state)
{
    static const int beyond[] = {8, 5, 3}, mine[] = {5, 3, 5};
    const struct rcx_shape s = outer(RCX_ALIAS_SAME);
    const struct rcx_group g = odd_ones(&s);
    const struct rcx_group wide = rcx_group_listed(&s, beyond, 3);
    struct rcx_group twice = rcx_group_listed(&s, mine, 3);

    (void)state;
    assert_wrong_step(&g, in(15, 6), out(3, 6), "reads outside");
    assert_wrong_step(&g, in(3, 6), out(15, 6), "writes outside");
    assert_wrong_step(&g, in(3, 6), in(10, 6), "writes the operand");
    assert_wrong_step(&wide, in(3, 6), out(10, 6), "peer");
    assert_wrong_step(&twice, in(3, 6), out(10, 6), "peer");
}

static void a_failed_builder_takes_no_phase(void **state)
{
    const struct rcx_shape s = outer(RCX_ALIAS_NONE);
    const struct rcx_group g = odd_ones(&s);
    const struct rcx_phase phase = rcx_phase_of(&allreduce);

    (void)state;
    builds = 0;
    rcx_builder_begin(&builder, &s);
    rcx_builder_fail(&builder, RCX_ERR_NOMEM);
    rcx_sched_within(&builder, &phase, &g, in(0, 4), out(0, 5));
    assert_int_equal(builds, 0);
    assert_status(builder.status, RCX_ERR_NOMEM);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    static const struct CMUnitTest tests[] = {
        TEST(an_algorithm_sees_the_call_of_its_group_only),
        TEST(parameters_are_settled_for_the_group),
        TEST(an_alias_follows_from_the_spans),
        TEST(a_rank_outside_the_group_builds_nothing),
        TEST(steps_come_out_in_the_outer_schedules_terms),
        TEST(a_phase_works_on_scratch_of_the_outer_schedule),
        TEST(messages_are_numbered_through_all_phases),
        TEST(phases_nest),
        TEST(spans_that_overlap_in_part_are_refused),
        TEST(a_phase_that_does_not_match_its_group_is_refused),
        TEST(an_algorithm_that_does_not_fit_is_refused),
        TEST(steps_are_checked_outside_too),
        TEST(a_failed_builder_takes_no_phase),
    };

    return cmocka_run_group_tests_name("phases", tests, NULL, NULL);
}
