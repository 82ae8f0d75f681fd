/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Calls of RCX_SUM_EXACT over the simulated network: chunks, persistent
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

static void ignore(rcx_log_level_t level, const char *text, void *arg)
{
    (void)level, (void)text, (void)arg;
}

/* Calls fail after the deadline, and nothing is printed. */
static void open_quiet(struct job *job, const char *name, const char *value)
{
    open_with(job, SIZE, name, value, NULL);
    for (int r = 0; r < SIZE; r++) {
        job->contexts[r]->log.fn = ignore;
        assert_ok(rcx_comm_set_timeout(world_of(job, r), DEADLINE_NS));
    }
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

static void every_collective_sums_every_form_of_block(void **state)
{
    static const size_t counts[] = {0, 1, 4, 1025, 4096, 5001};

    (void)state;
    for (int p = 1; p <= 5; p++) {
        struct job job;

        open_with(&job, p, NULL, NULL, NULL);
        for (int i = 0; i < COLLECTIVES * 6; i++) {
            struct call call = call_of(i / 6, counts[i % 6]);

            call.root = p - 1;
            if (collectives[call.coll].reduces)
                calls_run(&job, &call, i % 2);
        }
        assert_ok(job_close(&job));
    }
}

static void chunks_of_a_call_run_one_after_another(void **state)
{
    const size_t counts[] = {RCX_EXACT_CHUNK, RCX_EXACT_CHUNK + 1,
                             2 * RCX_EXACT_CHUNK + 4};
    struct job job;

    (void)state;
    open_with(&job, 3, NULL, NULL, NULL);
    for (int i = 0; i < 3; i++)
        for (int persistent = 0; persistent < 2; persistent++) {
            const struct call call =
                call_of(persistent ? REDUCE_SCATTER : ALLREDUCE, counts[i]);

            calls_run(&job, &call, persistent);
        }
    assert_ok(job_close(&job));
}

/* Numbers of the sequence are those of all stages. */
static void several_calls_may_be_under_way(void **state)
{
    enum { CALLS = 6 };
    const struct rcx_tag_layout *const layout = &RCX_TAG_LAYOUT;
    const struct job_options options = {.layout = layout, .seed = 3};
    struct calls c[CALLS];
    struct job job;

    (void)state;
    open_with(&job, SIZE, NULL, NULL, &options);
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
            open_quiet(&job, NULL, NULL);
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

    open_quiet(&job, NULL, NULL);
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
static void calls_of_other_counts_do_not_match(void **state)
{
    struct calls c, other;
    struct job job;
    struct call call;

    (void)state;
    open_quiet(&job, NULL, NULL);
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
        cmocka_unit_test(every_collective_sums_every_form_of_block),
        cmocka_unit_test(chunks_of_a_call_run_one_after_another),
        cmocka_unit_test(several_calls_may_be_under_way),
        cmocka_unit_test(a_rank_that_stops_in_any_stage_fails_all),
        cmocka_unit_test(
            memory_that_runs_out_between_stages_fails_on_all_ranks),
        cmocka_unit_test(calls_of_other_counts_do_not_match),
        cmocka_unit_test(a_call_that_is_refused_may_be_started_again),
    };

    return cmocka_run_group_tests_name("exact_calls", tests, NULL, NULL);
}
