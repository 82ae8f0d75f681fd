/* SPDX-License-Identifier: BSD-3-Clause */
/* What entries of the registry say of their algorithms. */
#include "test.h"

#include "core/sched/params.h"

static struct rcx_shape shape_of(const struct rcx_algo *algo, int size)
{
    struct rcx_shape s = {.coll = algo->coll,
                          .size = size,
                          .count = 1000,
                          .elem_bytes = 8,
                          .commutative = true};

    rcx_params_reset(algo, s.params);
    rcx_params_settle(algo, &s, &rcx_machine_usual);
    return s;
}

static void an_order_level_is_a_constant_or_a_function(void **state)
{
    (void)state;
    for (const struct rcx_algo *const *a = rcx_algo_table; *a; a++)
        if (!(*a)->order == !(*a)->level)
            fail_msg("%s %s: %s", rcx_coll_name((*a)->coll), (*a)->name,
                     (*a)->order ? "both" : "neither");
}

static void a_function_is_for_levels_that_depend_on_the_shape(void **state)
{
    enum { MOST = 64 };

    (void)state;
    for (const struct rcx_algo *const *a = rcx_algo_table; *a; a++) {
        bool differ = false;

        for (int p = 2; p <= MOST && (*a)->order; p++) {
            const struct rcx_shape two = shape_of(*a, 2), s = shape_of(*a, p);

            differ |= (*a)->order(&s) != (*a)->order(&two);
        }
        /* parameters count, too */
        assert_true(differ || !(*a)->order || (*a)->params);
    }
}

static void a_single_rank_has_nothing_to_order(void **state)
{
    static const struct rcx_algo loose = {.level = RCX_ORDER_LOOSE};
    const struct rcx_shape alone = {.size = 1}, two = {.size = 2};

    (void)state;
    assert_int_equal(rcx_algo_order(&loose, &alone), RCX_ORDER_CANONICAL);
    assert_int_equal(rcx_algo_order(&loose, &two), RCX_ORDER_LOOSE);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_order_level_is_a_constant_or_a_function),
        cmocka_unit_test(a_function_is_for_levels_that_depend_on_the_shape),
        cmocka_unit_test(a_single_rank_has_nothing_to_order),
    };

    return cmocka_run_group_tests_name("algo", tests, NULL, NULL);
}
