/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * RCX_CHECK=full (need 4): calls that differ in one thing are RCX_ERR_MISMATCH
 * on all ranks, which name it, both values and both ranks, before any data
 * moved; and calls that match are none.
 */
#include "test.h"

#include <stdlib.h>
#include <string.h>

#include "calls.h"

enum { COUNT = 24, ODD_RANK_MAX = 8 };

static char said[ODD_RANK_MAX + 1][512];

static void keep(rcx_log_level_t level, const char *text, void *arg)
{
    if (level == RCX_LOG_ERROR && !*(char *)arg)
        snprintf(arg, sizeof said[0], "%s", text);
}

static void open_checked(struct job *job, int size)
{
    open_with(job, size, "RCX_CHECK", "full", NULL);
    memset(said, 0, sizeof said);
    for (int i = 0; i < size; i++) {
        job->contexts[i]->log.fn = keep;
        job->contexts[i]->log.arg = said[i];
    }
}

/* ---- One rank calls something else ---------------------------------------- */

struct deviation {
    const char *field;
    const char *usual, *odd; /* values as they are named */
    rcx_status_t (*call)(rcx_comm_t *comm, const int64_t *in, int64_t *out,
                         rcx_request_t **request);
};

static rcx_status_t usual(rcx_comm_t *comm, const int64_t *in, int64_t *out,
                          rcx_request_t **request)
{
    return rcx_ireduce(in, out, COUNT, RCX_INT64, RCX_SUM, 1, comm, request);
}

static rcx_status_t other_count(rcx_comm_t *comm, const int64_t *in,
                                int64_t *out, rcx_request_t **request)
{
    return rcx_ireduce(in, out, COUNT - 1, RCX_INT64, RCX_SUM, 1, comm,
                       request);
}

static rcx_status_t other_type(rcx_comm_t *comm, const int64_t *in,
                               int64_t *out, rcx_request_t **request)
{
    return rcx_ireduce(in, out, COUNT, RCX_FLOAT64, RCX_SUM, 1, comm, request);
}

static rcx_status_t other_op(rcx_comm_t *comm, const int64_t *in, int64_t *out,
                             rcx_request_t **request)
{
    return rcx_ireduce(in, out, COUNT, RCX_INT64, RCX_MAX, 1, comm, request);
}

static rcx_status_t other_root(rcx_comm_t *comm, const int64_t *in,
                               int64_t *out, rcx_request_t **request)
{
    return rcx_ireduce(in, out, COUNT, RCX_INT64, RCX_SUM, 0, comm, request);
}

static rcx_status_t other_collective(rcx_comm_t *comm, const int64_t *in,
                                     int64_t *out, rcx_request_t **request)
{
    return rcx_iallreduce(in, out, COUNT, RCX_INT64, RCX_SUM, comm, request);
}

static const struct deviation deviations[] = {
    {"count", "24", "23", other_count},
    {"datatype", "int64", "float64", other_type},
    {"op", "sum", "max", other_op},
    {"root", "1", "0", other_root},
    {"the collective", "reduce", "allreduce", other_collective},
};

static void wait_for_errors(struct job *job, rcx_request_t *requests[])
{
    job_wait(job, requests);
    for (int i = 0; i < job->size; i++)
        assert_status(requests[i]->status, RCX_ERR_MISMATCH);
}

