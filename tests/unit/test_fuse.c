/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Fused reductions: which steps of a plan form one, and whose data may be held
 * for it. test_fused.c runs them; the proof suite checks the results of all
 * algorithms.
 */
#include "test.h"

#include <string.h>

#include "built.h"
#include "core/sched/algo.h"

enum { N = 10, PEER = 1 };

static struct built built;
static struct rcx_shape shape;
static struct rcx_plan *plan;
static struct rcx_span in, out, rest;

static int set_up(void **state)
{
    (void)state;
    shape = (struct rcx_shape){.coll = RCX_COLL_ALLREDUCE,
                               .size = 2,
                               .count = 2 * N,
                               .elem_bytes = sizeof(int32_t)};
    in = (struct rcx_span){RCX_BUFFER_IN, 0, N};
    out = (struct rcx_span){RCX_BUFFER_OUT, 0, N};
    rest = (struct rcx_span){RCX_BUFFER_OUT, N, N};
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

static struct rcx_span scratch(void)
{
    return rcx_span_scratch(&built.builder, N);
}

static struct rcx_span receive(void)
{
    const struct rcx_span data = scratch();

    rcx_step_recv(&built.builder, PEER, data);
    return data;
}

static void reduce(struct rcx_span dst, struct rcx_span left,
                   struct rcx_span right)
{
    rcx_step_reduce(&built.builder, dst, left, right);
}

/* ---- Steps that are fused ------------------------------------------------ */

/* Return step i's part; NULL: it is not fused. */
static const struct rcx_fused_part *part_of(uint32_t i)
{
    const struct rcx_step *step = &plan->steps[i];
    const struct rcx_fused_part *part = &plan->parts[step->fused - 1];

    if (step->fused == 0)
        return NULL;
    while (part->step != i)
        part++;
    return part;
}

/* Write the letter of its fused reduction for each REDUCE, or '-'. */
static const char *fused(void)
{
    static char text[64];
    uint32_t seen[64] = {0}, n = 0, count = 0;

    memset(text, 0, sizeof text);
    for (uint32_t i = 0; i < plan->step_count; i++) {
        const struct rcx_step *step = &plan->steps[i];
        uint32_t k = 0;

        if (step->kind != RCX_STEP_REDUCE)
            continue;
        while (k < count && seen[k] != step->fused)
            k++;
        if (k == count && step->fused > 0)
            seen[count++] = step->fused;
        text[n++] = step->fused > 0 ? (char)('a' + k) : '-';
    }
    return text;
}

static void a_tree_of_reductions_is_fused(void **state)
{
    struct rcx_span a, b, c;

    (void)state;
    a = receive(); /* step 0 */
    b = receive();
    c = receive();
    reduce(b, c, b); /* step 3 */
    reduce(a, in, a);
    reduce(out, a, b);
    finish();
    assert_string_equal(fused(), "aaa");
    assert_int_equal(plan->part_count, 3);
    for (uint32_t i = 3; i < 6; i++) {
        assert_int_equal(part_of(i)->is_last, i == 5);
        assert_int_equal(part_of(i)->dst_stays, i < 5);
    }
    assert_int_equal(part_of(3)->left_from, 3);
    assert_int_equal(part_of(3)->right_from, 2);
    assert_int_equal(part_of(4)->left_from, 0);
    assert_int_equal(part_of(4)->right_from, 1);
    assert_true(part_of(5)->left_stays && part_of(5)->right_stays);
    assert_false(part_of(3)->left_stays || part_of(3)->right_stays);
    for (uint32_t i = 0; i < 3; i++)
        assert_int_equal(plan->steps[i].fused, plan->steps[5].fused);
}

static void a_chain_in_the_place_of_its_result_is_fused(void **state)
{
    (void)state;
    reduce(out, receive(), in);
    reduce(out, out, receive());
    reduce(out, receive(), out);
    finish();
    assert_string_equal(fused(), "aaa");
    for (uint32_t i = 0; i < plan->part_count; i++)
        assert_false(plan->parts[i].dst_stays);
}

/* The first reduction reads what the last one overwrites. */
static void a_tree_may_overwrite_its_operands(void **state)
{
    struct rcx_span a;

    (void)state;
    shape.alias = RCX_ALIAS_SAME;
    a = receive();
    reduce(a, in, a);
    reduce(a, a, receive());
    reduce(out, a, receive());
    finish();
    assert_string_equal(fused(), "aaa");
    assert_true(rcx_plan_combines_at_once(plan, 4));
    assert_false(rcx_plan_combines_at_once(plan, 3));
}

/* The second reduction overwrites what the first one reads. */
static void reductions_do_not_wait_for_another_tree(void **state)
{
    struct rcx_span a, b;

    (void)state;
    shape.alias = RCX_ALIAS_SAME;
    a = receive();
    b = receive();
    reduce(a, in, a);
    reduce(out, b, receive());
    reduce(rest, a, receive());
    finish();
    assert_string_equal(fused(), "---");
    assert_false(rcx_plan_combines_at_once(plan, 3));
}

/* At once: 64, and otherwise none. */
static void a_tree_of_all_operands_may_have_many(void **state)
{
    (void)state;
    for (int operands = 63; operands <= 65; operands++) {
        shape.at_once = true;
        reduce(out, in, receive());
        for (int i = 3; i <= operands; i++)
            reduce(out, out, receive());
        finish();
        assert_int_equal(rcx_plan_combines_at_once(plan, operands),
                         operands <= RCX_AT_ONCE_OPERANDS);
    }
}

static void a_single_reduction_is_not_fused(void **state)
{
    (void)state;
    reduce(out, in, receive());
    reduce(rest, in, receive());
    finish();
    assert_string_equal(fused(), "--");
}

static void a_result_that_another_step_sees_is_not_intermediate(void **state)
{
    struct rcx_span a;

    (void)state;
    a = scratch(); /* is sent */
    reduce(a, in, receive());
    rcx_step_send(&built.builder, PEER, a);
    reduce(out, a, receive());
    finish();
    assert_string_equal(fused(), "--");
    a = scratch(); /* two reductions read it */
    reduce(a, in, receive());
    reduce(out, a, receive());
    reduce(rest, a, in);
    finish();
    assert_string_equal(fused(), "---");
    reduce(rest, in, receive()); /* a part of the result */
    reduce(out, rest, receive());
    finish();
    assert_string_equal(fused(), "--");
    a = rcx_span_scratch(&built.builder, 2 * N); /* half of it is read */
    reduce(rcx_span_sub(a, 0, N), in, receive());
    reduce(rcx_span_sub(out, 0, N - 2), rcx_span_sub(a, 1, N - 2),
           rcx_span_sub(in, 0, N - 2));
    finish();
    assert_string_equal(fused(), "--");
}

/* The operand must be used before it is overwritten, so at once. */
static void an_operand_that_is_overwritten_later_is_used_before(void **state)
{
    struct rcx_span a, b;

    (void)state;
    a = receive();
    b = scratch();
    reduce(b, in, a);
    rcx_step_recv(&built.builder, PEER, a);
    reduce(out, a, b);
    finish();
    assert_string_equal(fused(), "--");
}

static void a_tree_has_eight_operands_at_most(void **state)
{
    struct rcx_span sum[16], part;

    (void)state;
    reduce(out, in, receive()); /* a chain of 16 operands */
    for (int i = 0; i < 14; i++)
        reduce(out, out, receive());
    finish();
    assert_string_equal(fused(), "aaaaaaabbbbbbb-");
    for (int i = 0; i < 16; i++) /* a balanced tree of 16 */
        sum[i] = receive();
    for (int width = 1; width < 16; width *= 2)
        for (int i = 0; i < 16; i += 2 * width)
            reduce(width == 8 ? out : sum[i], sum[i], sum[i + width]);
    finish();
    assert_string_equal(fused(), "aaaabbbbaabbab-");
    part = scratch(); /* the second subtree has no room any more */
    for (int i = 0; i < 10; i++)
        sum[i] = receive();
    for (int i = 0; i < 5; i++)
        reduce(sum[0], sum[0], sum[i + 1]);
    reduce(part, sum[6], sum[7]);
    reduce(part, part, sum[8]);
    reduce(out, sum[0], part);
    finish();
    assert_string_equal(fused(), "aaaaabba");
}

/* A block of such a result would overwrite a block that is still needed. */
static void a_result_that_overlaps_an_operand_in_part_is_not_fused(void **state)
{
    struct rcx_span a, b, c, room;

    (void)state;
    shape.alias = RCX_ALIAS_SAME;
    a = scratch();
    reduce(a, in, receive());
    reduce((struct rcx_span){RCX_BUFFER_OUT, 3, N}, a, receive());
    finish();
    assert_string_equal(fused(), "--");
    a = scratch(); /* the operand, by its other name */
    reduce(a, receive(), out);
    reduce((struct rcx_span){RCX_BUFFER_OUT, 3, N}, a, receive());
    finish();
    assert_string_equal(fused(), "--");
    a = scratch();
    reduce(a, out, receive());
    reduce((struct rcx_span){RCX_BUFFER_OUT, 3, N}, a, receive());
    finish();
    assert_string_equal(fused(), "--");
    a = scratch(); /* equal is fine */
    reduce(a, in, receive());
    reduce(out, a, receive());
    finish();
    assert_string_equal(fused(), "aa");
    shape.alias = RCX_ALIAS_NONE;
    room = rcx_span_scratch(&built.builder, 2 * N);
    b = rcx_span_sub(room, 0, N);
    c = rcx_span_sub(room, 4, N);
    rcx_step_recv(&built.builder, PEER, b);
    a = scratch();
    reduce(a, in, b);
    reduce(c, a, receive());
    reduce(out, c, receive());
    finish();
    assert_string_equal(fused(), "---");
}

static void data_that_another_step_reads_is_not_held(void **state)
{
    struct rcx_span a, b;

    (void)state;
    a = receive();
    b = receive();
    rcx_step_send(&built.builder, PEER, a);
    reduce(b, a, b);
    reduce(out, b, in);
    finish();
    assert_string_equal(fused(), "aa");
    assert_int_equal(plan->steps[0].fused, 0);
    assert_true(plan->steps[1].fused > 0);
    assert_int_equal(part_of(3)->left_from, 0);
    assert_int_equal(part_of(3)->right_from, 2);
    a = receive(); /* twice in one step */
    reduce(a, a, a);
    reduce(out, a, in);
    finish();
    assert_string_equal(fused(), "aa");
    assert_int_equal(plan->steps[0].fused, 0);
    a = rcx_span_scratch(&built.builder, 2 * N); /* only half of it is read */
    rcx_step_recv(&built.builder, PEER, a);
    b = scratch();
    reduce(b, rcx_span_sub(a, 0, N), in);
    reduce(out, b, in);
    finish();
    assert_string_equal(fused(), "aa");
    assert_int_equal(plan->steps[0].fused, 0);
    assert_int_equal(part_of(1)->right_from, 0);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    static const struct CMUnitTest tests[] = {
        TEST(a_tree_of_reductions_is_fused),
        TEST(a_chain_in_the_place_of_its_result_is_fused),
        TEST(a_tree_may_overwrite_its_operands),
        TEST(reductions_do_not_wait_for_another_tree),
        TEST(a_tree_of_all_operands_may_have_many),
        TEST(a_single_reduction_is_not_fused),
        TEST(a_result_that_another_step_sees_is_not_intermediate),
        TEST(an_operand_that_is_overwritten_later_is_used_before),
        TEST(a_tree_has_eight_operands_at_most),
        TEST(a_result_that_overlaps_an_operand_in_part_is_not_fused),
        TEST(data_that_another_step_reads_is_not_held),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
