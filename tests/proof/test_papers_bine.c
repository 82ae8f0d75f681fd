/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What De Sensi et al. 2025 (Bine trees, arXiv 2508.17311) say of their trees
 * and butterflies: the distances, and the bytes between groups of neighbours
 * that share thin links, up to a third fewer. Groups may begin at any rank:
 * what is stated is the mean over all beginnings, as a formula and counted in
 * schedules.
 */
#include "test.h"

#include <math.h>
#include <string.h>

#include "algo/phase/topology.h"
#include "core/sched/method.h"
#include "prove.h"
#include "sim/torus.h"

enum { LOG_SIZES = TIMES(8, 5) };

static struct rcx_heap heap = RCX_HEAP_INIT;

struct run {
    struct proof_case c;
    struct simulated_call call;
    struct simulation s;
};

/* method: as in the environment. */
static void open_run(struct run *run, enum rcx_coll coll, const char *method,
                     int size, int root)
{
    struct rcx_method_spec spec;
    struct rcx_refusal refusal;

    assert_true(rcx_method_parse(method, coll, &spec, &refusal));
    *run = (struct run){.c = {.algo = spec.algo,
                              .size = size,
                              .root = root,
                              .count = (size_t)size,
                              .commutative = true}};
    memcpy(run->c.params, spec.params, sizeof run->c.params);
    run->call = proof_call_of(&run->c, &heap);
    assert_true(simulation_open(&run->s, &run->call));
}

static void close_run(struct run *run)
{
    simulation_close(&run->s);
    proof_call_free(&run->call);
}

static void expect_near(double got, double expected)
{
    if (!(fabs(got - expected) <= 1e-9 * (1 + fabs(expected))))
        fail_msg("%.12g, expected %.12g", got, expected);
}

/* ---- Trees --------------------------------------------------------------- */

/* Return |1 - (-2)^(k+1)| / 3: how far a message between halves of 2^k goes. */
static int64_t bine_distance(int k)
{
    const int64_t power = INT64_C(2) << k;

    return (k % 2 ? power - 1 : power + 1) / 3;
}

/* Return the rank that has the place in a line of 2^k that the paper's root has
 * in its first interval. */
static int good_root(int k)
{
    const int p = 1 << k;

    return k % 2 ? (p - 1) / 3 : p - 1 - (p - 1) / 3;
}

static const uint32_t odd_bits = 0xAAAAAAAA;

/* The paper: in step i the low k - i bits of the negabinary rank flip, if they
 * are equal. So the parent's differ in the equal bits at the end. */
static int parent_in_paper(int k, int root, int rank)
{
    const uint32_t mask = (1U << k) - 1;
    const uint32_t relative = (uint32_t)(rank - root) & mask;
    const uint32_t digits = ((relative + odd_bits) ^ odd_bits) & mask;
    int equal = 1;

    while (equal < k && (digits >> equal & 1) == (digits & 1))
        equal++;
    return (int)((((digits ^ ((1U << equal) - 1)) ^ odd_bits) - odd_bits +
                  (uint32_t)root) &
                 mask);
}

static struct rcx_topology bine_of(int p, int root)
{
    struct rcx_method_spec spec;
    struct rcx_refusal refusal;
    struct rcx_shape s = {.coll = RCX_COLL_BCAST, .size = p, .root = root};

    assert_true(rcx_method_parse("tree:topology=bine", RCX_COLL_BCAST, &spec,
                                 &refusal));
    memcpy(s.params, spec.params, sizeof s.params);
    return rcx_topology_of(&s);
}

static void trees_of_powers_of_two_are_those_of_the_paper(void **state)
{
    (void)state;
    for (int k = 1; k <= 12; k++) {
        const int p = 1 << k, root = good_root(k);
        const struct rcx_topology t = bine_of(p, root);

        for (int rank = 0; rank < p; rank++)
            if (rank != root)
                assert_int_equal(rcx_topology_parent(&t, 0, rank),
                                 parent_in_paper(k, root, rank));
    }
}

/* For any p and root: only messages of the root may go farther. */
static void messages_of_any_tree_go_a_third_of_an_interval(void **state)
{
    (void)state;
    for (int p = 1; p < 300; p++) {
        for (int root = 0; root < p; root += 1 + p / 10) {
            const struct rcx_topology t = bine_of(p, root);

            for (int rank = 0; rank < p; rank++) {
                const int up = rcx_topology_parent(&t, 0, rank);
                const struct rcx_interval below =
                    rcx_topology_below(&t, 0, rank);
                const int k = rcx_log2_ceil(below.hi - below.lo);

                if (up != root && up >= 0 && below.hi != p)
                    assert_true(up - rank == bine_distance(k) ||
                                rank - up == bine_distance(k) ||
                                rcx_topology_below(&t, 0, up).hi == p);
            }
        }
    }
}