/* The odd one and any other, the lower rank first, the same on all ranks. */
static void check_blame(struct job *job, const struct deviation *d, int odd)
{
    rcx_error_info_t first, info;
    char expected[128];

    assert_ok(rcx_comm_error(rcx_world(job->contexts[0]), &first));
    assert_int_equal(first.rank_count, 2);
    assert_true(first.ranks[0] < first.ranks[1]);
    assert_true(first.ranks[0] == odd || first.ranks[1] == odd);
    snprintf(expected, sizeof expected, "%s is %s on rank %d and %s on rank %d",
             d->field, first.ranks[0] == odd ? d->odd : d->usual,
             first.ranks[0], first.ranks[1] == odd ? d->odd : d->usual,
             first.ranks[1]);
    for (int i = 0; i < job->size; i++) {
        assert_ok(rcx_comm_error(rcx_world(job->contexts[i]), &info));
        assert_ok(info.status); /* it has not failed */
        assert_int_equal(info.rank_count, 2);
        assert_memory_equal(info.ranks, first.ranks, 2 * sizeof *info.ranks);
        if (!strstr(info.text, expected) && !strstr(said[i], expected))
            fail_msg("rank %d: \"%s\" does not say \"%s\"", i, info.text,
                     expected);
    }
}

/* All that was called wrong is forgotten. */
static void go_on(struct job *job)
{
    for (int coll = 0; coll < COLLECTIVES; coll++) {
        const size_t recvcounts[ODD_RANK_MAX] = {3, 0, 5, 1, 9, 2, 4, 8};
        const struct call call = {.coll = (enum collective)coll,
                                  .count = 40,
                                  .blocks = recvcounts,
                                  .kind = &sums};

        calls_run(job, &call, false);
        calls_run(job, &call, true);
    }
}

static void deviate(int size, int odd, const struct deviation *d)
{
    int64_t in[COUNT] = {1}, out[ODD_RANK_MAX][COUNT];
    rcx_request_t *requests[ODD_RANK_MAX];
    struct job job;

    open_checked(&job, size);
    memset(out, 0x11, sizeof out);
    for (int i = 0; i < size; i++)
        assert_ok((i == odd ? d->call : usual)(rcx_world(job.contexts[i]), in,
                                               out[i], &requests[i]));
    wait_for_errors(&job, requests);
    check_blame(&job, d, odd);
    for (int i = 0; i < size; i++) {
        for (int k = 0; k < COUNT; k++) /* no data moved */
            assert_int_equal(out[i][k], INT64_C(0x1111111111111111));
        assert_ok(rcx_request_free(&requests[i]));
    }
    go_on(&job);
    assert_ok(job_close(&job));
}

static void need_4_a_call_that_differs_is_a_mismatch_on_all_ranks(void **state)
{
    (void)state;
    for (int size = 2; size <= 5; size++)
        for (int odd = 0; odd < size; odd++)
            for (size_t i = 0; i < sizeof deviations / sizeof *deviations; i++)
                deviate(size, odd, &deviations[i]);
}

/* One rank's first call is the others' second. */
static void need_4_a_call_left_out_is_one_where_another_follows(void **state)
{
    const struct deviation late = {"count", "24", "23", other_count};
    int64_t in[COUNT] = {1}, out[3][COUNT];
    rcx_request_t *requests[3];
    struct job job;

    (void)state;
    open_checked(&job, 3);
    for (int i = 0; i < 3; i++)
        assert_ok((i == 2 ? other_count : usual)(rcx_world(job.contexts[i]), in,
                                                 out[i], &requests[i]));
    wait_for_errors(&job, requests);
    check_blame(&job, &late, 2);
    for (int i = 0; i < 3; i++)
        assert_ok(rcx_request_free(&requests[i]));
    go_on(&job);
    assert_ok(job_close(&job));
}

