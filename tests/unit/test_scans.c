/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Scans that follow the fixed tree of rcx_order_t. A rank's result must not
 * depend on the number of ranks behind it, and must have the bits of an
 * allreduce over the ranks up to it.
 */
#include "test.h"

#include <stdlib.h>
#include <string.h>

#include "collectives.h"
#include "context.h"

enum { MOST = 17, COUNT = 5 };

static float in[MOST][COUNT], out[MOST][COUNT];

/* Odd numbers of 24 bits: each addition of two of them rounds. */
static void fill(void)
{
    for (int r = 0; r < MOST; r++)
        for (int i = 0; i < COUNT; i++)
            in[r][i] =
                (float)(serial_mix((uint64_t)r, (uint64_t)i, 1) >> 40 | 1);
}

/* Combine ranks lo to hi - 1 by the tree of rcx_order_t. */
static float tree(int lo, int hi, int i)
{
    int half = 1;
    float left, right;

    if (hi - lo == 1)
        return in[lo][i];
    while (2 * half < hi - lo)
        half *= 2;
    left = tree(lo, lo + half, i);
    right = tree(lo + half, hi, i);
    return left + right;
}

static float from_the_left(int ranks, int i)
{
    float sum = in[0][i];

    for (int r = 1; r < ranks; r++)
        sum += in[r][i];
    return sum;
}

/* Run coll into out, with name=value in the environment. */
static void run(enum collective coll, int size, const char *name,
                const char *value)
{
    rcx_request_t *requests[MOST];
    struct job job;

    setenv(name, value, 1);
    assert_ok(job_open(&job, size, &(struct job_options){.seed = 1}));
    unsetenv(name);
    memset(out, 0, sizeof out);
    for (int r = 0; r < size; r++) {
        const struct arguments a = {.sendbuf = in[r],
                                    .recvbuf = out[r],
                                    .count = COUNT,
                                    .type = RCX_FLOAT32,
                                    .op = RCX_SUM,
                                    .comm = world_of(&job, r)};

        assert_ok(collective_call(coll, NONBLOCKING, &a, &requests[r]));
    }
    assert_ok(job_wait(&job, requests));
    for (int r = 0; r < size; r++)
        assert_ok(rcx_request_free(&requests[r]));
    assert_ok(job_close(&job));
}

/* The result of rank r must be that of the first r + least ranks. */
static void check(const char *what, int size, int least)
{
    for (int r = 0; r < size; r++)
        for (int i = 0; i < COUNT; i++) {
            const float expected =
                r + least > 0 ? tree(0, r + least, i) : 0; /* unchanged */

            if (memcmp(&out[r][i], &expected, sizeof expected) != 0)
                fail_msg("%s, rank %d of %d, element %d: %a, not %a", what, r,
                         size, i, (double)out[r][i], (double)expected);
        }
}

static void a_scan_does_not_depend_on_how_many_ranks_there_are(void **state)
{
    (void)state;
    fill();
    for (int size = 1; size <= MOST; size++) {
        run(SCAN, size, "RCX_SCAN", "recursive_doubling");
        check("scan", size, 1);
    }
}

static void an_exscan_is_the_scan_of_the_rank_before(void **state)
{
    (void)state;
    fill();
    for (int size = 1; size <= MOST; size++) {
        run(EXSCAN, size, "RCX_EXSCAN", "recursive_doubling");
        check("exscan", size, 0);
    }
}

/* With any algorithm that RCX chooses. */
static void canonical_scans_are_canonical_allreduces(void **state)
{
    (void)state;
    fill();
    run(SCAN, MOST, "RCX_ORDER", "canonical");
    check("scan", MOST, 1);
    run(EXSCAN, MOST, "RCX_ORDER", "canonical");
    check("exscan", MOST, 0);
    for (int size = 1; size <= MOST; size++) {
        run(ALLREDUCE, size, "RCX_ORDER", "canonical");
        for (int r = 0; r < size; r++)
            for (int i = 0; i < COUNT; i++)
                assert_true(out[r][i] == tree(0, size, i));
    }
}

/* Otherwise the tests above would hold for any order. */
static void these_sums_depend_on_their_order(void **state)
{
    int different = 0;

    (void)state;
    fill();
    for (int ranks = 4; ranks <= MOST; ranks++)
        for (int i = 0; i < COUNT; i++)
            different += tree(0, ranks, i) != from_the_left(ranks, i);
    assert_true(different > 10);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(these_sums_depend_on_their_order),
        cmocka_unit_test(a_scan_does_not_depend_on_how_many_ranks_there_are),
        cmocka_unit_test(an_exscan_is_the_scan_of_the_rank_before),
        cmocka_unit_test(canonical_scans_are_canonical_allreduces),
    };

    return cmocka_run_group_tests_name("scans", tests, NULL, NULL);
}
