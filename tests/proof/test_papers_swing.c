/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What De Sensi et al. 2024 (Swing, arXiv 2401.09356) say of it: each step
 * reaches new ranks only, and fewer messages share a link of a ring, or of a
 * torus, than in a cube. As formulas of the loads of links, and counted in
 * schedules beside those of the ring and of recursive doubling.
 */
#include "test.h"

#include <math.h>
#include <string.h>

#include "algo/phase/swing.h"
#include "core/sched/method.h"
#include "prove.h"
#include "sim/torus.h"

enum { LOG_SIZES = TIMES(7, 5) };

static struct rcx_heap heap = RCX_HEAP_INIT;

static void expect_near(double got, double expected)
{
    if (!(fabs(got - expected) <= 1e-9 * (1 + fabs(expected))))
        fail_msg("%.12g, expected %.12g", got, expected);
}

/* Return the load in vectors. method: as in the environment. columns: 0: a
 * ring. */
static struct torus_load load_of(const char *method, int size, int columns)
{
    struct rcx_method_spec spec;
    struct rcx_refusal refusal;
    struct proof_case c = {
        .size = size, .count = (size_t)size, .commutative = true};
    const struct simulated_torus torus = {.columns = columns ? columns : size,
                                          .rows = columns ? size / columns : 1};
    struct simulated_call call;
    struct simulation s;
    struct torus_load load;

    assert_true(rcx_method_parse(method, RCX_COLL_ALLREDUCE, &spec, &refusal));
    c.algo = spec.algo;
    memcpy(c.params, spec.params, sizeof c.params);
    call = proof_call_of(&c, &heap);
    assert_true(simulation_open(&s, &call));
    assert_true(simulation_torus(&s, &torus, &load));
    simulation_close(&s);
    proof_call_free(&call);
    load.moved /= size;
    load.busiest /= size;
    load.in_rounds /= size;
    return load;
}

/* ---- Steps --------------------------------------------------------------- */

/* Return 1, -1, 3, -5, 11, ...: the sum of (-2)^j up to j = i. */
static int distance(int i)
{
    int sum = 0;

    for (int j = 0, power = 1; j <= i; j++, power *= -2)
        sum += power;
    return sum;
}

static void steps_of_a_ring_are_those_of_the_paper(void **state)
{
    (void)state;
    for (int p = 1; p <= 1024; p *= 2) {
        const struct rcx_swing w = {.size = p, .columns = p};

        for (int i = 0; 1 << i < p; i++)
            for (int r = 0; r < p; r++) {
                const int far = r % 2 ? -distance(i) : distance(i);

                assert_int_equal(rcx_swing_peer(&w, r, i), (r + far + p) % p);
            }
    }
}

/* What member and later steps reach is a run of parts, of which the next step
 * leaves the half with the member's own part. */
static void check_parts(const struct rcx_swing *w, int member)
{
    const int part = rcx_swing_part_of(w, member);
    int half = w->size / 2;

    assert_int_equal(rcx_swing_member_of(w, part), member);
    for (int i = 0; half >= 1; i++, half /= 2) {
        const int peer = rcx_swing_peer(w, member, i);

        assert_int_equal(rcx_swing_peer(w, peer, i), member);
        assert_int_equal(part & -half,
                         (rcx_swing_part_of(w, peer) & -half) ^ half);
    }
}

static void each_step_halves_a_run_of_parts(void **state)
{
    (void)state;
    for (int p = 1; p <= 1024; p *= 2) {
        for (int columns = 1; columns <= p; columns *= 2) {
            const struct rcx_swing w = {.size = p, .columns = columns};

            for (int member = 0; member < p; member++)
                check_parts(&w, member);
        }
    }
}

static void the_largest_butterfly_does_not_overflow(void **state)
{
    const struct rcx_swing ring = {.size = 1 << 30, .columns = 1 << 30};
    const struct rcx_swing torus = {.size = 1 << 30, .columns = 1 << 14};

    (void)state;
    for (int i = 0; i < 1000; i++) {
        check_parts(&ring, (1 << 30) - 1 - i * 1073741);
        check_parts(&torus, (1 << 30) - 1 - i * 1073741);
    }
}

/* ---- Links --------------------------------------------------------------- */

/* Of the messages of a step on a line of 2^k ranks, how many share the busiest
 * link in one direction: those of every other rank that are so far from it. Of
 * two ranks, each sends half around the other way. */
