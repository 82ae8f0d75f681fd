/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Schedules of logarithmic algorithms are small for a million ranks, also where
 * the number of ranks is not a power of two. The times to write them are
 * printed, not checked. A gather of long blocks needs no more scratch than its
 * method states.
 */
#include "test.h"

#include <string.h>
#include <time.h>

#include "core/sched/algo.h"
#include "core/sched/params.h"
#include "core/sched/segment.h"
#include "core/sched/tuning.h"
#include "support/built.h"

enum { MILLION = 1 << 20, ATTEMPTS = 20 };

struct limit {
    enum rcx_coll coll;
    const char *algo;
    size_t bytes;
    bool only_thrice; /* only p = 3 * 2^18 */
};

static const struct limit limits[] = {
    {RCX_COLL_ALLREDUCE, "recursive_doubling", 64 << 10, false},
    {RCX_COLL_ALLREDUCE, "recursive_multiplying", 64 << 10, false},
    {RCX_COLL_ALLREDUCE, "rabenseifner", 64 << 10, false},
    {RCX_COLL_ALLREDUCE, "binary_blocks", 64 << 10, false},
    {RCX_COLL_ALLREDUCE, "hybrid", 64 << 10, false},
    {RCX_COLL_ALLREDUCE, "elimination", 64 << 10, false},
    {RCX_COLL_ALLREDUCE, "small_ring", 64 << 10, true},
    {RCX_COLL_ALLREDUCE, "factorized", 64 << 10, false},
    {RCX_COLL_ALLREDUCE, "generalized", 64 << 10, false},
    {RCX_COLL_ALLREDUCE, "tree", 64 << 10, false},
    {RCX_COLL_ALLREDUCE, "ordered_dissemination", 128 << 10, false},
    {RCX_COLL_REDUCE, "tree", 64 << 10, false},
    {RCX_COLL_REDUCE, "rabenseifner", 64 << 10, false},
    {RCX_COLL_REDUCE, "circulant", 96 << 10, false},
    {RCX_COLL_REDUCE_SCATTER, "recursive_halving", 64 << 10, false},
    {RCX_COLL_REDUCE_SCATTER, "circulant", 64 << 10, false},
    {RCX_COLL_REDUCE_SCATTER, "factorized", 64 << 10, false},
    {RCX_COLL_BARRIER, "dissemination", 64 << 10, false},
    {RCX_COLL_BARRIER, "tree", 64 << 10, false},
    {RCX_COLL_BARRIER, "recursive_doubling", 64 << 10, false},
    {RCX_COLL_BCAST, "tree", 64 << 10, false},
    {RCX_COLL_BCAST, "circulant", 64 << 10, false},
    {RCX_COLL_BCAST, "split_binary", 64 << 10, false},
    {RCX_COLL_GATHER, "tree", 64 << 10, false},
    {RCX_COLL_SCATTER, "tree", 64 << 10, false},
    {RCX_COLL_ALLGATHER, "bruck", 64 << 10, false},
    {RCX_COLL_ALLGATHER, "circulant", 64 << 10, false},
};

/* Maxima over the tried ranks. */
struct extreme {
    size_t bytes;
    double us; /* least time of several attempts */
};

static double now_us(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e6 + (double)t.tv_nsec / 1e3;
}

static void check(const struct limit *limit, struct built *t, int size,
                  int rank, struct extreme *largest)
{
    const struct rcx_algo *algo = rcx_algo_find(limit->coll, limit->algo);
    struct rcx_shape s = {.coll = limit->coll,
                          .size = size,
                          .rank = rank,
                          .count = (size_t)size,
                          .elem_bytes = 4,
                          .root = size / 3,
                          .commutative = true};
    double least = 1e9;

    assert_non_null(algo);
    if (!rcx_coll_is_rooted(limit->coll))
        s.root = 0;
    rcx_params_reset(algo, s.params);
    rcx_params_settle(algo, &s);
    assert_true(rcx_algo_fits(algo, &s));
    for (int i = 0; i < ATTEMPTS; i++) {
        const double start = now_us();
        struct rcx_plan *plan;
        double us;

        built_write(t, algo, &s);
        plan = built_finish(t);
        us = now_us() - start;

        if (plan->bytes >= limit->bytes)
            fail_msg("%s %s, p=%d: rank %d has %zu bytes in %u steps",
                     rcx_coll_name(limit->coll), limit->algo, size, rank,
                     plan->bytes, plan->step_count);
        least = us < least ? us : least;
        if (largest->bytes < plan->bytes)
            largest->bytes = plan->bytes;
        rcx_heap_free(&t->heap, plan);
    }
    if (largest->us < least)
        largest->us = least;
}

