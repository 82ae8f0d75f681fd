/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A call that resembles the previous one takes a shortcut (rcx_call_repeat). It
 * must have the same status, program and buffers as with all checks, whatever
 * its arguments are.
 */
#include "test.h"

#include "calls.h"
#include "core/api/collective.h"
#include "members.h"

enum { RANKS = 3, SEEDS = 40, CALLS = 60, MOST = 4 };

static struct job job;
static uint64_t draws;
static char memory[8 * RANKS * MOST * sizeof(int64_t)];

static int set_up(void **state)
{
    static rcx_params_t params = {.field_mask = RCX_PARAM_LOG,
                                  .log = lines_discard};
    const struct job_options options = {.params = &params};

    (void)state;
    open_with(&job, RANKS, NULL, NULL, &options);
    draws = 1;
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    assert_ok(job_close(&job));
    return 0;
}

static int draw(int n)
{
    return members_draw(&draws, n);
}

/* Draw a buffer, mostly one that does not overlap others. */
static void *draw_buffer(void)
{
    switch (draw(10)) {
    case 0: return NULL;
    case 1: return RCX_IN_PLACE;
    case 2: return memory + draw(sizeof memory / 2);
    default: return memory + sizeof memory / 8 * (size_t)draw(4);
    }
}

static rcx_op_t op_of(enum rcx_coll coll)
{
    if (coll == RCX_COLL_BARRIER)
        return RCX_BOR;
    return rcx_colls[coll].reduces ? RCX_SUM : RCX_NO_OP;
}

static rcx_op_t draw_op(enum rcx_coll coll)
{
    return rcx_colls[coll].reduces && draw(8) == 0 ? RCX_MAX : op_of(coll);
}

/* Draw a count, which may overflow. */
static size_t draw_count(enum rcx_coll coll)
{
    if (!rcx_coll_has_data(coll))
        return 0;
    return draw(6) ? (size_t)draw(MOST + 1) : SIZE_MAX / 4;
}

static struct rcx_arguments draw_call(enum rcx_coll coll, int rank)
{
    const bool is_rooted = rcx_coll_is_rooted(coll);
    struct rcx_arguments a = {
        .coll = coll,
        .sendbuf = draw_buffer(),
        .recvbuf = draw_buffer(),
        .count = draw_count(coll),
        .type = draw(8) ? RCX_INT64 : (rcx_datatype_t)(draw(2) * 12345),
        .op = draw_op(coll),
        .root = is_rooted ? draw(6) ? draw(2) : draw(RANKS + 2) - 1 : 0,
        .comm = world_of(&job, rank)};

    if (coll == RCX_COLL_BCAST || (is_rooted && draw(8) == 0))
        a.recvbuf = (void *)a.sendbuf;
    return a;
}

struct answer {
    rcx_status_t status;
    const struct rcx_program *program;
    struct rcx_buffers buffers;
};

static struct answer unpin(const struct rcx_arguments *a, struct answer answer,
                           struct rcx_program *program)
{
    if (answer.status == RCX_OK)
        rcx_program_unpin(a->comm->cache, program);
    answer.program = program;
    return answer;
}

static struct answer ask(const struct rcx_arguments *a)
{
    struct rcx_program *program = NULL;
    struct answer answer = {.status =
                                rcx_call_look_up(a, &answer.buffers, &program)};

    return unpin(a, answer, program);
}

static struct answer repeat(const struct rcx_arguments *a)
{
    struct rcx_program *program = NULL;
    struct answer answer = {.status =
                                rcx_call_resolve(a, &answer.buffers, &program)};

    return unpin(a, answer, program);
}

/* Compare next after first with next alone, checked completely. Returns whether
 * both calls have the same program. */
