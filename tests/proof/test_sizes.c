/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Schedules of a million ranks are small where the algorithm is logarithmic,
 * for each way in which a number of ranks may not be a power of two.
 */
#include "test.h"

#include <string.h>

#include "core/algo.h"
#include "core/params.h"

enum { MILLION = 1 << 20, WINDOW = 1024 };

struct limit {
    enum rcx_coll coll;
    const char *algo;
    size_t bytes;
    bool only_thrice; /* p = 3 * 2^18 alone */
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
    {RCX_COLL_REDUCE_SCATTER, "recursive_halving", 64 << 10, false},
    {RCX_COLL_REDUCE_SCATTER, "circulant", 64 << 10, false},
};

static void check(const struct limit *limit, struct rcx_builder *b, int size,
                  int rank)
{
    const struct rcx_algo *algo = rcx_algo_find(limit->coll, limit->algo);
    struct rcx_shape s = {.coll = limit->coll, .size = size, .rank = rank,
                          .count = (size_t)size, .elem_bytes = 4,
                          .root = size / 3, .commutative = true};
    struct rcx_plan *plan;

    assert_non_null(algo);
    if (limit->coll != RCX_COLL_REDUCE)
        s.root = 0;
    rcx_params_reset(algo, s.params);
    rcx_params_settle(algo, &s, &rcx_machine_usual);
    assert_true(rcx_algo_fits(algo, &s));
    rcx_builder_begin(b, &s);
    algo->build(b, &s);
    assert_int_equal(rcx_sched_finish(b, WINDOW, &plan), RCX_OK);
    if (plan->bytes >= limit->bytes)
        fail_msg("%s %s, p=%d: rank %d has %zu bytes in %u steps",
                 rcx_coll_name(limit->coll), limit->algo, size, rank,
                 plan->bytes, plan->step_count);
    rcx_heap_free(b->heap, plan);
}

static void schedules_of_a_million_ranks_are_small(void **state)
{
    static const int sizes[] = {3 << 18, MILLION, MILLION - 1};
    struct rcx_heap heap = RCX_HEAP_INIT;
    struct rcx_log log;
    struct rcx_builder b;

    (void)state;
    rcx_log_init(&log);
    rcx_builder_init(&b, &heap, &log);
    for (size_t i = 0; i < sizeof limits / sizeof *limits; i++)
        for (int k = 0; k < (limits[i].only_thrice ? 1 : 3); k++) {
            const int p = sizes[k];
            const int ranks[] = {0, 1, 2, 3, p / 3, p / 2 - 1, p / 2, p - 2,
                                 p - 1};

            for (int r = 0; r < 9; r++)
                check(&limits[i], &b, p, ranks[r]);
        }
    rcx_builder_free(&b);
    assert_int_equal(heap.live, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(schedules_of_a_million_ranks_are_small),
    };

    return cmocka_run_group_tests_name("sizes", tests, NULL, NULL);
}
