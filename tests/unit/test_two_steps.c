/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Alltoallv with a first step that tells the counts: sparse counts that only
 * their own ranks know, in every form and place; the first step of persistent
 * requests; errors in either step and between them.
 *
 *   test_two_steps [ucx]: only the tests without errors, over UCX
 */
#include "test.h"

#include <stdlib.h>
#include <string.h>

#include "calls.h"
#include "core/base/random.h"
#include "core/run/detect/poll.h"

enum { MOST = 17, STARTS = 3, MOST_TURNS = 100000, CANARY = 0x5A };
static struct job_options network = {.seed = 1};
#define DEADLINE_NS INT64_C(1000000000)

/* ---- Exchanges ----------------------------------------------------------- */

struct exchange {
    struct job *job;
    int p;
    bool in_place;
    rcx_datatype_t type[MOST]; /* of 4 bytes */
    size_t counts[MOST][MOST]; /* [from][to] */
    size_t sent[MOST][MOST], sent_at[MOST][MOST], sent_end[MOST];
    size_t gotten[MOST][MOST], gotten_at[MOST][MOST], gotten_end[MOST];
    uint32_t *in[MOST], *out[MOST];
    rcx_request_t *requests[MOST];
};

/* A third is empty, as are blocks among multiples of 4; a fifth may be long. */
static void draw_counts(struct exchange *e, uint64_t seed, size_t most)
{
    for (int i = 0; i < e->p; i++)
        for (int j = 0; j < e->p; j++) {
            const uint64_t r = rcx_random(&seed);
            const bool is_none = r % 3 == 0 || (i % 4 == 0 && j % 4 == 0);

            e->counts[i][j] = is_none ? 0 : (r >> 8) % (r % 5 ? 4 : most);
            if (e->in_place && j < i)
                e->counts[i][j] = e->counts[j][i];
        }
}

/* Place the blocks from the last to the first one, with gaps. */
static size_t lay_out(const struct exchange *e, const size_t counts[],
                      size_t starts[])
{
    size_t at = 1;

    for (int i = e->p - 1; i >= 0; i--) {
        starts[i] = at;
        at += counts[i] + 1;
    }
    return at;
}

static void open_exchange(struct exchange *e, struct job *job, uint64_t seed,
                          size_t most, bool in_place)
{
    *e = (struct exchange){.job = job, .p = job->size, .in_place = in_place};
    draw_counts(e, seed, most);
    for (int r = 0; r < e->p; r++) {
        for (int i = 0; i < e->p; i++) {
            e->sent[r][i] = e->counts[r][i];
            e->gotten[r][i] = e->counts[i][r];
        }
        e->type[r] = RCX_UINT32;
        e->sent_end[r] = lay_out(e, e->sent[r], e->sent_at[r]);
        e->gotten_end[r] = lay_out(e, e->gotten[r], e->gotten_at[r]);
        e->out[r] = malloc(e->gotten_end[r] * sizeof(uint32_t));
        e->in[r] =
            in_place ? e->out[r] : malloc(e->sent_end[r] * sizeof(uint32_t));
    }
}

/* All blocks have count elements. */
static void open_equal(struct exchange *e, struct job *job, size_t count)
{
    open_exchange(e, job, 0, 1, false);
    for (int r = 0; r < e->p; r++) {
        for (int i = 0; i < e->p; i++)
            e->sent[r][i] = e->gotten[r][i] = count;
        e->sent_end[r] = lay_out(e, e->sent[r], e->sent_at[r]);
        e->gotten_end[r] = lay_out(e, e->gotten[r], e->gotten_at[r]);
        e->in[r] = realloc(e->in[r], e->sent_end[r] * sizeof(uint32_t));
        e->out[r] = realloc(e->out[r], e->gotten_end[r] * sizeof(uint32_t));
    }
}

static void close_exchange(struct exchange *e)
{
    for (int r = 0; r < e->p; r++) {
        if (e->requests[r])
            assert_ok(rcx_request_free(&e->requests[r]));
        if (!e->in_place)
            free(e->in[r]);
        free(e->out[r]);
    }
}

static uint32_t element(int from, int to, size_t k, uint32_t salt)
{
    return (uint32_t)(from << 24 | to << 16) + (uint32_t)k * 7 + salt;
}

