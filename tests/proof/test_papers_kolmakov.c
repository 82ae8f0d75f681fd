/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Statements of Kolmakov and Zhang ("A Generalization of the Allreduce
 * Operation", 2020) about their algorithms, beyond what is proved of every
 * algorithm. Vectors have p blocks of one element, so costs are in blocks.
 */
#include "test.h"

#include "core/sched/params.h"
#include "prove.h"

enum { EVERY = 64, CYCLIC = 0, XOR = 1 };

static bool is_power(int n)
{
    return (n & (n - 1)) == 0;
}

static struct proof_report prove(enum rcx_coll coll, const char *name, int size,
                                 int first, int second)
{
    const struct proof_case c = {.algo = rcx_algo_find(coll, name),
                                 .size = size,
                                 .count = (size_t)size,
                                 .commutative = true,
                                 .params = {first, second}};
    const struct proof_options options = {.seed = 1, .runs = 1};
    struct proof_report report;

    if (!proof_prove(&c, &options, &report))
        fail_msg("%s", report.text);
    return report;
}

static struct proof_report generalized(int size, int removed, int group)
{
    return prove(RCX_COLL_ALLREDUCE, "generalized", size, removed, group);
}

/* Equations (25) for r = 0, (36) with the number of vectors that are needed
 * instead of 2^r, and (44). */
static void rounds_and_volumes_are_those_of_the_paper(void **state)
{
    (void)state;
    for (int p = 1; p <= EVERY; p++) {
        const int k = rcx_log2_ceil(p);

        for (int r = 0; r <= k; r++) {
            const struct rcx_cost cost = generalized(p, r, CYCLIC).cost;
            const int extra = (p + (1 << (k - r)) - 1) / (1 << (k - r)) - 1;
            const int least = p - 1 + extra * (k > 0);

            assert_int_equal(cost.rounds, 2 * k - r);
            assert_int_equal(cost.volume,
                             r < k ? 2 * (p - 1) + extra * (k - 1) : k * p);
            if (r == 0)
                assert_int_equal(cost.combines, p - 1);
            else if (r < k)
                assert_in_range(cost.combines, least,
                                p - 1 + 2 * extra * (k - 1));
            else if (p > 2)
                assert_in_range(cost.combines, least, 2 * (k - 1) * p);
        }
    }
}

static void reduce_scatter_takes_half_of_it(void **state)
{
    (void)state;
    for (int p = 1; p <= EVERY; p++) {
        const struct rcx_cost cost =
            prove(RCX_COLL_REDUCE_SCATTER, "circulant", p, 1, 0).cost;

        assert_int_equal(cost.rounds, rcx_log2_ceil(p));
        assert_int_equal(cost.volume, p - 1);
        assert_int_equal(cost.combines, p - 1);
    }
}

/* The level is exact for each p and r, not only for some case of the grid. */
static void ranks_differ_if_rounds_are_removed_unless_p_is_a_power(void **state)
{
    (void)state;
    for (int p = 3; p <= EVERY; p++) {
        const int k = rcx_log2_ceil(p);

        for (int r = 0; r <= k; r++)
            assert_int_equal(generalized(p, r, CYCLIC).held,
                             r == 0 || is_power(p) ? RCX_ORDER_SAME
                                                   : RCX_ORDER_LOOSE);
    }
}

static void more_rounds_than_half_cannot_be_removed(void **state)
{
    (void)state;
    assert_int_equal(generalized(5, 31, CYCLIC).cost.rounds, 3);
    assert_int_equal(generalized(8, 4, XOR).cost.rounds, 3);
}

/* The paper: "Recursive Doubling is a special case", and so is "Recursive
 * Halving". */
static void group_xor_is_recursive_doubling_or_halving(void **state)
{
    (void)state;
    for (int k = 1; 1 << k <= EVERY; k++) {
        const int p = 1 << k;
        const struct proof_case latency = {
            .algo = rcx_algo_find(RCX_COLL_ALLREDUCE, "generalized"),
            .size = p,
            .count = 10,
            .commutative = true,
            .params = {k, XOR}};
        struct proof_case doubling = latency;
        const struct rcx_cost halving = generalized(p, 0, XOR).cost;

        doubling.algo = rcx_algo_find(RCX_COLL_ALLREDUCE, "recursive_doubling");
        assert_true(proof_same_schedules(&latency, &doubling));
        assert_int_equal(halving.rounds, 2 * k);
        assert_int_equal(halving.volume, 2 * (p - 1));
        assert_int_equal(halving.combines, p - 1);
    }
}

/* ---- The schedule of one rank -------------------------------------------- */

static struct rcx_shape shape_of(const struct rcx_algo *algo, int size,
                                 size_t count, int64_t removed)
{
    struct rcx_shape s = {.coll = algo->coll,
                          .rank = size / 3,
                          .size = size,
                          .count = count,
                          .elem_bytes = 4,
                          .commutative = true,
                          .params = {removed}};

    rcx_params_settle(algo, &s);
    return s;
}

static void auto_removes_the_rounds_that_cost_least(void **state)
{
    const struct rcx_algo *algo =
        rcx_algo_find(RCX_COLL_ALLREDUCE, "generalized");
    size_t seen = 0;

    (void)state;
    for (size_t count = 1; count < 1 << 24; count *= 2) {
        const struct rcx_shape chosen =
            shape_of(algo, 127, count, RCX_PARAM_AUTO);
        const struct rcx_cost least = algo->cost(&chosen);

        for (int r = 0; r <= 7; r++) {
            const struct rcx_shape s = shape_of(algo, 127, count, r);
            const struct rcx_cost cost = algo->cost(&s);

            assert_true(rcx_cost_seconds(&least, 4, &rcx_machine_usual) <=
                        rcx_cost_seconds(&cost, 4, &rcx_machine_usual));
        }
        seen |= (size_t)1 << chosen.params[0];
    }
    assert_true(seen & 1);      /* no round for the longest vectors */
    assert_true(seen & 1 << 7); /* half of the rounds for the shortest */
    assert_true(seen & 0x7e);
}

static void expect_small_plan(const struct rcx_algo *algo, int size,
                              int removed)
{
    const struct rcx_shape s = shape_of(algo, size, 3 * (size_t)size, removed);
    struct rcx_heap heap = RCX_HEAP_INIT;
    struct rcx_plan *plan;
    struct rcx_builder b;
    struct rcx_log log;

    rcx_log_init(&log);
    rcx_builder_init(&b, &heap, &log);
    rcx_builder_begin(&b, &s);
    algo->build(&b, &s);
    assert_ok(rcx_sched_finish(&b, 1024, &plan));
    assert_in_range(plan->bytes, 1, 64 << 10);
    rcx_heap_free(&heap, plan);
    rcx_builder_free(&b);
}

static void a_million_ranks_have_schedules_of_kilobytes(void **state)
{
    static const int sizes[] = {1 << 20, (1 << 20) - 1, 3 << 18};

    (void)state;
    for (int i = 0; i < 3; i++) {
        for (int removed = 0; removed <= 20; removed++)
            expect_small_plan(rcx_algo_find(RCX_COLL_ALLREDUCE, "generalized"),
                              sizes[i], removed);
        expect_small_plan(rcx_algo_find(RCX_COLL_REDUCE_SCATTER, "circulant"),
                          sizes[i], 1);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rounds_and_volumes_are_those_of_the_paper),
        cmocka_unit_test(reduce_scatter_takes_half_of_it),
        cmocka_unit_test(
            ranks_differ_if_rounds_are_removed_unless_p_is_a_power),
        cmocka_unit_test(more_rounds_than_half_cannot_be_removed),
        cmocka_unit_test(group_xor_is_recursive_doubling_or_halving),
        cmocka_unit_test(auto_removes_the_rounds_that_cost_least),
        cmocka_unit_test(a_million_ranks_have_schedules_of_kilobytes),
    };

    return cmocka_run_group_tests_name("papers_kolmakov", tests, NULL, NULL);
}
