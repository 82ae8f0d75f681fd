/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Ordered dissemination: rounds, vectors and combines, against values that two
 * independent simulations of its design printed; and the cost function, which
 * has no closed formula.
 */
#include "test.h"

#include "sim/timing.h"
#include "prove.h"

struct figures {
    struct rcx_cost stated, slowest;
    uint64_t sent;     /* by the rank that sends most */
    uint64_t combined; /* by the rank that combines most */
    uint64_t largest;  /* elements of the largest message */
    bool once;         /* every rank combines as many vectors as it receives */
};

static void look_at(struct figures *f, const struct simulated_rank *rank)
{
    uint64_t received = 0;

    for (uint32_t i = 0; i < rank->plan->step_count; i++) {
        const struct rcx_step *step = &rank->plan->steps[i];

        if (step->kind == RCX_STEP_SEND && f->largest < step->count)
            f->largest = step->count;
        if (step->kind == RCX_STEP_RECV)
            received += step->count;
    }
    if (f->sent < rank->sent)
        f->sent = rank->sent;
    if (f->combined < rank->combined)
        f->combined = rank->combined;
    f->once = f->once && rank->combined == received;
}

/* Return the figures for vectors of one element. */
static struct figures figures_of(int size)
{
    const struct proof_case c = {
        .algo = rcx_algo_find(RCX_COLL_ALLREDUCE, "ordered_dissemination"),
        .size = size,
        .count = 1};
    struct figures f = {.once = true};
    struct rcx_heap heap = RCX_HEAP_INIT;
    struct simulated_call call = proof_call_of(&c, &heap);
    struct simulation s;

    assert_true(simulation_open(&s, &call));
    for (int i = 0; i < size; i++)
        look_at(&f, &s.ranks[i]);
    assert_true(simulation_clock(&s, &f.slowest));
    f.stated = c.algo->cost(&call.shape);
    simulation_close(&s);
    proof_call_free(&call);
    return f;
}

static void vectors_and_combines_are_those_of_the_design(void **state)
{
    /* size; vectors sent in all; in one message; most combines. 0: not
     * stated */
    static const unsigned printed[][4] = {
        {3, 2, 0, 2},    {5, 4, 0, 4},     {7, 5, 3, 6},      {13, 9, 4, 10},
        {31, 14, 5, 19}, {127, 27, 7, 37}, {1000, 63, 14, 67}};

    (void)state;
    for (size_t i = 0; i < sizeof printed / sizeof *printed; i++) {
        const struct figures f = figures_of((int)printed[i][0]);

        assert_int_equal(f.sent, printed[i][1]);
        if (printed[i][2])
            assert_int_equal(f.largest, printed[i][2]);
        assert_in_range(f.combined, 1, printed[i][3]);
    }
}

static void nothing_is_combined_twice(void **state)
{
    (void)state;
    for (int p = 2; p <= 130; p++)
        assert_true(figures_of(p).once);
}

static void check_cost(int p)
{
    const struct figures f = figures_of(p);

    assert_int_equal(f.slowest.rounds, rcx_log2_ceil(p));
    assert_int_equal(f.stated.rounds, f.slowest.rounds);
    assert_int_equal(f.stated.volume, f.slowest.volume);
    assert_int_equal(f.stated.combines, f.slowest.combines);
}

static void the_cost_is_the_slowest_ranks_time(void **state)
{
    static const int more[] = {512, 1024, 2048, 4096};

    (void)state;
    for (int p = 2; p <= 256; p++)
        check_cost(p);
    for (size_t i = 0; i < sizeof more / sizeof *more; i++)
        check_cost(more[i]);
}

static void for_many_ranks_the_cost_is_a_bound(void **state)
{
    static const int sizes[] = {257,  300,  511,  513,  1000, 1023,
                                1025, 1100, 1365, 1536, 2000, 2047,
                                2049, 3000, 4095, 4097, 5461, 6000};

    (void)state;
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        const struct figures f = figures_of(sizes[i]);

        assert_int_equal(f.stated.rounds, f.slowest.rounds);
        assert_true(f.slowest.volume <= f.stated.volume);
        assert_true(f.stated.volume <= 1.25 * f.slowest.volume);
        assert_true(f.slowest.combines <= f.stated.combines);
        assert_true(f.stated.combines <= 1.5 * f.slowest.combines);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(vectors_and_combines_are_those_of_the_design),
        cmocka_unit_test(nothing_is_combined_twice),
        cmocka_unit_test(the_cost_is_the_slowest_ranks_time),
        cmocka_unit_test(for_many_ranks_the_cost_is_a_bound),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
