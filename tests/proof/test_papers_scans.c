/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Rounds and combines of scans on the simulator's clock, against values that
 * independent programs printed, for sizes on both sides of powers of two.
 */
#include "test.h"

#include "sim/timing.h"
#include "prove.h"

enum { SIZES = 5 };
static const int sizes[SIZES] = {8, 9, 13, 33, 1000};

struct row {
    enum rcx_coll coll;
    const char *name;
    int64_t inclusive; /* 0: no such parameter */
    int rounds[SIZES], combines[SIZES];
};

/* Return the cost for vectors of one element, so elements are vectors. */
static struct rcx_cost clock_of(const struct row *row, int size)
{
    const struct proof_case c = {.algo = rcx_algo_find(row->coll, row->name),
                                 .size = size,
                                 .count = 1,
                                 .params = {row->inclusive}};
    struct rcx_heap heap = RCX_HEAP_INIT;
    struct simulated_call call = proof_call_of(&c, &heap);
    struct simulation s;
    struct rcx_cost slowest;

    assert_true(simulation_open(&s, &call));
    assert_true(simulation_clock(&s, &slowest));
    simulation_close(&s);
    proof_call_free(&call);
    return slowest;
}

static void check(const struct row *row)
{
    for (int i = 0; i < SIZES; i++) {
        const struct rcx_cost cost = clock_of(row, sizes[i]);

        if (cost.rounds != row->rounds[i] || cost.volume != row->rounds[i] ||
            cost.combines != row->combines[i])
            fail_msg("%s %s, inclusive %d, p=%d: %g rounds, %g vectors, %g "
                     "combines, not %d (%d)",
                     rcx_coll_name(row->coll), row->name, (int)row->inclusive,
                     sizes[i], cost.rounds, cost.volume, cost.combines,
                     row->rounds[i], row->combines[i]);
    }
}

/* The least number of inclusive rounds that needs no additional round depends
 * on p: 3, 1, 2, 1, 6. */
static void exscans_by_doubling_are_as_printed(void **state)
{
    static const struct row printed[] = {
        {RCX_COLL_EXSCAN, "doubling", 1, {4, 4, 5, 6, 11}, {3, 3, 4, 5, 10}},
        {RCX_COLL_EXSCAN, "doubling", 2, {4, 4, 4, 6, 11}, {4, 4, 4, 6, 11}},
    };
    static const int least[SIZES] = {3, 1, 2, 1, 6};
    static const int rounds[SIZES] = {3, 4, 4, 6, 10};
    static const int combines[SIZES] = {4, 3, 4, 5, 14};

    (void)state;
    for (size_t i = 0; i < sizeof printed / sizeof *printed; i++)
        check(&printed[i]);
    for (int i = 0; i < SIZES; i++) {
        const struct row row = {
            .coll = RCX_COLL_EXSCAN, .name = "doubling", .inclusive = least[i]};
        const struct rcx_cost cost = clock_of(&row, sizes[i]);

        assert_int_equal(cost.rounds, rounds[i]);
        assert_int_equal(cost.combines, combines[i]);
    }
}

/*
 * The printed values, 3, 5, 5, 9, 17, are the combines of a rank that takes
 * part in all rounds. Here a rank does not combine blocks that no rank
 * requests, which occurs for p = 9 and 33. A scan combines as much as an exscan
 * of one rank more.
 */
static void recursive_doubling_combines_no_more_than_printed(void **state)
{
    static const struct row rows[] = {
        {RCX_COLL_EXSCAN,
         "recursive_doubling",
         0,
         {3, 4, 4, 6, 10},
         {3, 3, 5, 7, 17}},
        {RCX_COLL_SCAN,
         "recursive_doubling",
         0,
         {3, 4, 4, 6, 10},
         {3, 4, 5, 7, 17}},
    };

    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        check(&rows[i]);
}

static void other_scans_cost_as_their_papers_say(void **state)
{
    static const struct row rows[] = {
        {RCX_COLL_SCAN, "doubling", 0, {3, 4, 4, 6, 10}, {3, 4, 4, 6, 10}},
        {RCX_COLL_SCAN, "linear", 0, {7, 8, 12, 32, 999}, {7, 8, 12, 32, 999}},
        {RCX_COLL_EXSCAN,
         "linear",
         0,
         {7, 8, 12, 32, 999},
         {6, 7, 11, 31, 998}},
    };

    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        check(&rows[i]);
}

static void trees_take_four_rounds_a_level_less_five(void **state)
{
    static const char *const names[] = {"scan", "exscan"};

    (void)state;
    for (int k = 2; k <= 12; k++)
        for (int i = 0; i < 2; i++) {
            const struct row row = {.coll = rcx_coll_by_name(names[i]),
                                    .name = "tree"};

            assert_int_equal(clock_of(&row, 1 << k).rounds, 4 * k - 5);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(exscans_by_doubling_are_as_printed),
        cmocka_unit_test(recursive_doubling_combines_no_more_than_printed),
        cmocka_unit_test(other_scans_cost_as_their_papers_say),
        cmocka_unit_test(trees_take_four_rounds_a_level_less_five),
    };

    return cmocka_run_group_tests_name("papers_scans", tests, NULL, NULL);
}