/* ---- Between groups ------------------------------------------------------ */

/* Return in how many of g beginnings of groups a message that far is between
 * two of them. */
static double crossings(double far, double g)
{
    return far < g ? far : g;
}

/* Vectors between groups, in the mean, of a broadcast on 2^k ranks. */
static double binomial_mean(int k, double g)
{
    double sum = 0;

    for (int j = 0; j < k; j++)
        sum += ldexp(crossings(ldexp(1, j), g) / g, k - 1 - j);
    return sum;
}

static double bine_mean(int k, double g)
{
    double sum = 0;

    for (int j = 0; j < k; j++)
        sum += ldexp(crossings((double)bine_distance(j), g) / g, k - 1 - j);
    return sum;
}

static const int groups[] = {1, 2, 3, 4, 7, 8, 12, 16, 24, 64, 100, 256};
enum { GROUPS = sizeof groups / sizeof *groups };

static void check_mean(enum rcx_coll coll, const char *method, int p, int root,
                       double (*expected)(int k, double g))
{
    struct run run;

    open_run(&run, coll, method, p, root);
    for (int i = 0; i < GROUPS; i++)
        expect_near(simulation_between_groups_mean(&run.s, groups[i]),
                    p * expected(rcx_log2_floor(p), groups[i]));
    close_run(&run);
}

static void trees_send_between_groups_what_formulas_say(void **state)
{
    (void)state;
    for (int k = 1; k <= LOG_SIZES; k++) {
        const int p = 1 << k, root = good_root(k);

        check_mean(RCX_COLL_BCAST, "tree", p, 0, binomial_mean);
        check_mean(RCX_COLL_BCAST, "tree:topology=bine", p, root, bine_mean);
        check_mean(RCX_COLL_REDUCE, "tree:topology=bine", p, root, bine_mean);
    }
}

/* A step of an exchange: all ranks send a part of the vector to the rank that
 * far away, and some of them around the end of the ranks. */
static double step_mean(double p, double far, double around, double g)
{
    return ((p - around) * crossings(far, g) + around * crossings(p - far, g)) /
           g;
}

static double cube_mean(int k, double g, bool whole)
{
    double sum = 0;

    for (int j = 0; j < k; j++)
        sum += step_mean(ldexp(1, k), ldexp(1, j), 0, g) *
               (whole ? 1 : ldexp(1, -j));
    return sum;
}

static double swing_mean(int k, double g, bool whole)
{
    double sum = 0;

    for (int j = 0; j < k; j++) {
        const double far = (double)bine_distance(j);

        sum += step_mean(ldexp(1, k), far, j % 2 ? far + 1 : far - 1, g) *
               (whole ? 1 : ldexp(1, -j));
    }
    return sum;
}

static double rabenseifner_mean(int k, double g)
{
    return cube_mean(k, g, false);
}

static double doubling_mean(int k, double g)
{
    return cube_mean(k, g, true);
}

static double swing_parts_mean(int k, double g)
{
    return swing_mean(k, g, false);
}

static double swing_whole_mean(int k, double g)
{
    return swing_mean(k, g, true);
}

static void butterflies_send_between_groups_what_formulas_say(void **state)
{
    (void)state;
    for (int k = 1; k <= LOG_SIZES; k++) {
        const int p = 1 << k;

        check_mean(RCX_COLL_ALLREDUCE, "rabenseifner", p, 0, rabenseifner_mean);
        check_mean(RCX_COLL_ALLREDUCE, "swing", p, 0, swing_parts_mean);
        check_mean(RCX_COLL_ALLREDUCE, "recursive_doubling", p, 0,
                   doubling_mean);
        check_mean(RCX_COLL_ALLREDUCE, "swing:exchange=whole", p, 0,
                   swing_whole_mean);
    }
}

/* Let there be N groups of g = 2^m: a binomial tree sends (m/2 + 1) N - 1
 * vectors between them, a Bine tree (m/3 + 17/18 + (-1/2)^m / 18) N - 1. */