/* On rank 1; in all, or of blocks. */
static void check_counts(enum collective coll)
{
    const size_t blocks[2][3] = {{8, 8, 8}, {8, 7, 9}};
    int64_t in[3][COUNT] = {{1}}, out[3][COUNT];
    rcx_request_t *requests[3];
    struct job job;

    open_checked(&job, 3);
    memset(out, 0x11, sizeof out);
    for (int i = 0; i < 3; i++) {
        const struct arguments a = {.sendbuf = in[i],
                                    .recvbuf = out[i],
                                    .count = i == 1 ? 7 : 8,
                                    .blocks = blocks[i == 1],
                                    .type = RCX_INT64,
                                    .op = RCX_SUM,
                                    .comm = world_of(&job, i)};

        assert_ok(collective_call(coll, NONBLOCKING, &a, &requests[i]));
    }
    wait_for_errors(&job, requests);
    for (int i = 0; i < 3; i++) {
        if (!strstr(said[i], "count"))
            fail_msg("%s, rank %d: \"%s\" does not say \"count\"",
                     collectives[coll].name, i, said[i]);
        for (int k = 0; k < COUNT; k++) /* no data moved */
            assert_int_equal(out[i][k], INT64_C(0x1111111111111111));
        assert_ok(rcx_request_free(&requests[i]));
    }
    go_on(&job);
    assert_ok(job_close(&job));
}

static void need_4_counts_are_compared_but_those_of_ones_own(void **state)
{
    int compared = 0;

    (void)state;
    for (int coll = 0; coll < COLLECTIVES; coll++) {
        if (collectives[coll].is_local ||
            collectives[coll].gives == EXTENT_NONE)
            continue;
        check_counts((enum collective)coll);
        compared++;
    }
    assert_int_equal(compared, COLLECTIVES - 2); /* alltoallv, barrier */
}

/* Of rank 1 the first of two persistent requests that do not match; then both
 * ranks start those that do. */
static void need_4_a_request_that_was_refused_can_be_started_again(void **state)
{
    int64_t in[COUNT], out[2][COUNT];
    rcx_request_t *first[2], *second[2], *odd;
    struct job job;

    (void)state;
    open_checked(&job, 2);
    for (int i = 0; i < COUNT; i++)
        in[i] = i + 1;
    memset(out, 0x11, sizeof out);
    for (int i = 0; i < 2; i++)
        assert_ok(rcx_allreduce_init(in, out[i], COUNT, RCX_INT64, RCX_SUM,
                                     world_of(&job, i), &first[i]));
    assert_ok(rcx_allreduce_init(in, out[1], COUNT - 1, RCX_INT64, RCX_SUM,
                                 world_of(&job, 1), &odd));
    second[0] = first[0];
    second[1] = odd;
    for (int i = 0; i < 2; i++)
        assert_ok(rcx_start(second[i]));
    wait_for_errors(&job, second);
    for (int i = 0; i < 2; i++)
        assert_ok(rcx_start(first[i]));
    assert_ok(job_wait(&job, first));
    for (int i = 0; i < 2; i++)
        for (int k = 0; k < COUNT; k++)
            assert_int_equal(out[i][k], 2 * (k + 1));
    for (int i = 0; i < 2; i++)
        assert_ok(rcx_request_free(&first[i]));
    assert_ok(rcx_request_free(&odd));
    go_on(&job);
    assert_ok(job_close(&job));
}

/* ---- Others in flight -------------------------------------------------------- */

enum { FLIGHT = 9, LONG = 64 };

/* The k-th call of rank: each third is odd on one rank, which cuts its vector
 * into another number of segments. */
static size_t count_of(int k, int rank, int size)
{
    const size_t usual = (size_t)(k * 7) % LONG + 1;

    return k % 3 == 1 && rank == k % size ? LONG + 1 - usual : usual;
}

static bool is_odd(int k, int size)
{
    const int other = (k + 1) % size;

    return count_of(k, k % size, size) != count_of(k, other, size);
}

/* Started before anything is known of those before them, waited for in another
 * order on each rank. */