static void schedules_of_a_million_ranks_are_small(void **state)
{
    static const int sizes[] = {3 << 18, MILLION, MILLION - 1};
    struct built t;

    (void)state;
    built_open(&t, NULL);
    for (size_t i = 0; i < sizeof limits / sizeof *limits; i++) {
        struct extreme largest = {0, 0};

        for (int k = 0; k < (limits[i].only_thrice ? 1 : 3); k++) {
            const int p = sizes[k];
            const int ranks[] = {0,         1,     2,     3,    p / 3,
                                 p / 2 - 1, p / 2, p - 2, p - 1};

            for (int r = 0; r < 9; r++)
                check(&limits[i], &t, p, ranks[r], &largest);
        }
        print_message("# %s %s: %zu bytes, %.0f us\n",
                      rcx_coll_name(limits[i].coll), limits[i].algo,
                      largest.bytes, largest.us);
    }
    assert_int_equal(built_close(&t), 0);
}

/* ---- Bounded memory ------------------------------------------------------ */

enum { RANKS = 64, BLOCK = 2 << 20 /* bytes, and elements */ };

/* Return the scratch of all ranks for one segment; the largest of all
 * segments. */
static size_t scratch_of(struct built *t, const struct rcx_shape *gather,
                         const struct rcx_method *m)
{
    struct rcx_cutter cutter;
    struct rcx_row row;
    size_t largest = 0;

    assert_int_equal(rcx_cutter_open(&cutter, &t->heap, gather, m->segment),
                     RCX_OK);
    while (rcx_cutter_next(&cutter, &row)) {
        size_t sum = 0;

        for (int rank = 0; rank < gather->size; rank++) {
            struct rcx_shape s = *gather;
            struct rcx_plan *plan;

            s.rank = rank;
            rcx_row_build(&t->builder, m->algo, &s, &row);
            plan = built_finish(t);
            sum += plan->scratch;
            rcx_heap_free(&t->heap, plan);
        }
        largest = sum > largest ? sum : largest;
    }
    rcx_cutter_close(&cutter);
    return largest;
}

/* Return the scratch that all ranks have at once; method is as a user writes
 * it. */
static size_t scratch_at_once(const char *method, enum rcx_coll coll, int root)
{
    struct rcx_shape s = {.coll = coll,
                          .size = RANKS,
                          .root = root,
                          .count = (size_t)RANKS * BLOCK,
                          .elem_bytes = 1,
                          .commutative = true};
    const struct rcx_tuning no_rules = {.count = 0};
    struct rcx_method_spec spec;
    struct rcx_refusal refusal;
    struct rcx_method m;
    struct built t;
    size_t scratch;

    built_open(&t, NULL);
    assert_true(rcx_method_parse(method, coll, &spec, &refusal));
    assert_int_equal(rcx_method_choose(&s, RCX_ORDER_LOOSE, &spec, &no_rules,
                                       &t.builder, &m),
                     RCX_OK);
    memcpy(s.params, m.params, sizeof s.params);
    scratch = scratch_of(&t, &s, &m);
    assert_int_equal(built_close(&t), 0);
    return m.segment ? m.window * scratch : scratch;
}

/*
 * 64 blocks of 2 MiB. Below the root of the binomial tree, 16, 8, 4, 2 and 1
 * ranks have 2, 4, 8, 16 and 32 blocks: 160 in all. A segment has the same
 * shares. Its blocks are not contiguous at the root, which receives all but
 * single blocks in scratch: 62 more.
 */
static void a_gather_of_long_blocks_stays_within_its_scratch(void **state)
{
    static const enum rcx_coll colls[] = {RCX_COLL_GATHER, RCX_COLL_SCATTER};
    const size_t segment = 1 << 20, window = 2, block = segment / RANKS;

    (void)state;
    for (int i = 0; i < 2; i++) {
        assert_int_equal(scratch_at_once("linear", colls[i], 0), 0);
        assert_int_equal(scratch_at_once("linear:segment=1m", colls[i], 0), 0);
        assert_int_equal(scratch_at_once("tree", colls[i], 0),
                         160 * (size_t)BLOCK);
        for (int root = 0; root < RANKS; root += 21)
            assert_int_equal(scratch_at_once("tree:segment=1m", colls[i], root),
                             window * (160 + 62) * block);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_gather_of_long_blocks_stays_within_its_scratch),
        cmocka_unit_test(schedules_of_a_million_ranks_are_small),
    };

    return cmocka_run_group_tests_name("sizes", tests, NULL, NULL);
}