static void fill(struct exchange *e, uint32_t salt)
{
    for (int r = 0; r < e->p; r++) {
        memset(e->out[r], CANARY, e->gotten_end[r] * sizeof(uint32_t));
        for (int i = 0; i < e->p; i++)
            for (size_t k = 0; k < e->sent[r][i]; k++)
                e->in[r][e->sent_at[r][i] + k] = element(r, i, k, salt);
    }
}

static void check_rank(const struct exchange *e, int r, uint32_t salt)
{
    uint32_t *expected = malloc(e->gotten_end[r] * sizeof *expected);

    memset(expected, CANARY, e->gotten_end[r] * sizeof *expected);
    for (int i = 0; i < e->p; i++)
        for (size_t k = 0; k < e->gotten[r][i]; k++)
            expected[e->gotten_at[r][i] + k] = element(i, r, k, salt);
    assert_memory_equal(e->out[r], expected,
                        e->gotten_end[r] * sizeof *expected);
    free(expected);
}

static rcx_status_t make(struct exchange *e, int r, bool persistent)
{
    const void *in = e->in_place ? RCX_IN_PLACE : e->in[r];

    return (persistent ? rcx_alltoallv_init : rcx_ialltoallv)(
        in, e->sent[r], e->sent_at[r], e->out[r], e->gotten[r], e->gotten_at[r],
        e->type[r], world_of(e->job, r), &e->requests[r]);
}

static void make_all(struct exchange *e, bool persistent)
{
    for (int r = 0; r < e->p; r++)
        assert_ok(make(e, r, persistent));
}

static void start_all(struct exchange *e)
{
    for (int r = 0; r < e->p; r++)
        assert_ok(rcx_start(e->requests[r]));
}

static void wait_all(struct exchange *e, uint32_t salt)
{
    assert_ok(job_wait(e->job, e->requests));
    for (int r = 0; r < e->p; r++)
        check_rank(e, r, salt);
}

/* Nonblocking requests, then persistent ones. */
static void run(struct job *job, uint64_t seed, size_t most, bool in_place)
{
    struct exchange e;

    open_exchange(&e, job, seed, most, in_place);
    fill(&e, 1);
    make_all(&e, false);
    wait_all(&e, 1);
    for (int r = 0; r < e.p; r++)
        assert_ok(rcx_request_free(&e.requests[r]));
    make_all(&e, true);
    for (uint32_t i = 2; i < 2 + STARTS; i++) {
        fill(&e, i);
        start_all(&e);
        wait_all(&e, i);
    }
    close_exchange(&e);
}

static void sparse_counts_need_not_be_known_to_other_ranks(void **state)
{
    static const char *const methods[] = {
        "bruck", "bruck:limit=0", "bruck:limit=20", "bruck:radix=3,limit=1G"};
    static const int sizes[] = {1, 2, 3, 4, 5, 7, 8, 9, 16, 17};

    (void)state;
    for (size_t m = 0; m < sizeof methods / sizeof *methods; m++)
        for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
            struct job job;

            setenv("RCX_CHECK", i % 2 ? "full" : "cheap", 1);
            setenv("RCX_PLAN_CACHE", i % 3 ? "1M" : "0", 1);
            open_with(&job, sizes[i], "RCX_ALLTOALLV", methods[m], &network);
            unsetenv("RCX_CHECK");
            unsetenv("RCX_PLAN_CACHE");
            for (uint64_t seed = 0; seed < 6; seed++)
                run(&job, seed, 900, seed % 2);
            assert_ok(job_close(&job));
        }
}

/* ---- Blocking ------------------------------------------------------------ */

static void call_blocking(struct job *job, int r, void *arg)
{
    struct exchange *e = arg;

    for (int i = 0; i < 50; i++)
        require_ok(rcx_alltoallv(e->in[r], e->sent[r], e->sent_at[r], e->out[r],
                                 e->gotten[r], e->gotten_at[r], RCX_UINT32,
                                 world_of(job, r)));
}

static void blocking_calls_take_both_steps(void **state)
{
    const struct job_options options = {
        .ucx = network.ucx, .threaded = true, .seed = 1};
    struct exchange e;
    struct job job;

    (void)state;
    open_with(&job, 4, "RCX_ALLTOALLV", "bruck", &options);
    open_exchange(&e, &job, 5, 700, false);
    fill(&e, 9);
    job_each(&job, call_blocking, &e);
    for (int r = 0; r < e.p; r++)
        check_rank(&e, r, 9);
    close_exchange(&e);
    assert_ok(job_close(&job));
}

/* ---- Number of messages and allocations ---------------------------------- */