static bool compare(const struct rcx_arguments *first,
                    const struct rcx_arguments *next)
{
    const struct answer before = ask(first);
    const struct answer answer = repeat(next), again = repeat(next);
    const struct answer asked = ask(next);

    assert_int_equal(answer.status, asked.status);
    assert_int_equal(again.status, asked.status);
    if (asked.status != RCX_OK)
        return false;
    assert_ptr_equal(answer.program, asked.program);
    if (answer.program->gives)
        assert_ptr_equal(answer.buffers.in, asked.buffers.in);
    if (answer.program->gets)
        assert_ptr_equal(answer.buffers.out, asked.buffers.out);
    assert_ptr_equal(again.program, asked.program);
    assert_ptr_equal(again.buffers.in, answer.buffers.in);
    assert_ptr_equal(again.buffers.out, answer.buffers.out);
    return before.status == RCX_OK && before.program == asked.program;
}

/* Calls with lists take no shortcut. */
static bool has_lists(enum rcx_coll coll)
{
    return rcx_colls[coll].is_local;
}

static void a_call_has_the_same_program_after_any_other(void **state)
{
    (void)state;
    for (int k = 0; k < RCX_COLL_COUNT * RANKS; k++) {
        const enum rcx_coll coll = (enum rcx_coll)(k / RANKS);
        int repeats = 0;

        if (has_lists(coll))
            continue;
        for (int i = 0; i < SEEDS; i++) {
            const struct rcx_arguments first = draw_call(coll, k % RANKS);

            for (int j = 0; j < CALLS; j++) {
                const struct rcx_arguments next = draw_call(coll, k % RANKS);

                repeats += compare(&first, &next);
            }
        }
        assert_true(repeats > 20);
    }
}

/* A repeated call must take the shortcut. */
static void a_repeated_call_is_known_at_once(void **state)
{
    (void)state;
    for (int k = 0; k < RCX_COLL_COUNT * RANKS; k++) {
        const enum rcx_coll coll = (enum rcx_coll)(k / RANKS);
        struct rcx_arguments a = {.coll = coll,
                                  .sendbuf = memory,
                                  .recvbuf = memory + sizeof memory / 2,
                                  .count = 1,
                                  .type = RCX_INT64,
                                  .op = op_of(coll),
                                  .comm = world_of(&job, k % RANKS)};
        struct rcx_buffers b;

        if (has_lists(coll))
            continue;
        if (coll == RCX_COLL_BCAST)
            a.recvbuf = (void *)a.sendbuf;
        assert_ok(ask(&a).status);
        for (int i = 0; i < 3; i++)
            assert_ptr_equal(rcx_call_repeat(&a, &b), a.comm->cache->recent);
    }
}

static int add(void *dst, const void *left, const void *right, size_t count,
               rcx_datatype_t type, void *arg)
{
    (void)dst, (void)left, (void)right, (void)count, (void)type, (void)arg;
    return 0;
}

/* A freed op must not be found by the shortcut, as its handle may be reused. */
static void an_op_that_is_freed_repeats_nothing(void **state)
{
    struct rcx_arguments a = {.coll = RCX_COLL_ALLREDUCE,
                              .sendbuf = memory,
                              .recvbuf = memory + sizeof memory / 2,
                              .count = 1,
                              .type = RCX_INT64,
                              .comm = world_of(&job, 0)};
    struct rcx_buffers b;
    rcx_op_t op;

    (void)state;
    assert_ok(rcx_op_create(a.comm->context, add, 0, NULL, &op));
    a.op = op;
    assert_ok(ask(&a).status);
    assert_non_null(rcx_call_repeat(&a, &b));
    assert_non_null(rcx_call_repeat(&a, &b));
    assert_ok(rcx_op_free(a.comm->context, &op));
    assert_null(rcx_call_repeat(&a, &b));
    assert_int_equal(repeat(&a).status, RCX_ERR_ARG);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(
            a_call_has_the_same_program_after_any_other, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_repeated_call_is_known_at_once,
                                        set_up, tear_down),
        cmocka_unit_test_setup_teardown(an_op_that_is_freed_repeats_nothing,
                                        set_up, tear_down),
    };

    return cmocka_run_group_tests_name("repeats", tests, NULL, NULL);
}
