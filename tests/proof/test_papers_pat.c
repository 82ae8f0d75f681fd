/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What Jeaugey 2025 (PAT, arXiv 2506.20252) says of its algorithms: a
 * logarithmic number of messages where buffers allow it, a logarithmic number
 * of buffers for every length, and little data over long distances. Read from
 * the schedules, for more ranks and aggregations than the proofs have.
 */
#include "test.h"

#include <limits.h>
#include <string.h>

#include "core/sched/algo.h"
#include "core/sched/params.h"
#include "support/built.h"

enum { EVERY = TIMES(130, 40), BLOCK = 3, AGGREGATION = 0 };

static struct built built;

/* What one rank's schedule has. */
struct schedule {
    int messages;
    size_t scratch, longest;
    double far; /* elements times distance along the ring of ranks */
};

static struct schedule schedule_of(enum rcx_coll coll, const char *name, int p,
                                   size_t block, int64_t aggregation)
{
    const struct rcx_algo *algo = rcx_algo_find(coll, name);
    struct rcx_shape s = {.coll = coll,
                          .rank = p / 3,
                          .size = p,
                          .count = block * (size_t)p,
                          .elem_bytes = 8,
                          .commutative = true};
    struct schedule found = {0};

    assert_non_null(algo);
    rcx_params_reset(algo, s.params);
    if (aggregation)
        s.params[AGGREGATION] = aggregation;
    rcx_params_settle(algo, &s);
    built_write(&built, algo, &s);
    for (uint32_t i = 0; i < built.builder.step_count; i++) {
        const struct rcx_step *step = &built.builder.steps[i];
        const int ahead = (step->peer - s.rank + p) % p;

        if (step->kind != RCX_STEP_SEND)
            continue;
        found.messages++;
        found.far +=
            (double)step->count * (ahead < p - ahead ? ahead : p - ahead);
        if (step->count > found.longest)
            found.longest = step->count;
    }
    found.scratch = built.builder.scratch;
    return found;
}

static int log_above(int n)
{
    int l = 0;

    while (1 << l < n)
        l++;
    return l;
}

static int ratio_above(int a, int b)
{
    return (a + b - 1) / b;
}

static const enum rcx_coll both[] = {RCX_COLL_ALLGATHER,
                                     RCX_COLL_REDUCE_SCATTER};

static void messages_are_as_many_as_trees_take(void **state)
{
    (void)state;
    for (int p = 2; p <= EVERY; p++) {
        for (int a = 1; a <= p + 1; a++) {
            const int w = ratio_above(p, a), trees = ratio_above(p, w);

            for (int i = 0; i < 2; i++) {
                const struct schedule s =
                    schedule_of(both[i], "pat", p, BLOCK, a);

                assert_int_equal(s.messages, log_above(trees) + w - 1);
                assert_true(s.longest <= (size_t)a * BLOCK);
            }
        }
    }
}

static void all_aggregated_messages_are_logarithmic(void **state)
{
    (void)state;
    for (int p = 1; p <= 8 * EVERY; p++)
        for (int i = 0; i < 2; i++)
            assert_int_equal(
                schedule_of(both[i], "pat", p, 1, INT_MAX).messages,
                log_above(p));
}

static void scratch_is_logarithmic_in_messages(void **state)
{
    (void)state;
    for (int p = 2; p <= EVERY; p++) {
        for (int a = 1; a <= p; a++) {
            const int w = ratio_above(p, a);
            const size_t message = (size_t)ratio_above(p, w) * BLOCK;
            const size_t logs = (size_t)log_above(w);
            const size_t gather =
                schedule_of(RCX_COLL_ALLGATHER, "pat", p, BLOCK, a).scratch;
            const size_t scatter =
                schedule_of(RCX_COLL_REDUCE_SCATTER, "pat", p, BLOCK, a)
                    .scratch;

            assert_true(gather <= (a == 1 ? 0 : 4 * message));
            assert_true(scatter <=
                        (w > 1 ? (logs + 4) * message : 3 * message));
        }
    }
}

/* With auto a message has 64 KB or one block, whatever the vector's length. */
static void scratch_of_auto_does_not_grow_with_the_vector(void **state)
{
    const size_t most = (64 << 10) / 8;

    (void)state;
    for (int p = 2; p <= 4096; p *= 2) {
        for (size_t block = 1; block <= 4 * most; block *= 4) {
            const size_t message = block > most ? block : most;
            const size_t scratch =
                schedule_of(RCX_COLL_REDUCE_SCATTER, "pat", p, block, 0)
                    .scratch;

            assert_true(scratch <= ((size_t)log_above(p) + 4) * message);
        }
    }
}

/* Bruck's order sends p / 2 blocks p / 2 far in its last message. */
static void most_data_goes_to_near_ranks(void **state)
{
    (void)state;
    for (int p = 16; p <= 1024; p *= 2) {
        const double bruck =
            schedule_of(RCX_COLL_ALLGATHER, "bruck", p, 1, 0).far;

        for (int a = 1; a <= p; a *= 2) {
            const double pat =
                schedule_of(RCX_COLL_ALLGATHER, "pat", p, 1, a).far;

            assert_true(pat == p / 2.0 * log_above(p));
            assert_true(pat < bruck);
        }
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
        cmocka_unit_test(messages_are_as_many_as_trees_take),
        cmocka_unit_test(all_aggregated_messages_are_logarithmic),
        cmocka_unit_test(scratch_is_logarithmic_in_messages),
        cmocka_unit_test(scratch_of_auto_does_not_grow_with_the_vector),
        cmocka_unit_test(most_data_goes_to_near_ranks),
    };

    return cmocka_run_group_tests(tests, open_built, close_built);
}
