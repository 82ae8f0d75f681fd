/* SPDX-License-Identifier: BSD-3-Clause */
/* Each algorithm states its cost twice: as a formula for readers, and as a
 * function. Both must agree for all sizes and parameters. Also tests the reader
 * of formulas. */
#include "test.h"

#include <math.h>

#include "formula.h"
#include "grid.h"

enum { MOST = 70, TRIED = 6 /* least number of sizes that a formula covers */ };

/* Return a shape whose count every algorithm divides evenly. */
static struct rcx_shape shape_of(const struct rcx_algo *algo, int size)
{
    const size_t cube = (size_t)rcx_pow2_floor(size);

    return (struct rcx_shape){.coll = algo->coll,
                              .size = size,
                              .count = (size_t)size * cube * 960,
                              .elem_bytes = 8,
                              .commutative = true};
}

static bool differ(double a, double b)
{
    return !(fabs(a - b) <= 1e-9 * fabs(b));
}

/* Whether the formula covers s. If it does, it must agree with cost(). */
static bool speaks(const struct rcx_algo *algo, const struct rcx_shape *s)
{
    const char *error;
    struct rcx_cost read, cost;

    if (!rcx_algo_fits(algo, s))
        return false;
    if (!formula_cost(algo, s, &read, &error)) {
        if (error)
            fail_msg("%s %s: %s: %s", rcx_coll_name(algo->coll), algo->name,
                     algo->formula, error);
        return false;
    }
    cost = algo->cost(s);
    if (differ(read.rounds, cost.rounds) || differ(read.volume, cost.volume) ||
        differ(read.combines, cost.combines))
        fail_msg("%s %s, p=%d n=%zu root=%d (%d, %d, %d): the formula says "
                 "%g, %g, %g, cost() %g, %g, %g",
                 rcx_coll_name(algo->coll), algo->name, s->size, s->count,
                 s->root, (int)s->params[0], (int)s->params[1],
                 (int)s->params[2], read.rounds, read.volume, read.combines,
                 cost.rounds, cost.volume, cost.combines);
    return true;
}

/* Try all combinations of the values of parameters i and up; true if the
 * formula covers any. */
static bool speaks_of_any(const struct rcx_algo *algo, struct rcx_shape *s,
                          int i)
{
    const struct rcx_param *p = algo->params;
    bool any = false;

    if (!p || i == RCX_PARAMS || !p[i].name)
        return speaks(algo, s);
    for (int k = 0; proof_param_value(&p[i], k, &s->params[i]); k++)
        if (s->params[i] != RCX_PARAM_AUTO)
            any |= speaks_of_any(algo, s, i + 1);
    return any;
}

static void check(const struct rcx_algo *algo)
{
    int sizes = 0;

    for (int size = 1; size <= MOST; size++) {
        struct rcx_shape s = shape_of(algo, size);
        bool any = speaks_of_any(algo, &s, 0);

        if (rcx_coll_is_rooted(algo->coll)) {
            s.root = size - 1;
            any &= speaks_of_any(algo, &s, 0);
        }
        sizes += any;
    }
    if (sizes < TRIED)
        fail_msg("%s %s: its formula speaks of %d sizes",
                 rcx_coll_name(algo->coll), algo->name, sizes);
}

/* Products of numbers of ranks must not overflow. */
static void a_formula_holds_for_a_million_ranks(void **state)
{
    static const int sizes[] = {1 << 20, (1 << 20) - 1, 100003};

    (void)state;
    for (const struct rcx_algo *const *a = rcx_algo_table; *a; a++) {
        for (int i = 0; i < 3; i++) {
            struct rcx_shape s = shape_of(*a, sizes[i]);

            speaks_of_any(*a, &s, 0);
        }
    }
}

static void a_formula_gives_the_cost_of_its_algorithm(void **state)
{
    (void)state;
    for (const struct rcx_algo *const *a = rcx_algo_table; *a; a++)
        if (!(*a)->is_by_nodes) /* the formulas are those of its phases */
            check(*a);
}

/* ---- The reader itself --------------------------------------------------- */

static const char *const kinds[] = {"round", "square", NULL};
static const struct rcx_param params[] = {
    {.name = "b", .most = 9}, {.name = "kind", .names = kinds}, {.name = NULL}};

static void assert_reads(const char *formula, double a, double b, double g)
{
    const struct rcx_algo algo = {.formula = formula, .params = params};
    const struct rcx_shape s = {.size = 12, .count = 5, .params = {7, 1}};
    const char *error = NULL;
    struct rcx_cost cost;

    if (!formula_cost(&algo, &s, &cost, &error) || cost.rounds != a ||
        cost.volume != b || cost.combines != g)
        fail_msg("%s: %g a + %g b + %g g, %s", formula, cost.rounds,
                 cost.volume, cost.combines, error ? error : "no error");
}

static void assert_says_nothing(const char *formula, bool is_wrong)
{
    const struct rcx_algo algo = {.formula = formula, .params = params};
    const struct rcx_shape s = {.size = 12, .count = 5, .params = {7, 1}};
    const char *error = NULL;
    struct rcx_cost cost;

    assert_false(formula_cost(&algo, &s, &cost, &error));
    assert_int_equal(error != NULL, is_wrong);
}

static void formulas_are_read_as_they_are_printed(void **state)
{
    (void)state;
    assert_reads("2 (p-1) a + n/2 b + n b", 22, 7.5, 0);
    assert_reads("(p - 1)/p (2 n b + n g)", 0, 110. / 12, 55. / 12);
    assert_reads("k a + 2^(k+1) g, k = floor(lg p)", 3, 0, 16);
    assert_reads("x y a, x = y + 1, y = ceil(lg p)", 20, 0, 0);
    assert_reads("[p > 8, p < 12] a + [p = 12] b + [p >= 12] g", 0, 1, 1);
    assert_reads("b = 7: b; words that are not read (", 0, 1, 0);
    assert_reads("kind = square: [kind = round] a + twos p b", 0, 2, 0);
    assert_reads("min(p, n) a + max(p, n) b", 5, 12, 0);
    assert_reads("lg 8 a + floor(lg 125 / lg 5) b", 3, 3, 0);
    assert_says_nothing("b = 0: a", false);
    assert_says_nothing("kind = round: a", false);
    assert_says_nothing("k a", true);
    assert_says_nothing("x a, x = x", true);
    assert_says_nothing("(a", true);
    assert_says_nothing("a )", true);
    assert_says_nothing("p: a", true);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(formulas_are_read_as_they_are_printed),
        cmocka_unit_test(a_formula_gives_the_cost_of_its_algorithm),
        cmocka_unit_test(a_formula_holds_for_a_million_ranks),
    };

    return cmocka_run_group_tests_name("formulas", tests, NULL, NULL);
}
