/* SPDX-License-Identifier: BSD-3-Clause */
/* The number of messages of each barrier, of all ranks together, against its
 * formula. proof_prove() also shows that it is a barrier. */
#include "test.h"

#include "core/sched/params.h"
#include "prove.h"

enum { SIZES = TIMES(33, 9) };

static void check(const char *name, const char *parameter, const char *value,
                  int size, int expected)
{
    const struct proof_options options = {.seed = 1, .runs = 1};
    struct proof_case c = {.algo = rcx_algo_find(RCX_COLL_BARRIER, name),
                           .size = size,
                           .commutative = true};
    struct proof_report report;

    assert_non_null(c.algo);
    rcx_params_reset(c.algo, c.params);
    if (parameter)
        assert_true(rcx_params_parse(c.algo, parameter, value, c.params));
    if (!proof_prove(&c, &options, &report))
        fail_msg("%s", report.text);
    if (report.messages != (uint64_t)expected)
        fail_msg("%s %s, p=%d: %d messages, not %d", name, value, size,
                 (int)report.messages, expected);
}

/* Return the rounds: for each power of radix below size, radix - 1, or fewer
 * for the highest. */
static int rounds_of(int size, int radix)
{
    int rounds = 0;

    for (int w = 1; w < size; w *= radix)
        for (int digit = 1; digit < radix && digit * w < size; digit++)
            rounds++;
    return rounds;
}

static void dissemination_sends_from_every_rank_in_every_round(void **state)
{
    (void)state;
    for (int p = 1; p <= SIZES; p++) {
        check("dissemination", NULL, "", p, p * rounds_of(p, 2));
        check("dissemination", "radix", "3", p, p * rounds_of(p, 3));
        check("dissemination", "radix", "8", p, p * rounds_of(p, 8));
        check("dissemination", "radix", "100", p, p * (p - 1));
    }
}

static void a_tree_sends_once_up_and_once_down_each_edge(void **state)
{
    (void)state;
    for (int p = 1; p <= SIZES; p++) {
        check("tree", NULL, "", p, 2 * (p - 1));
        check("tree", "topology", "flat", p, 2 * (p - 1));
        check("tree", "topology", "binary", p, 2 * (p - 1));
        check("tree", "topology", "chain", p, 2 * (p - 1));
    }
}

static void recursive_doubling_sends_along_every_dimension(void **state)
{
    (void)state;
    for (int p = 1; p <= SIZES; p++) {
        int cube = 1, rounds = 0;

        for (; 2 * cube <= p; cube *= 2)
            rounds++;
        check("recursive_doubling", NULL, "", p,
              cube * rounds + 2 * (p - cube));
    }
}

static void a_double_ring_sends_twice_from_every_rank(void **state)
{
    (void)state;
    for (int p = 2; p <= SIZES; p++)
        check("double_ring", NULL, "", p, 2 * p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(dissemination_sends_from_every_rank_in_every_round),
        cmocka_unit_test(a_tree_sends_once_up_and_once_down_each_edge),
        cmocka_unit_test(recursive_doubling_sends_along_every_dimension),
        cmocka_unit_test(a_double_ring_sends_twice_from_every_rank),
    };

    return cmocka_run_group_tests_name("barriers", tests, NULL, NULL);
}
