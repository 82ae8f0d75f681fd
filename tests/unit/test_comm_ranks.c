/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Ranks of communicators in each other, and their comparison. All ranks are
 * threads of one process over the simulated network. job_nodes.c of tests/job
 * has nodes.
 */
#include "test.h"

#include "capture.h"
#include "context.h"
#include "members.h"

enum { SIZE = 5 };

static void open_quiet(struct job *job, int size)
{
    const rcx_params_t params = {.field_mask = RCX_PARAM_LOG,
                                 .log = lines_discard};
    const struct job_options options = {.params = &params, .threaded = true};

    assert_ok(job_open(job, size, &options));
}

static void run(void (*fn)(struct job *job, int rank, void *arg))
{
    struct job job;

    open_quiet(&job, SIZE);
    job_each(&job, fn, NULL);
    assert_ok(job_close(&job));
}

/* ---- Ranks --------------------------------------------------------------- */

/* Even ranks of the world in reverse order: 4, 2, 0. */
static void translate_there_and_back(struct job *job, int rank, void *arg)
{
    rcx_comm_t *world = world_of(job, rank), *even = NULL;
    const int all[SIZE] = {0, 1, 2, 3, 4}, there[SIZE] = {2, -1, 1, -1, 0};
    int found[SIZE] = {7, 7, 7, 7, 7};

    (void)arg;
    require_ok(rcx_comm_split(world, rank % 2, -rank, &even));
    if (rank % 2 == 0) {
        require_ok(rcx_comm_translate(world, SIZE, all, even, found));
        for (int i = 0; i < SIZE; i++)
            require(found[i] == there[i]);
        require_ok(rcx_comm_translate(even, 3, all, world, found));
        for (int i = 0; i < 3; i++)
            require(found[i] == 4 - 2 * i);
    }
    require_ok(rcx_comm_translate(even, 0, NULL, world, NULL));
    require_ok(rcx_comm_free(&even));
}

static void ranks_are_translated_there_and_back(void **state)
{
    (void)state;
    run(translate_there_and_back);
}

static void translate_in_place(struct job *job, int rank, void *arg)
{
    rcx_comm_t *reversed = NULL;
    int ranks[] = {0, SIZE - 1, 0};

    (void)arg;
    require_ok(rcx_comm_split(world_of(job, rank), 0, -rank, &reversed));
    require_ok(
        rcx_comm_translate(reversed, 3, ranks, world_of(job, rank), ranks));
    require(ranks[0] == SIZE - 1 && ranks[1] == 0 && ranks[2] == SIZE - 1);
    require_ok(rcx_comm_free(&reversed));
}

static void both_arrays_may_be_one(void **state)
{
    (void)state;
    run(translate_in_place);
}

/* ---- Comparison ---------------------------------------------------------- */

static rcx_comparison_t compare(rcx_comm_t *a, rcx_comm_t *b)
{
    rcx_comparison_t there, back;

    require_ok(rcx_comm_compare(a, b, &there));
    require_ok(rcx_comm_compare(b, a, &back));
    require(there == back);
    return there;
}

static void compare_all(struct job *job, int rank, void *arg)
{
    rcx_comm_t *world = world_of(job, rank);
    rcx_comm_t *copy = NULL, *reversed = NULL, *half = NULL, *others = NULL;

    (void)arg;
    require_ok(rcx_comm_dup(world, &copy));
    require_ok(rcx_comm_split(world, 0, -rank, &reversed));
    require_ok(rcx_comm_split(world, rank < 3, 0, &half));
    require_ok(rcx_comm_split(world, rank > 1, 0, &others));
    require(compare(world, world) == RCX_COMM_IDENT);
    require(compare(world, copy) == RCX_COMM_CONGRUENT);
    require(compare(world, reversed) == RCX_COMM_SIMILAR);
    require(compare(world, half) == RCX_COMM_UNEQUAL);
    /* rank 2 is among 3 others in both, which differ */
    require(compare(half, others) == RCX_COMM_UNEQUAL);
    require_ok(rcx_comm_free(&copy));
    require_ok(rcx_comm_free(&reversed));
    require_ok(rcx_comm_free(&half));
    require_ok(rcx_comm_free(&others));
}

static void communicators_are_compared_by_members_and_ranks(void **state)
{
    (void)state;
    run(compare_all);
}

static void other_contexts_have_other_ranks(void **state)
{
    rcx_comparison_t result = RCX_COMM_IDENT;
    struct job one, other;
    int found;

    (void)state;
    open_quiet(&one, 2);
    open_quiet(&other, 2);
    assert_ptr_equal(rcx_comm_context(world_of(&one, 0)), one.contexts[0]);
    assert_ok(
        rcx_comm_compare(world_of(&one, 0), world_of(&other, 0), &result));
    assert_int_equal(result, RCX_COMM_UNEQUAL);
    assert_int_equal(rcx_comm_translate(world_of(&one, 0), 1, &(int){0},
                                        world_of(&other, 0), &found),
                     RCX_ERR_ARG);
    assert_ok(job_close(&one));
    assert_ok(job_close(&other));
}

/* ---- Rejected arguments -------------------------------------------------- */

static void wrong_arguments_are_named(void **state)
{
    struct capture c = {.asks_for_name = true};
    const rcx_params_t params = {
        .field_mask = RCX_PARAM_LOG, .log = capture_line, .log_arg = &c};
    const struct job_options options = {.params = &params};
    rcx_comm_t *world, *made;
    int rank = 0, found;
    rcx_comparison_t result;
    struct job job;

    (void)state;
    assert_ok(job_open(&job, 1, &options));
    world = world_of(&job, 0);
#define refuses(call, ...) assert_refused(&c, call, RCX_ERR_ARG, __VA_ARGS__)
    refuses(rcx_comm_node_of(NULL, 0, &found), "comm");
    refuses(rcx_comm_node_of(world, 1, &found), "rank=1", "0..0");
    refuses(rcx_comm_node_of(world, -1, &found), "rank=-1");
    refuses(rcx_comm_node_of(world, 0, NULL), "node_p");
    refuses(rcx_comm_split_node(NULL, 0, &made), "comm");
    refuses(rcx_comm_split_node(world, 0, NULL), "new_p");
    refuses(rcx_comm_translate(NULL, 1, &rank, world, &found), "from");
    refuses(rcx_comm_translate(world, 1, &rank, NULL, &found), "to");
    refuses(rcx_comm_translate(world, -1, &rank, world, &found), "n=-1");
    refuses(rcx_comm_translate(world, 1, NULL, world, &found), "ranks");
    refuses(rcx_comm_translate(world, 1, &rank, world, NULL), "found");
    refuses(rcx_comm_translate(world, 1, &(int){1}, world, &found),
            "ranks[0]=1", "0..0");
    refuses(rcx_comm_compare(NULL, world, &result), "a");
    refuses(rcx_comm_compare(world, NULL, &result), "b");
    refuses(rcx_comm_compare(world, world, NULL), "result_p");
    assert_null(rcx_comm_context(NULL));
    assert_ok(rcx_comm_node_of(world, 0, &found));
    assert_int_equal(found, 0);
    assert_ok(job_close(&job));
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(ranks_are_translated_there_and_back),
        cmocka_unit_test(both_arrays_may_be_one),
        cmocka_unit_test(communicators_are_compared_by_members_and_ranks),
        cmocka_unit_test(other_contexts_have_other_ranks),
        cmocka_unit_test(wrong_arguments_are_named),
    };

    return cmocka_run_group_tests_name("comm_ranks", tests, NULL, NULL);
}
