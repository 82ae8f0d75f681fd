/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Copy forwarding: steps of a plan read the operand instead of a copy of it.
 * Random programs run step by step as written and as planned, and must read and
 * write the same values.
 */
#include "test.h"

#include <string.h>

#include "built.h"
#include "core/base/random.h"
#include "core/sched/algo.h"

enum { N = 12, STEPS = 24, PROGRAMS = 20000 };

static struct built built;
static uint64_t random_state;

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

static size_t draw(size_t n)
{
    return (size_t)(rcx_random(&random_state) % n);
}

static struct rcx_shape shape_with(enum rcx_alias alias)
{
    return (struct rcx_shape){.coll = RCX_COLL_ALLREDUCE,
                              .size = 2,
                              .count = N,
                              .elem_bytes = 8,
                              .alias = alias,
                              .commutative = true};
}

/* ---- An interpreter of steps --------------------------------------------- */

struct machine {
    uint64_t memory[RCX_BUFFER_COUNT][N];
    uint64_t sent; /* hash of all that was sent */
    uint64_t next; /* value of the next received element */
    bool is_in_place;
};

static struct machine machine_with(enum rcx_alias alias)
{
    struct machine m = {.is_in_place = alias == RCX_ALIAS_SAME};

    for (int b = 0; b < RCX_BUFFER_COUNT; b++)
        for (int i = 0; i < N; i++)
            m.memory[b][i] = (uint64_t)(b * 100 + i);
    return m;
}

static uint64_t *at(struct machine *m, unsigned buffer, size_t offset)
{
    if (m->is_in_place && buffer == RCX_BUFFER_OUT)
        buffer = RCX_BUFFER_IN;
    return &m->memory[buffer][offset];
}

/* Run a step as the executor does, with a non-commutative op. */
static void run(struct machine *m, const struct rcx_step *step)
{
    for (size_t i = 0; i < step->count; i++) {
        const uint64_t left = *at(m, step->left, step->left_at + i);
        const uint64_t right = *at(m, step->right, step->right_at + i);
        uint64_t *const dst = at(m, step->dst, step->dst_at + i);

        switch (step->kind) {
        case RCX_STEP_SEND: m->sent = m->sent * 31 + left; break;
        case RCX_STEP_RECV: *dst = 1000 + m->next++; break;
        case RCX_STEP_COPY: *dst = left; break;
        default: *dst = 3 * left + 5 * right; break;
        }
    }
}

static struct rcx_span any_span(size_t count, size_t first)
{
    return (struct rcx_span){(enum rcx_buffer)(first + draw(3 - first)),
                             draw(N - count + 1), count};
}

/* Add a random step. A step that the builder rejects is dropped. */
static void add_random(void)
{
    const size_t count = 1 + draw(4), many = 5 + draw(N - 4);
    const struct rcx_span dst = any_span(count, 1);
    const struct rcx_span left = any_span(count, 0);
    const uint32_t before = built.builder.step_count;

    switch (draw(6)) {
    case 0: rcx_step_send(&built.builder, 1, left); break;
    case 1: rcx_step_recv(&built.builder, 1, dst); break;
    case 2: rcx_step_copy(&built.builder, dst, left); break;
    case 3:
    case 4:
        rcx_step_copy(
            &built.builder, any_span(many, 1),
            (struct rcx_span){RCX_BUFFER_IN, draw(N - many + 1), many});
        break;
    default:
        rcx_step_reduce(&built.builder, dst, left, any_span(count, 0));
        break;
    }
    if (built.builder.status == RCX_OK)
        return;
    built.builder.status = RCX_OK;
    built.builder.step_count = before;
}

static unsigned moved(const struct rcx_step *a, const struct rcx_step *b)
{
    return (a->left != b->left || a->left_at != b->left_at) +
           (a->right != b->right || a->right_at != b->right_at);
}

/* Run a random program both ways. Returns the number of reads that were
 * forwarded. */
static unsigned compare(enum rcx_alias alias)
{
    const struct rcx_shape s = shape_with(alias);
    struct rcx_step written[STEPS];
    struct machine a = machine_with(alias), b = a;
    struct rcx_plan *plan = NULL;
    unsigned others = 0;

    rcx_builder_begin(&built.builder, &s);
    rcx_span_scratch(&built.builder, N);
    for (int i = 0; i < STEPS; i++)
        add_random();
    memcpy(written, built.builder.steps,
           built.builder.step_count * sizeof *written);
    require_ok(rcx_sched_finish(&built.builder, 1024, &plan));
    for (uint32_t i = 0; i < plan->step_count; i++) {
        others += moved(&written[i], &plan->steps[i]);
        run(&a, &written[i]);
        run(&b, &plan->steps[i]);
        require(memcmp(&a, &b, sizeof a) == 0);
    }
    rcx_heap_free(&built.heap, plan);
    return others;
}

static void every_forwarded_read_has_the_same_value(void **state)
{
    unsigned others = 0;

    (void)state;
    for (int i = 0; i < PROGRAMS; i++) {
        random_state = (uint64_t)i;
        others += compare(RCX_ALIAS_NONE);
    }
    assert_true(others > PROGRAMS); /* else nothing was tested */
}

static void in_place_no_read_is_forwarded(void **state)
{
    (void)state;
    for (int i = 0; i < PROGRAMS / 4; i++) {
        random_state = (uint64_t)i;
        assert_int_equal(compare(RCX_ALIAS_SAME), 0);
    }
}

/* ---- The effect on algorithms -------------------------------------------- */

/* The first send of an allgather must read the operand, and not wait for the
 * copy to the result. */
static void the_own_block_need_not_be_copied_first(void **state)
{
    const char *const names[] = {"recursive_doubling", "ring"};

    (void)state;
    for (int i = 0; i < 2; i++) {
        const struct rcx_algo *algo =
            rcx_algo_find(RCX_COLL_ALLGATHER, names[i]);
        const struct rcx_shape s = {.coll = RCX_COLL_ALLGATHER,
                                    .size = 4,
                                    .count = 4 * N,
                                    .elem_bytes = 4};
        struct rcx_plan *plan = NULL;
        const struct rcx_step *first;

        rcx_builder_begin(&built.builder, &s);
        algo->build(&built.builder, &s);
        require_ok(rcx_sched_finish(&built.builder, 1024, &plan));
        first = &plan->steps[plan->ready[0]];
        assert_int_equal(first->kind, RCX_STEP_SEND);
        assert_int_equal(first->left, RCX_BUFFER_IN);
        rcx_heap_free(&built.heap, plan);
    }
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    static const struct CMUnitTest tests[] = {
        TEST(every_forwarded_read_has_the_same_value),
        TEST(in_place_no_read_is_forwarded),
        TEST(the_own_block_need_not_be_copied_first),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