static uint64_t messages_of(struct exchange *e, bool persistent)
{
    const uint64_t before = rcx_sim_delivered(e->job->sim);

    fill(e, 3);
    if (persistent)
        start_all(e);
    else
        make_all(e, false);
    wait_all(e, 3);
    return rcx_sim_delivered(e->job->sim) - before;
}

/* With radix 2, each of 5 ranks sends 3 messages in each of the two steps, none
 * of them empty. */
static void a_persistent_request_takes_the_first_step_once(void **state)
{
    struct exchange e;
    struct job job;

    (void)state;
    open_with(&job, 5, "RCX_ALLTOALLV", "bruck", NULL);
    open_equal(&e, &job, 1);
    make_all(&e, true);
    assert_int_equal(messages_of(&e, true), 2 * 5 * 3);
    assert_int_equal(messages_of(&e, true), 5 * 3);
    assert_int_equal(messages_of(&e, true), 5 * 3);
    for (int i = 0; i < 2; i++) {
        for (int r = 0; r < 5; r++)
            assert_ok(rcx_request_free(&e.requests[r]));
        assert_int_equal(messages_of(&e, false), 2 * 5 * 3);
    }
    close_exchange(&e);
    assert_ok(job_close(&job));
}

static void a_call_like_an_earlier_one_allocates_nothing(void **state)
{
    struct exchange e;
    uint64_t calls[MOST];
    struct job job;

    (void)state;
    open_with(&job, 6, "RCX_ALLTOALLV", "bruck", NULL);
    open_exchange(&e, &job, 2, 3000, false);
    for (int i = 0; i < 4; i++) {
        for (int r = 0; r < e.p; r++)
            calls[r] = job.contexts[r]->heap.calls;
        messages_of(&e, false);
        for (int r = 0; r < e.p; r++) {
            assert_ok(rcx_request_free(&e.requests[r]));
            assert_int_equal(i > 0 && calls[r] != job.contexts[r]->heap.calls,
                             0);
        }
    }
    close_exchange(&e);
    assert_ok(job_close(&job));
}

/* Numbers 1 to 4 have 5 bits set in total: each rank receives 5 blocks in
 * transit, and sends as many. Their scratch is limited. */
static void long_blocks_take_no_scratch_of_those_on_their_way(void **state)
{
    enum { LIMIT = 64, PASSING = 5, LONG = 100000 };
    struct exchange e;
    struct job job;

    (void)state;
    open_with(&job, 5, "RCX_ALLTOALLV", "bruck:limit=64", NULL);
    for (uint64_t seed = 0; seed < 20; seed++) {
        open_exchange(&e, &job, seed, LONG, false);
        messages_of(&e, false);
        for (int r = 0; r < e.p; r++) {
            const struct rcx_program *program = e.requests[r]->program;

            assert_int_equal(program->passing, PASSING);
            assert_true(program->pieces[0].pool.scratch_bytes <=
                        2 * PASSING * LIMIT);
        }
        close_exchange(&e);
    }
    assert_ok(job_close(&job));
}

/* ---- Errors -------------------------------------------------------------- */

static struct lines said[MOST];

/* Whether all ranks complete, except for rank but (-1: no exception). */
static bool ends(struct exchange *e, int but)
{
    for (int turn = 0; turn < MOST_TURNS; turn++) {
        int active = 0;

        for (int r = 0; r < e->p; r++) {
            if (r == but)
                continue;
            if (turn % 100 == 99) {
                e->job->contexts[r]->time.skipped_ns += DEADLINE_NS / 5;
                rcx_detector_poll(e->job->contexts[r]);
            }
            rcx_progress(e->job->contexts[r]);
            active +=
                e->requests[r] && e->requests[r]->state == RCX_REQUEST_ACTIVE;
        }
        if (active == 0)
            return true;
    }
    return false;
}

static void abandon(struct exchange *e)
{
    struct job *job = e->job;

    for (int r = 0; r < e->p; r++) {
        job->contexts[r]->heap.budget = UINT64_MAX;
        assert_ok(rcx_comm_abort(world_of(job, r)));
        if (e->requests[r])
            assert_ok(rcx_request_free(&e->requests[r]));
    }
    job_abandon(job);
    close_exchange(e);
}

