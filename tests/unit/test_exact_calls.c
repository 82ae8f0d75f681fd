/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Calls of RCX_SUM_EXACT and RCX_AVG_EXACT over the simulated network, with all
 * operands of an element at one rank and in stages: chunks, persistent
 * requests, several calls at once, and what happens if a rank stops, lacks
 * memory or makes another call between the stages.
 */
#include "test.h"

#include <stdlib.h>
#include <string.h>

#include "calls.h"
#include "core/run/detect/poll.h"
#include "core/run/request/exact_stages.h"

enum { SIZE = 4, TURNS_MOST = 1000000 };
#define DEADLINE_NS INT64_C(1000000000)

static const struct kind floats = {.type = RCX_FLOAT32, .op = RCX_SUM_EXACT};
static const struct kind doubles = {.type = RCX_FLOAT64, .op = RCX_SUM_EXACT};

static const struct kind average = {.type = RCX_FLOAT32, .op = RCX_AVG_EXACT};
static const struct kind averages = {.type = RCX_FLOAT64, .op = RCX_AVG_EXACT};

/* Algorithms that combine parts of the operands: calls have stages. */
static const char *const forced[][2] = {{"RCX_ALLREDUCE", "ring"},
                                        {"RCX_REDUCE", "binomial"},
                                        {"RCX_REDUCE_SCATTER", "ring"},
                                        {"RCX_SCAN", "linear"}};
enum { FORCED = sizeof forced / sizeof *forced };

static void open_forced(struct job *job, int size)
{
    for (int i = 0; i < FORCED; i++)
        setenv(forced[i][0], forced[i][1], 1);
    open_with(job, size, NULL, NULL, NULL);
    for (int i = 0; i < FORCED; i++)
        unsetenv(forced[i][0]);
}

/* Calls fail after the deadline, and nothing is printed. */
static void open_quiet(struct job *job, const char *name, const char *value)
{
    open_with(job, SIZE, name, value, NULL);
    job_hush(job);
    for (int r = 0; r < SIZE; r++)
        assert_ok(rcx_comm_set_timeout(world_of(job, r), DEADLINE_NS));
}

static struct call call_of(enum collective coll, size_t count)
{
    return (struct call){.coll = coll,
                         .form = NONBLOCKING,
                         .place = MIXED,
                         .kind = count % 2 ? &floats : &doubles,
                         .count = count,
                         .root = 1,
                         .seed = count};
}

/* The longer ones on few ranks, as their truth is slow. */
static void check_all_collectives(struct job *job, bool persistent)
{
    static const size_t counts[] = {1, 0, 4, 1025, 2600};
    const int lengths = job->size <= 5 ? 5 : 3;

    for (int i = 0; i < COLLECTIVES * lengths; i++) {
        struct call call = call_of(i / lengths, counts[i % lengths]);

        call.root = job->size - 1;
        if (!collectives[call.coll].reduces)
            continue;
        calls_run(job, &call, persistent);
        call.kind = i % 2 ? &average : &averages;
        if (i % lengths < 3 && collective_takes(call.coll, RCX_AVG_EXACT))
            calls_run(job, &call, !persistent);
    }
}

static void every_collective_sums_on_any_number_of_ranks(void **state)
{
    (void)state;
    for (int p = 1; p <= 17; p++) {
        struct job job;

        open_with(&job, p, NULL, NULL, NULL);
        check_all_collectives(&job, p % 2);
        assert_ok(job_close(&job));
    }
}

static void every_collective_sums_in_stages(void **state)
{
    (void)state;
    for (int p = 1; p <= 17; p++) {
        struct job job;

        open_forced(&job, p);
        check_all_collectives(&job, p % 2);
        assert_ok(job_close(&job));
    }
}

/* 64 operands are combined at once, more in stages. */
static void calls_of_many_ranks_sum(void **state)
{
    (void)state;
    for (int p = 63; p <= 65; p++) {
        const struct call call =
            call_of(p % 2 ? ALLREDUCE : REDUCE_SCATTER, 65);
        struct job job;

        open_with(&job, p, NULL, NULL, NULL);
        calls_run(&job, &call, false);
        assert_int_equal(world_of(&job, 0)->cache->recent->call.role,
                         p > 64 ? RCX_CALL_NUMBERS : RCX_CALL_USERS);
        assert_ok(job_close(&job));
    }
}

/* Longer than other ops combine at once: they would combine parts of such data
 * as it arrives. */
static void long_vectors_are_combined_at_once(void **state)
{
    static const char *const methods[] = {"direct:segment=0",
                                          "pairwise:segment=0"};

    (void)state;
    for (int i = 0; i < 2; i++) {
        const struct call call =
            call_of(ALLREDUCE, i == 0 ? 33001 : 3 * 16500 + 1);
        struct job job;

        open_with(&job, 3, "RCX_ALLREDUCE", methods[i], NULL);
        calls_run(&job, &call, false);
        assert_ok(job_close(&job));
    }
}

