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
 * ring; rows: 0: one plane. */
static struct torus_load load_on(const char *method, int size, int columns,
                                 int rows)
{
    struct rcx_method_spec spec;
    struct rcx_refusal refusal;
    struct proof_case c = {
        .size = size, .count = (size_t)size, .commutative = true};
    const int of_row = columns ? columns : size;
    const int of_plane = rows ? rows : size / of_row;
    const struct simulated_torus torus = {.columns = of_row,
                                          .rows = of_plane,
                                          .planes = size / of_row / of_plane};
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

static struct torus_load load_of(const char *method, int size, int columns)
{
    return load_on(method, size, columns, 0);
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
            for (int rows = 1; rows <= p / columns; rows *= 2) {
                const struct rcx_swing w = {
                    .size = p, .columns = columns, .rows = rows};

                for (int member = 0; member < p; member += 1 + p / 256)
                    check_parts(&w, member);
            }
        }
    }
}

static void the_largest_butterfly_does_not_overflow(void **state)
{
    const struct rcx_swing ring = {.size = 1 << 30, .columns = 1 << 30};
    const struct rcx_swing torus = {
        .size = 1 << 30, .columns = 1 << 14, .rows = 1 << 7};

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

/* A torus with 2^logs[d] ranks along dimension d. */
static double swing_on_dimensions(const int logs[3])
{
    double sum = 0, part = 1;

    for (int step = 0; step < logs[0] || step < logs[1] || step < logs[2];
         step++)
        for (int d = 0; d < 3; d++)
            if (step < logs[d])
                sum += 2 * sharing(step, logs[d]) * (part /= 2);
    return sum;
}

static double swing_on_a_torus(int rows_log, int columns_log)
{
    return swing_on_dimensions((int[]){columns_log, rows_log, 0});
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

static void links_of_a_torus_of_three_dimensions_do_as_well(void **state)
{
    (void)state;
    for (int k = 3; k <= LOG_SIZES + 1; k++) {
        for (int c = 1; c < k - 1; c++) {
            for (int r = 1; r < k - c; r++) {
                char method[64];

                snprintf(method, sizeof method, "swing:columns=%d,rows=%d",
                         1 << c, 1 << r);
                expect_near(load_on(method, 1 << k, 1 << c, 1 << r).in_rounds,
                            swing_on_dimensions((int[]){c, r, k - c - r}));
            }
        }
    }
}

/* On a torus of 8 x 8 x 8 ranks, each dimension that Swing knows of makes it
 * better. */
static void dimensions_are_better_than_rows_and_columns(void **state)
{
    const struct torus_load cube = load_on("rabenseifner", 512, 8, 8);
    const struct torus_load ring = load_on("swing", 512, 8, 8);
    const struct torus_load plane = load_on("swing:columns=8", 512, 8, 8);
    const struct torus_load space =
        load_on("swing:columns=8,rows=8", 512, 8, 8);

    (void)state;
    assert_true(space.in_rounds < plane.in_rounds);
    assert_true(plane.in_rounds < ring.in_rounds);
    assert_true(ring.in_rounds < cube.in_rounds);
    assert_true(space.busiest < plane.busiest && space.moved < plane.moved);
    assert_true(space.in_rounds < 1.02 * ring_on_a_ring(9));
}

/* Return the messages that share the busiest link of a line of ranks in a step,
 * and in the mirrored one if both are made at once. */
static double sharing_of_both(int step, int ranks, bool both)
{
    const struct rcx_swing w = {.size = ranks, .columns = ranks};
    double up[64] = {0}, most = 0;

    for (int m = 0; m <= both; m++)
        for (int r = 0; r < ranks; r++) {
            const int from = m ? (ranks - r) % ranks : r;
            const int to = rcx_swing_peer(&w, r, step);
            const int far = ((m ? r - to : to - r) + ranks) % ranks;

            /* downwards, messages share links as they do upwards */
            for (int i = 0; far <= ranks / 2 && i < far; i++)
                up[(from + i) % ranks] += far == ranks / 2 ? 0.5 : 1;
        }
    for (int i = 0; i < ranks; i++)
        most = up[i] > most ? up[i] : most;
    return most;
}

/*
 * The paper splits the vector over 2 d schedules on d dimensions: each begins
 * with another one, and half are mirrored. That takes a sixth of the time of
 * links on 8 x 8 x 8 ranks. But each rank sends as many bytes as before. With
 * the bandwidth of one link to leave a node, they take almost as long as links
 * do without it.
 */
static void all_ports_help_nodes_that_send_over_all_at_once(void **state)
{
    enum { RANKS = 8, D = 3, STEPS = 9 };
    const double sent = ring_on_a_ring(STEPS); /* 2 (p-1)/p vectors of a rank */
    double one = 0, all = 0;

    (void)state;
    for (int i = 0; i < STEPS; i++) {
        one += 2 * ldexp(sharing_of_both(i / D, RANKS, false), -i - 1);
        all += 2 * ldexp(sharing_of_both(i / D, RANKS, true), -i - 1) / (2 * D);
    }
    expect_near(one, swing_on_dimensions((int[]){3, 3, 3}));
    assert_true(one > 5.9 * all && one < 6 * all);
    assert_true(one < 1.02 * sent);
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
        cmocka_unit_test(links_of_a_torus_of_three_dimensions_do_as_well),
        cmocka_unit_test(dimensions_are_better_than_rows_and_columns),
        cmocka_unit_test(all_ports_help_nodes_that_send_over_all_at_once),
        cmocka_unit_test(swing_is_between_ring_and_cube),
        cmocka_unit_test(rows_and_columns_are_better_than_a_ring_on_a_torus),
        cmocka_unit_test(whole_vectors_share_links_alike),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