/* No rank can complete without rank 1, which finds the mismatch and stops. */
static void counts_that_do_not_match_are_an_error_on_all_ranks(void **state)
{
    struct exchange e;
    struct job job;
    rcx_error_info_t info;

    (void)state;
    for (int p = 2; p <= 5; p++) {
        open_with(&job, p, "RCX_ALLTOALLV", "bruck", NULL);
        job_listen(&job, said);
        open_equal(&e, &job, 1);
        fill(&e, 1);
        e.sent[0][1] = 3;
        e.gotten[1][0] = 2;
        e.in[0] = realloc(e.in[0], (e.sent_end[0] + 3) * sizeof(uint32_t));
        e.out[1] = realloc(e.out[1], (e.gotten_end[1] + 3) * sizeof(uint32_t));
        e.sent_at[0][1] = e.sent_end[0];
        e.gotten_at[1][0] = e.gotten_end[1];
        make_all(&e, false);
        assert_true(ends(&e, -1));
        for (int r = 0; r < p; r++) {
            assert_true(e.requests[r]->status != RCX_OK);
            assert_ok(rcx_comm_error(world_of(&job, r), &info));
            assert_status(info.status, RCX_ERR_MISMATCH);
            assert_int_equal(info.rank_count, 1);
            assert_int_equal(info.ranks[0], 0);
        }
        if (!strstr(said[1].error, "alltoallv of ") ||
            !strstr(said[1].error, "rank 0 sends 3 elements to rank 1, where "
                                   "recvcounts[0] is 2"))
            fail_msg("said \"%s\"", said[1].error);
        abandon(&e);
    }
}

/* Rank 1 has another radix, as if it had made another call with an equal tag.
 * Messages of unexpected lengths must be detected. */
static void a_first_step_that_fails_ends_the_call(void **state)
{
    (void)state;
    for (int p = 4; p <= 8; p++) {
        struct exchange e;
        struct job job;
        bool is_found = false;

        open_with(&job, p, "RCX_ALLTOALLV", "bruck", NULL);
        job_listen(&job, said);
        job.contexts[1]->config.spec[RCX_COLL_ALLTOALLV].params[0] = 4;
        open_equal(&e, &job, 1);
        fill(&e, 1);
        for (int r = 0; r < p; r++)
            assert_ok(rcx_comm_set_timeout(world_of(&job, r), DEADLINE_NS));
        make_all(&e, false);
        assert_true(ends(&e, -1));
        for (int r = 0; r < p; r++) {
            assert_true(e.requests[r]->status != RCX_OK);
            is_found |= e.requests[r]->status == RCX_ERR_MISMATCH;
        }
        assert_true(is_found);
        abandon(&e);
    }
}

/* Once its request is started, rank 1 has memory for budget allocations. */
static bool run_short(uint64_t budget)
{
    struct exchange e;
    struct job job;
    bool good = true;

    open_with(&job, 5, "RCX_ALLTOALLV", "bruck:limit=100", NULL);
    job_listen(&job, said);
    open_exchange(&e, &job, 4, 4000, false);
    fill(&e, 1);
    make_all(&e, false);
    job.contexts[1]->heap.budget = budget;
    assert_true(ends(&e, -1));
    for (int r = 0; r < e.p; r++)
        good &= e.requests[r]->status == RCX_OK;
    for (int r = 0; r < e.p; r++) {
        if (good)
            check_rank(&e, r, 1);
        else
            assert_true(e.requests[r]->status != RCX_OK);
    }
    if (!good)
        assert_status(e.requests[1]->status, RCX_ERR_NOMEM);
    abandon(&e);
    return good;
}

static void
memory_that_runs_out_between_the_steps_fails_on_all_ranks(void **state)
{
    uint64_t budget = 0;

    (void)state;
    while (!run_short(budget))
        budget++;
    assert_true(budget > 5);
}

/* The blocks are long enough for acks, so all ranks wait for each other. */
static void a_rank_that_stops_between_the_steps_fails_all(void **state)
{
    (void)state;
    for (int victim = 0; victim < 4; victim++) {
        struct exchange e;
        struct job job;

        open_with(&job, 4, "RCX_ALLTOALLV", "bruck:limit=1G", NULL);
        job_listen(&job, said);
        open_equal(&e, &job, 1000);
        fill(&e, 1);
        for (int r = 0; r < 4; r++)
            assert_ok(rcx_comm_set_timeout(world_of(&job, r), DEADLINE_NS));
        make_all(&e, false);
        assert_true(e.requests[victim]->program->has_first_step);
        while (e.requests[victim]->program->has_first_step)
            for (int r = 0; r < 4; r++)
                if (r != victim || e.requests[r]->program->has_first_step)
                    rcx_context_poll(job.contexts[r]); /* a single poll */
        assert_true(ends(&e, victim));
        for (int r = 0; r < 4; r++)
            if (r != victim)
                assert_true(e.requests[r]->status != RCX_OK);
        abandon(&e);
    }
}