static void chunks_of_a_call_run_one_after_another(void **state)
{
    const size_t counts[] = {RCX_EXACT_CHUNK, RCX_EXACT_CHUNK + 1,
                             2 * RCX_EXACT_CHUNK + 4};
    struct job job;

    (void)state;
    open_forced(&job, 3);
    for (int i = 0; i < 3; i++)
        for (int persistent = 0; persistent < 2; persistent++) {
            const struct call call =
                call_of(persistent ? REDUCE_SCATTER : ALLREDUCE, counts[i]);

            calls_run(&job, &call, persistent);
        }
    assert_ok(job_close(&job));
}

/* Segments that users force are the chunks. */
static void chunks_are_as_long_as_segments(void **state)
{
    static const struct {
        const char *method;
        uint64_t chunks;
    } cases[] = {{"ring:segment=512", 8}, /* of 128 floats */
                 {"ring:segment=0", 1},
                 {"ring:segment=1M", 1},
                 {"ring", 1},
                 {"direct:segment=512", 0}}; /* no stages: 8 segments */
    const struct call call = call_of(ALLREDUCE, 1001);

    (void)state;
    for (int i = 0; i < 5; i++) {
        struct calls c;
        struct job job;

        open_with(&job, 3, "RCX_ALLREDUCE", cases[i].method, NULL);
        calls_open(&c, &job, &call);
        calls_make(&c, true);
        calls_start(&c);
        calls_wait(&c, RCX_OK);
        calls_check(&c);
        assert_int_equal(c.requests[0]->total,
                         cases[i].chunks ? 2 * cases[i].chunks : 8);
        calls_close(&c);
        assert_ok(job_close(&job));
    }
}

/* Numbers of the sequence are those of all stages. */
static void check_several_calls(const char *algo)
{
    enum { CALLS = 6 };
    const struct rcx_tag_layout *const layout = &RCX_TAG_LAYOUT;
    const struct job_options options = {.layout = layout, .seed = 3};
    struct calls c[CALLS];
    struct job job;

    open_with(&job, SIZE, "RCX_ALLREDUCE", algo, &options);
    for (int i = 0; i < CALLS; i++) {
        struct call call = call_of(i % 3 ? SCAN : ALLREDUCE,
                                   i == 2 ? 40000 : (size_t)(100 * i + i % 2));

        if (i % 3 == 1)
            call.kind = &sums;
        calls_open(&c[i], &job, &call);
        calls_make(&c[i], false);
    }
    for (int i = CALLS - 1; i >= 0; i--) {
        calls_wait(&c[i], RCX_OK);
        calls_check(&c[i]);
        calls_close(&c[i]);
    }
    assert_ok(job_close(&job));
}

static void several_calls_may_be_under_way(void **state)
{
    (void)state;
    check_several_calls("ring");
    check_several_calls("auto");
}

/* ---- Errors -------------------------------------------------------------- */

static bool is_active(const struct calls *c, int rank)
{
    return c->requests[rank]->state == RCX_REQUEST_ACTIVE;
}

/* Whether all ranks but one complete; -1: all. */
static bool ends(struct calls *c, int but)
{
    for (int turn = 0; turn < TURNS_MOST; turn++) {
        int active = 0;

        for (int r = 0; r < c->job->size; r++) {
            if (r == but)
                continue;
            rcx_progress(c->job->contexts[r]);
            active += is_active(c, r);
        }
        if (active == 0)
            return true;
    }
    return false;
}

static void abandon(struct calls *c)
{
    for (int r = 0; r < c->job->size; r++)
        mark_failed(world_of(c->job, r));
    calls_close(c);
    job_abandon(c->job);
}

/* Run until the victim is in that stage, which the others continue without it.
 * False: the call was over before. */
static bool stop_in(struct job *job, int victim, uint64_t segment)
{
    const struct call call = call_of(ALLREDUCE, RCX_EXACT_CHUNK + 600);
    struct calls c;

    calls_open(&c, job, &call);
    calls_make(&c, false);
    while (is_active(&c, victim) && c.requests[victim]->finished < segment)
        for (int r = 0; r < SIZE; r++)
            rcx_context_poll(job->contexts[r]);
    if (!is_active(&c, victim)) {
        calls_wait(&c, RCX_OK);
        calls_close(&c);
        return false;
    }
    assert_true(ends(&c, victim));
    for (int r = 0; r < SIZE; r++)
        if (r != victim)
            assert_true(c.requests[r]->status != RCX_OK);
    assert_true(ends(&c, -1)); /* it is told */
    abandon(&c);
    return true;
}