static void up_to_a_third_fewer_bytes_leave_a_group(void **state)
{
    const int k = 40;
    double fewer = 0;

    (void)state;
    for (int m = 0; m < k; m++) {
        const double g = ldexp(1, m), n = ldexp(1, k - m);
        const double binomial = binomial_mean(k, g), bine = bine_mean(k, g);

        expect_near(binomial, (m / 2.0 + 1) * n - 1);
        expect_near(bine, (m / 3.0 + 17 / 18.0 + pow(-0.5, m) / 18) * n - 1);
        assert_true(bine <= binomial && 3 * bine >= 2 * binomial);
        assert_true(m < 2 || m > k - 4 || 1 - bine / binomial > fewer);
        fewer = 1 - bine / binomial;
        assert_true(m != 4 || fewer > 0.23);
        assert_true(m != 20 || fewer > 0.30);
    }
    for (int m = 4; m < 20; m++) {
        const double g = ldexp(1, m), parts = swing_mean(k, g, false);

        assert_true(parts < 0.78 * cube_mean(k, g, false));
        assert_true(3.01 * parts >= 2 * cube_mean(k, g, false));
        assert_true(swing_mean(k, g, true) < cube_mean(k, g, true));
    }
}

/* ---- Placements without an order, and aligned ones ----------------------- */

static double between(const struct run *run, const int place[], int group)
{
    double sum = 0;

    for (int r = 0; r < run->s.size; r++) {
        const struct rcx_plan *plan = run->s.ranks[r].plan;

        for (uint32_t i = 0; i < plan->step_count; i++)
            if (plan->steps[i].kind == RCX_STEP_SEND &&
                place[r] / group != place[plan->steps[i].peer] / group)
                sum += (double)plan->steps[i].count;
    }
    return sum;
}

/* Sum over all orders of the places from i on. */
static double sum_of_orders(const struct run *run, int place[], int i,
                            int group, double *orders_p)
{
    double sum = 0;

    if (i == run->s.size) {
        *orders_p += 1;
        return between(run, place, group);
    }
    for (int j = i; j < run->s.size; j++) {
        const int kept = place[i];

        place[i] = place[j];
        place[j] = kept;
        sum += sum_of_orders(run, place, i + 1, group, orders_p);
        place[j] = place[i];
        place[i] = kept;
    }
    return sum;
}

static void at_random_places_all_that_counts_is_the_volume(void **state)
{
    static const char *const methods[] = {"tree", "tree:topology=bine",
                                          "circulant:blocks=1"};

    (void)state;
    for (int p = 2; p <= TIMES(6, 5); p++) {
        for (int m = 0; m < 3; m++) {
            struct run run;

            open_run(&run, RCX_COLL_BCAST, methods[m], p, 0);
            for (int g = 1; g <= p; g++) {
                int place[] = {0, 1, 2, 3, 4, 5};
                double orders = 0;
                const double sum = sum_of_orders(&run, place, 0, g, &orders);

                expect_near(simulation_between_groups_random(&run.s, g),
                            sum / orders);
            }
            close_run(&run);
        }
    }
}

/* Groups that are subtrees get the vector once each, from either tree. A cube
 * has its near steps within such groups, and Swing does not. */
static void aligned_groups_are_best_for_the_cube(void **state)
{
    (void)state;
    for (int k = 3; k <= LOG_SIZES; k++) {
        const int p = 1 << k;
        struct run tree, bine, cube, swing;

        open_run(&tree, RCX_COLL_BCAST, "tree", p, 0);
        open_run(&bine, RCX_COLL_BCAST, "tree:topology=bine", p, 1);
        open_run(&cube, RCX_COLL_ALLREDUCE, "rabenseifner", p, 0);
        open_run(&swing, RCX_COLL_ALLREDUCE, "swing", p, 0);
        for (int g = 1; g <= p; g *= 2) {
            const double once = (p / g - 1) * (double)p;

            expect_near(simulation_between_groups(&tree.s, g, 0), once);
            expect_near(simulation_between_groups(&bine.s, g, 0), once);
            expect_near(simulation_between_groups(&cube.s, g, 0), 2 * once);
            if (g > 2 && g < p)
                assert_true(simulation_between_groups(&swing.s, g, 0) >
                            2 * once);
        }
        close_run(&tree);
        close_run(&bine);
        close_run(&cube);
        close_run(&swing);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(trees_of_powers_of_two_are_those_of_the_paper),
        cmocka_unit_test(messages_of_any_tree_go_a_third_of_an_interval),
        cmocka_unit_test(trees_send_between_groups_what_formulas_say),
        cmocka_unit_test(butterflies_send_between_groups_what_formulas_say),
        cmocka_unit_test(up_to_a_third_fewer_bytes_leave_a_group),
        cmocka_unit_test(at_random_places_all_that_counts_is_the_volume),
        cmocka_unit_test(aligned_groups_are_best_for_the_cube),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