/* ---- RCX_CHECK=full ------------------------------------------------------ */

static void a_start_that_is_refused_takes_both_steps_later(void **state)
{
    static uint32_t in[MOST], out[MOST];
    rcx_request_t *other;
    struct exchange e;
    struct job job;

    (void)state;
    setenv("RCX_CHECK", "full", 1);
    open_with(&job, 5, "RCX_ALLTOALLV", "bruck", NULL);
    unsetenv("RCX_CHECK");
    job_listen(&job, said);
    open_exchange(&e, &job, 6, 50, false);
    make_all(&e, true);
    for (int start = 0; start < 4; start++) {
        const bool is_special = start % 2 == 0;

        fill(&e, 1);
        for (int r = 0; r < e.p - is_special; r++)
            assert_ok(rcx_start(e.requests[r]));
        if (is_special)
            assert_ok(rcx_ialltoall(in, out, 1, RCX_UINT32,
                                    world_of(&job, e.p - 1), &other));
        while (is_special && other->state == RCX_REQUEST_ACTIVE)
            for (int r = 0; r < e.p; r++)
                rcx_progress(job.contexts[r]);
        if (!is_special) {
            wait_all(&e, 1);
            continue;
        }
        assert_status(job_wait(&job, e.requests), RCX_ERR_MISMATCH);
        assert_status(other->status, RCX_ERR_MISMATCH);
        assert_ok(rcx_request_free(&other));
        assert_non_null(strstr(said[0].error, "alltoallv"));
    }
    close_exchange(&e);
    assert_ok(job_close(&job));
}

/* ---- Types --------------------------------------------------------------- */

static void a_type_may_be_freed_while_the_first_step_is_under_way(void **state)
{
    struct exchange e;
    struct job job;

    (void)state;
    open_with(&job, 5, "RCX_ALLTOALLV", "bruck", NULL);
    open_exchange(&e, &job, 7, 300, false);
    fill(&e, 1);
    for (int r = 0; r < e.p; r++)
        assert_ok(
            rcx_type_create(job.contexts[r], sizeof(uint32_t), &e.type[r]));
    make_all(&e, false);
    for (int r = 0; r < e.p; r++) {
        assert_true(e.requests[r]->program->has_first_step);
        assert_ok(rcx_type_free(job.contexts[r], &e.type[r]));
    }
    wait_all(&e, 1);
    for (int r = 0; r < e.p; r++) /* not found by later calls */
        assert_int_equal(e.requests[r]->program->call.type, 0);
    close_exchange(&e);
    assert_ok(job_close(&job));
}

int main(int argc, char **argv)
{
    static const struct CMUnitTest over_ucx[] = {
        cmocka_unit_test(sparse_counts_need_not_be_known_to_other_ranks),
        cmocka_unit_test(blocking_calls_take_both_steps),
    };
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(sparse_counts_need_not_be_known_to_other_ranks),
        cmocka_unit_test(blocking_calls_take_both_steps),
        cmocka_unit_test(a_persistent_request_takes_the_first_step_once),
        cmocka_unit_test(a_call_like_an_earlier_one_allocates_nothing),
        cmocka_unit_test(long_blocks_take_no_scratch_of_those_on_their_way),
        cmocka_unit_test(counts_that_do_not_match_are_an_error_on_all_ranks),
        cmocka_unit_test(a_first_step_that_fails_ends_the_call),
        cmocka_unit_test(
            memory_that_runs_out_between_the_steps_fails_on_all_ranks),
        cmocka_unit_test(a_rank_that_stops_between_the_steps_fails_all),
        cmocka_unit_test(a_start_that_is_refused_takes_both_steps_later),
        cmocka_unit_test(a_type_may_be_freed_while_the_first_step_is_under_way),
    };

    network.ucx = argc > 1 && strcmp(argv[1], "ucx") == 0;
    if (network.ucx)
        return cmocka_run_group_tests_name("two_steps", over_ucx, NULL, NULL);
    return cmocka_run_group_tests_name("two_steps", tests, NULL, NULL);
}