static void need_4_what_is_in_flight_beside_a_mismatch_goes_on(void **state)
{
    enum { SIZE = 4 };
    static int64_t in[LONG], out[SIZE][FLIGHT][LONG];
    rcx_request_t *requests[FLIGHT][SIZE];
    struct job job;
    int refused = 0;

    (void)state;
    setenv("RCX_ALLREDUCE", "ring:segment=24,window=2", 1);
    open_checked(&job, SIZE);
    unsetenv("RCX_ALLREDUCE");
    for (int i = 0; i < LONG; i++)
        in[i] = i;
    for (int i = 0; i < SIZE; i++)
        for (int k = 0; k < FLIGHT; k++)
            assert_ok(rcx_iallreduce(in, out[i][k], count_of(k, i, SIZE),
                                     RCX_INT64, RCX_SUM, world_of(&job, i),
                                     &requests[k][i]));
    for (int k = FLIGHT - 1; k >= 0; k--) {
        job_wait(&job, requests[k]);
        refused += is_odd(k, SIZE);
        for (int i = 0; i < SIZE; i++) {
            const size_t n = count_of(k, i, SIZE);

            assert_status(requests[k][i]->status,
                          is_odd(k, SIZE) ? RCX_ERR_MISMATCH : RCX_OK);
            for (size_t at = 0; at < n && !is_odd(k, SIZE); at++)
                assert_int_equal(out[i][k][at], SIZE * (int64_t)at);
            assert_ok(rcx_request_free(&requests[k][i]));
        }
    }
    assert_true(refused > 1 && refused < FLIGHT);
    go_on(&job);
    assert_ok(job_close(&job));
}

/* ---- Calls that match -------------------------------------------------------- */

static void need_4_calls_that_match_are_none(void **state)
{
    const size_t recvcounts[] = {3, 0, 5, 1};
    struct job job;

    (void)state;
    open_checked(&job, 4);
    for (int i = 0; i < 1000; i++) {
        const struct call call = {.coll = (enum collective)(i % COLLECTIVES),
                                  .place = (enum place)(i / 7 % (PLACES + 1)),
                                  .root = i % 4,
                                  .count = (size_t)(i % 40),
                                  .blocks = recvcounts,
                                  .kind = &sums};

        if (collective_has_place(call.coll, call.place))
            calls_run(&job, &call, i % 2);
    }
    for (int i = 0; i < 4; i++)
        assert_string_equal(said[i], "");
    job_close(&job);
}

static bool differ(const struct attempt *a, const struct attempt *b)
{
    return a->in.gap != b->in.gap || a->out.gap != b->out.gap;
}

/* Only who gives or gets blocks knows where they lie; and in an alltoallv each
 * rank has other counts. */
static void need_4_places_are_each_ranks_own(void **state)
{
    const size_t blocks[] = {3, 0, 5, 1};
    struct job job;

    (void)state;
    open_checked(&job, 4);
    for (int coll = 0; coll < COLLECTIVES; coll++) {
        int other = 0;

        for (uint64_t seed = 0; seed < 8 && collectives[coll].has_displs;
             seed++) {
            const struct call call = {.coll = (enum collective)coll,
                                      .blocks = blocks,
                                      .kind = &sums,
                                      .seed = seed};
            struct calls c;

            calls_open(&c, &job, &call);
            calls_make(&c, false);
            calls_wait(&c, RCX_OK);
            calls_check(&c);
            for (int i = 1; i < 4; i++)
                other += differ(&c.attempts[0], &c.attempts[i]);
            calls_close(&c);
        }
        assert_true(other > 0 || !collectives[coll].has_displs);
    }
    for (int i = 0; i < 4; i++)
        assert_string_equal(said[i], "");
    assert_ok(job_close(&job));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(need_4_a_call_that_differs_is_a_mismatch_on_all_ranks),
        cmocka_unit_test(need_4_a_call_left_out_is_one_where_another_follows),
        cmocka_unit_test(need_4_counts_are_compared_but_those_of_ones_own),
        cmocka_unit_test(
            need_4_a_request_that_was_refused_can_be_started_again),
        cmocka_unit_test(need_4_what_is_in_flight_beside_a_mismatch_goes_on),
        cmocka_unit_test(need_4_calls_that_match_are_none),
        cmocka_unit_test(need_4_places_are_each_ranks_own),
    };

    return cmocka_run_group_tests_name("check", tests, NULL, NULL);
}