static double sharing(int i, int k)
{
    return k == 1 ? 0.5 : (abs(distance(i)) + 1) / 2;
}

/* A vector is reduced and gathered again: each step twice. */
static double swing_on_a_ring(int k)
{
    double sum = 0;

    for (int i = 0; i < k; i++)
        sum += 2 * ldexp(sharing(i, k), -i - 1);
    return sum;
}

static double swing_on_a_torus(int rows_log, int columns_log)
{
    double sum = 0;
    int in_row = 0, in_column = 0;

    for (int i = 0; i < rows_log + columns_log; i++) {
        const bool row = in_row < columns_log &&
                         (in_row <= in_column || in_column == rows_log);
        const int step = row ? in_row++ : in_column++;

        sum += 2 * ldexp(sharing(step, row ? columns_log : rows_log), -i - 1);
    }
    return sum;
}

/* In a cube, all ranks below a link exchange over it with those above; the last
 * step goes both ways around. */
static double cube_on_a_ring(int k)
{
    return k == 1 ? 1 : k - 0.5;
}

static double ring_on_a_ring(int k)
{
    return 2 - ldexp(2, -k);
}

static void links_of_a_ring_carry_what_formulas_say(void **state)
{
    (void)state;
    for (int k = 2; k <= LOG_SIZES; k++) {
        const int p = 1 << k;

        expect_near(load_of("swing", p, 0).in_rounds, swing_on_a_ring(k));
        expect_near(load_of("rabenseifner", p, 0).in_rounds, cube_on_a_ring(k));
        expect_near(load_of("ring", p, 0).in_rounds, ring_on_a_ring(k));
    }
}

static void links_of_a_torus_carry_what_formulas_say(void **state)
{
    (void)state;
    for (int k = 2; k <= LOG_SIZES; k++) {
        for (int c = 1; c < k; c++) {
            char method[64];

            snprintf(method, sizeof method, "swing:columns=%d", 1 << c);
            expect_near(load_of(method, 1 << k, 1 << c).in_rounds,
                        swing_on_a_torus(k - c, c));
        }
    }
}

/* On a ring the ring is best for long vectors, and Swing between it and the
 * cube, in as few rounds as that. On a square torus it comes close to the
 * ring. */
static void swing_is_between_ring_and_cube(void **state)
{
    (void)state;
    for (int k = 3; k < 30; k++) {
        assert_true(ring_on_a_ring(k) < swing_on_a_ring(k));
        assert_true(swing_on_a_ring(k) < cube_on_a_ring(k));
    }
    for (int k = 1; k < 15; k++)
        assert_true(swing_on_a_torus(k, k) < 1.25 * ring_on_a_ring(2 * k));
}

static void rows_and_columns_are_better_than_a_ring_on_a_torus(void **state)
{
    const int p = 64, columns = 8;
    const struct torus_load cube = load_of("rabenseifner", p, columns);
    const struct torus_load ring = load_of("swing", p, columns);
    const struct torus_load torus = load_of("swing:columns=8", p, columns);

    (void)state;
    assert_true(torus.in_rounds < ring.in_rounds);
    assert_true(ring.in_rounds < cube.in_rounds);
    assert_true(torus.busiest < ring.busiest && torus.busiest < cube.busiest);
    assert_true(torus.moved < ring.moved && torus.moved < cube.moved);
}

/* Whole vectors: sum of the steps' messages that share a link. */
static void whole_vectors_share_links_alike(void **state)
{
    (void)state;
    for (int k = 2; k <= LOG_SIZES; k++) {
        double sum = 0;

        for (int i = 0; i < k; i++)
            sum += sharing(i, k);
        expect_near(load_of("swing:exchange=whole", 1 << k, 0).in_rounds, sum);
        assert_true(sum <= load_of("recursive_doubling", 1 << k, 0).in_rounds);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(steps_of_a_ring_are_those_of_the_paper),
        cmocka_unit_test(each_step_halves_a_run_of_parts),
        cmocka_unit_test(the_largest_butterfly_does_not_overflow),
        cmocka_unit_test(links_of_a_ring_carry_what_formulas_say),
        cmocka_unit_test(links_of_a_torus_carry_what_formulas_say),
        cmocka_unit_test(swing_is_between_ring_and_cube),
        cmocka_unit_test(rows_and_columns_are_better_than_a_ring_on_a_torus),
        cmocka_unit_test(whole_vectors_share_links_alike),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
