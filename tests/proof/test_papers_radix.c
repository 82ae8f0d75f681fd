/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What steps of mixed radix promise (Ruefenacht, Bull, Booth 2017, for whole
 * vectors): for p = f1 f2 ... fk a message to each other member of each step,
 * the least volume where vectors are cut, and no copies, of which cyclic shifts
 * (Kolmakov, Zhang 2020) take many. Read from schedules.
 */
#include "test.h"

#include "core/sched/algo.h"
#include "core/sched/params.h"
#include "support/built.h"

enum { EVERY = TIMES(130, 72), BLOCK = 2, STEPS_MAX = 8 };
enum { RADIX_OF_ALLREDUCE = 2, WHOLE = 1 << 20 };

static struct built built;

/* What one rank's schedule has, in elements; copies: but for those of the
 * rank's own block to its place. */
struct schedule {
    int messages;
    size_t sent, copied, scratch;
};

static const struct rcx_algo *algo_of(enum rcx_coll coll, const char *name)
{
    const struct rcx_algo *algo = rcx_algo_find(coll, name);

    assert_non_null(algo);
    return algo;
}

static struct rcx_shape shape_of(const struct rcx_algo *algo, int p)
{
    struct rcx_shape s = {.coll = algo->coll,
                          .size = p,
                          .count = (size_t)(BLOCK * p),
                          .elem_bytes = 8,
                          .commutative = true};

    rcx_params_reset(algo, s.params);
    return s;
}

static struct schedule schedule_of(const struct rcx_algo *algo,
                                   struct rcx_shape *s)
{
    struct schedule found = {0};

    rcx_params_settle(algo, s);
    assert_true(rcx_algo_fits(algo, s));
    built_write(&built, algo, s);
    for (uint32_t i = 0; i < built.builder.step_count; i++) {
        const struct rcx_step *step = &built.builder.steps[i];

        if (step->kind == RCX_STEP_SEND) {
            found.messages++;
            found.sent += step->count;
        } else if (step->kind == RCX_STEP_COPY) {
            found.copied += step->count;
        }
    }
    found.scratch = built.builder.scratch;
    return found;
}

/* Store the factors of p that steps up to radix make, by prime factors in
 * ascending order; 0 if one of them is larger. Returns their number. */
static int factors_of(int p, int radix, int factors[])
{
    int n = 0, factor = 1;

    for (int prime = 2; p > 1; prime++) {
        while (p % prime == 0) {
            if (prime > radix)
                return 0;
            if (factor * prime > radix) {
                factors[n++] = factor;
                factor = 1;
            }
            factor *= prime;
            p /= prime;
        }
    }
    if (factor > 1)
        factors[n++] = factor;
    return n;
}

static int others_of(const int factors[], int n)
{
    int others = 0;

    for (int i = 0; i < n; i++)
        others += factors[i] - 1;
    return others;
}

static const int radixes[] = {2, 3, 4, 5, 6, 9, 12, 64};
enum { RADIXES = sizeof radixes / sizeof *radixes };

static void reduce_scatter_sends_least_and_copies_nothing(void **state)
{
    const struct rcx_algo *algo =
        algo_of(RCX_COLL_REDUCE_SCATTER, "mixed_radix");
    int factors[STEPS_MAX];

    (void)state;
    for (int p = 2; p <= EVERY; p++) {
        for (int i = 0; i < RADIXES; i++) {
            const int n = factors_of(p, radixes[i], factors);
            struct rcx_shape s = shape_of(algo, p);
            struct schedule found;

            s.params[0] = radixes[i];
            assert_true(rcx_algo_fits(algo, &s) == (n > 0));
            if (n == 0)
                continue;
            s.rank = p / 3;
            found = schedule_of(algo, &s);
            assert_int_equal(found.messages, others_of(factors, n));
            assert_int_equal(found.sent, (size_t)((p - 1) * BLOCK));
            assert_int_equal(found.copied, 0);
        }
    }
}

/* Parts of the first step are kept, and only some of those that arrive. */
static void scratch_of_reduce_scatter_is_two_vectors_at_most(void **state)
{
    const struct rcx_algo *algo =
        algo_of(RCX_COLL_REDUCE_SCATTER, "mixed_radix");

    (void)state;
    for (int p = 2; p <= EVERY; p++) {
        for (int i = 0; i < RADIXES; i++) {
            struct rcx_shape s = shape_of(algo, p);

            s.params[0] = radixes[i];
            if (rcx_algo_fits(algo, &s))
                assert_true(schedule_of(algo, &s).scratch <= 2 * s.count);
        }
    }
}