static void a_rank_that_stops_in_any_stage_fails_all(void **state)
{
    uint64_t stages = 0;

    (void)state;
    for (int victim = 0; victim < SIZE; victim++) {
        struct job job;

        stages = 0;
        for (;;) {
            open_quiet(&job, "RCX_ALLREDUCE", "ring");
            if (!stop_in(&job, victim, stages))
                break;
            stages++;
        }
        assert_ok(job_close(&job));
        assert_true(stages >= 3); /* two chunks of two stages */
    }
}

/* Once its call is started, rank 1 has memory for budget allocations. */
static bool run_short(uint64_t budget)
{
    const struct call call = call_of(ALLREDUCE, 5001);
    struct calls c;
    struct job job;
    bool good = true;

    open_quiet(&job, "RCX_ALLREDUCE", "ring");
    calls_open(&c, &job, &call);
    calls_make(&c, false);
    job.contexts[1]->heap.budget = budget;
    assert_true(ends(&c, -1));
    for (int r = 0; r < SIZE; r++)
        good &= c.requests[r]->status == RCX_OK;
    if (good)
        calls_check(&c);
    else
        assert_status(c.requests[1]->status, RCX_ERR_NOMEM);
    for (int r = 0; r < SIZE && !good; r++)
        assert_true(c.requests[r]->status != RCX_OK);
    job.contexts[1]->heap.budget = UINT64_MAX;
    abandon(&c);
    return good;
}

static void memory_that_runs_out_between_stages_fails_on_all_ranks(void **state)
{
    uint64_t budget = 0;

    (void)state;
    while (!run_short(budget))
        budget++;
    assert_true(budget > 2);
}

/* Stages of both calls have equal lengths: the tag tells them apart. */
static void check_other_counts(const char *algo)
{
    struct calls c, other;
    struct job job;
    struct call call;

    open_quiet(&job, "RCX_ALLREDUCE", algo);
    call = call_of(ALLREDUCE, 1000);
    calls_open(&c, &job, &call);
    call = call_of(ALLREDUCE, 998);
    calls_open(&other, &job, &call);
    for (int r = 0; r < SIZE; r++)
        assert_ok(calls_make_one(r == 2 ? &other : &c, r, false));
    c.requests[2] = other.requests[2];
    assert_true(ends(&c, -1));
    for (int r = 0; r < SIZE; r++)
        assert_true(c.requests[r]->status != RCX_OK);
    c.requests[2] = NULL;
    for (int r = 0; r < SIZE; r++)
        mark_failed(world_of(&job, r));
    calls_close(&other);
    calls_close(&c);
    job_abandon(&job);
}

static void calls_of_other_counts_do_not_match(void **state)
{
    (void)state;
    check_other_counts("ring");
    check_other_counts("auto");
}

static void a_call_that_is_refused_may_be_started_again(void **state)
{
    static int64_t in, out;
    struct calls c;
    struct job job;
    struct call call;
    rcx_request_t *others[SIZE];

    (void)state;
    open_quiet(&job, "RCX_CHECK", "full");
    call = call_of(ALLREDUCE, 40000);
    calls_open(&c, &job, &call);
    calls_make(&c, true);
    for (int start = 0; start < 4; start++) {
        const bool is_refused = start % 2;

        calls_fill(&c);
        for (int r = 0; r < SIZE - is_refused; r++)
            assert_ok(rcx_start(others[r] = c.requests[r]));
        if (is_refused)
            assert_ok(rcx_iallreduce(&in, &out, 1, RCX_INT64, RCX_SUM,
                                     world_of(&job, SIZE - 1),
                                     &others[SIZE - 1]));
        assert_status(job_wait(&job, others),
                      is_refused ? RCX_ERR_MISMATCH : RCX_OK);
        if (is_refused)
            assert_ok(rcx_request_free(&others[SIZE - 1]));
        else
            calls_check(&c);
    }
    calls_close(&c);
    assert_ok(job_close(&job));
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_collective_sums_on_any_number_of_ranks),
        cmocka_unit_test(every_collective_sums_in_stages),
        cmocka_unit_test(calls_of_many_ranks_sum),
        cmocka_unit_test(long_vectors_are_combined_at_once),
        cmocka_unit_test(chunks_of_a_call_run_one_after_another),
        cmocka_unit_test(chunks_are_as_long_as_segments),
        cmocka_unit_test(several_calls_may_be_under_way),
        cmocka_unit_test(a_rank_that_stops_in_any_stage_fails_all),
        cmocka_unit_test(
            memory_that_runs_out_between_stages_fails_on_all_ranks),
        cmocka_unit_test(calls_of_other_counts_do_not_match),
        cmocka_unit_test(a_call_that_is_refused_may_be_started_again),
    };

    return cmocka_run_group_tests_name("exact_calls", tests, NULL, NULL);
}