static void allreduce_of_parts_copies_nothing(void **state)
{
    const struct rcx_algo *algo = algo_of(RCX_COLL_ALLREDUCE, "factorized");
    int factors[STEPS_MAX];

    (void)state;
    for (int p = 2; p <= EVERY; p++) {
        for (int i = 0; i < RADIXES; i++) {
            const int n = factors_of(p, radixes[i], factors);
            struct rcx_shape s = shape_of(algo, p);
            struct schedule found;

            if (n == 0)
                continue;
            s.params[0] = 0; /* b: parts in all steps */
            s.params[RADIX_OF_ALLREDUCE] = radixes[i];
            s.rank = p / 3;
            found = schedule_of(algo, &s);
            assert_int_equal(found.messages, 2 * others_of(factors, n));
            assert_int_equal(found.sent, (size_t)(2 * (p - 1) * BLOCK));
            assert_int_equal(found.copied, 0);
        }
    }
}

static void allreduce_of_whole_vectors_takes_one_message_each(void **state)
{
    const struct rcx_algo *algo = algo_of(RCX_COLL_ALLREDUCE, "factorized");
    int factors[STEPS_MAX];

    (void)state;
    for (int p = 2; p <= EVERY; p++) {
        for (int i = 0; i < RADIXES; i++) {
            const int n = factors_of(p, radixes[i], factors);
            struct rcx_shape s = shape_of(algo, p);
            struct schedule found;

            if (n == 0)
                continue;
            s.params[0] = WHOLE;
            s.params[RADIX_OF_ALLREDUCE] = radixes[i];
            found = schedule_of(algo, &s);
            assert_int_equal(found.messages, others_of(factors, n));
            assert_int_equal(found.copied, 0);
        }
    }
}

/* Of steps that are no powers of two, only the last keeps the fixed tree. */
static void bits_are_canonical_up_to_one_odd_factor_at_the_end(void **state)
{
    static const struct {
        int p, radix;
        rcx_order_t level;
    } known[] = {{6, 2, RCX_ORDER_UNIFORM},    {6, 3, RCX_ORDER_CANONICAL},
                 {12, 4, RCX_ORDER_CANONICAL}, {24, 6, RCX_ORDER_CANONICAL},
                 {24, 8, RCX_ORDER_CANONICAL}, {18, 3, RCX_ORDER_UNIFORM},
                 {18, 6, RCX_ORDER_UNIFORM},   {18, 9, RCX_ORDER_UNIFORM},
                 {9, 9, RCX_ORDER_CANONICAL},  {7, 8, RCX_ORDER_CANONICAL},
                 {35, 7, RCX_ORDER_UNIFORM}};
    const struct rcx_algo *algo = algo_of(RCX_COLL_ALLREDUCE, "factorized");

    (void)state;
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        struct rcx_shape s = shape_of(algo, known[i].p);

        s.params[0] = 0;
        s.params[1] = 0; /* ring_max: primes above the radix are eliminated */
        s.params[RADIX_OF_ALLREDUCE] = known[i].radix;
        assert_int_equal(rcx_algo_order(algo, &s), known[i].level);
    }
}

/* Return the most elements that a rank copies. */
static size_t most_copied(const struct rcx_algo *algo, int p)
{
    size_t most = 0;

    for (int rank = 0; rank < p; rank++) {
        struct rcx_shape s = shape_of(algo, p);
        size_t copied;

        s.rank = rank;
        s.params[0] = algo->coll == RCX_COLL_REDUCE_SCATTER; /* one block */
        copied = schedule_of(algo, &s).copied;
        most = copied > most ? copied : most;
    }
    return most;
}

/* Of the same volume: up to 1.4 to 1.5 vectors in an allreduce, 0.4 to 0.5 in a
 * reduce-scatter. */
static void cyclic_shifts_copy(void **state)
{
    static const int sizes[] = {5, 6, 7, 12, 24};
    const struct rcx_algo *allreduce =
        algo_of(RCX_COLL_ALLREDUCE, "generalized");
    const struct rcx_algo *reduce_scatter =
        algo_of(RCX_COLL_REDUCE_SCATTER, "circulant");

    (void)state;
    for (int i = 0; i < 5; i++) {
        const size_t n = (size_t)(BLOCK * sizes[i]);

        assert_true(5 * most_copied(allreduce, sizes[i]) >= 7 * n);
        assert_true(5 * most_copied(reduce_scatter, sizes[i]) >= 2 * n);
    }
}

static int open_built(void **state)
{
    (void)state;
    built_open(&built, NULL);
    return 0;
}

static int close_built(void **state)
{
    (void)state;
    return built_close(&built);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reduce_scatter_sends_least_and_copies_nothing),
        cmocka_unit_test(scratch_of_reduce_scatter_is_two_vectors_at_most),
        cmocka_unit_test(allreduce_of_parts_copies_nothing),
        cmocka_unit_test(allreduce_of_whole_vectors_takes_one_message_each),
        cmocka_unit_test(bits_are_canonical_up_to_one_odd_factor_at_the_end),
        cmocka_unit_test(cyclic_shifts_copy),
    };

    return cmocka_run_group_tests(tests, open_built, close_built);
}
