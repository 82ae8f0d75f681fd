/* SPDX-License-Identifier: BSD-3-Clause */
/* Consistency of the registry's algorithms: order levels, and the names under
 * which other libraries know them. Schedules are tested elsewhere. */
#include "test.h"

#include <string.h>

#include "core/sched/params.h"

static struct rcx_shape shape_of(const struct rcx_algo *algo, int size)
{
    struct rcx_shape s = {.coll = algo->coll,
                          .size = size,
                          .count = 1000,
                          .elem_bytes = 8,
                          .commutative = true};

    rcx_params_reset(algo, s.params);
    rcx_params_settle(algo, &s);
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

            if ((*a)->is_by_nodes) /* does not fit a shape without nodes */
                continue;
            differ |= (*a)->order(&s) != (*a)->order(&two);
        }
        /* the level may also depend on parameters or nodes */
        assert_true(differ || !(*a)->order || (*a)->params ||
                    (*a)->is_by_nodes);
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

/* Every method of the OCC manual 2005, section 2.3, must be named in known_as
 * of an algorithm. Topology and segment of OCC are parameters here. */
static void all_names_of_occ_have_their_algorithm(void **state)
{
    static const struct {
        enum rcx_coll coll;
        const char *name, *algo;
    } known[] = {
        {RCX_COLL_BARRIER, "linear", "tree"},
        {RCX_COLL_BARRIER, "Dring", "double_ring"},
        {RCX_COLL_BARRIER, "Recdbl", "recursive_doubling"},
        {RCX_COLL_BARRIER, "Bruck", "dissemination"},
        {RCX_COLL_BCAST, "Generalized Broadcast", "tree"},
        {RCX_COLL_BCAST, "Splitted Binary", "split_binary"},
        {RCX_COLL_REDUCE, "Generalized Reduce", "tree"},
        {RCX_COLL_SCATTER, "Linear", "linear"},
        {RCX_COLL_SCATTER, "Binomial, Binary Scatter", "tree"},
        {RCX_COLL_ALLTOALL, "Linear, Scheduled Linear", "linear"},
        {RCX_COLL_ALLTOALL, "pairwise", "pairwise"},
        {RCX_COLL_ALLTOALL, "Bruck", "bruck"},
        {RCX_COLL_ALLTOALL, "Ring", "ring"},
        {RCX_COLL_ALLREDUCE, "General Allreduce", "tree"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        const struct rcx_algo *algo =
            rcx_algo_find(known[i].coll, known[i].algo);
        const char *name;

        assert_non_null(algo);
        name = strstr(algo->known_as, known[i].name);
        assert_non_null(name);
        assert_memory_equal(algo->known_as, "OCC", 3);
        assert_true(name < algo->known_as + strcspn(algo->known_as, ";"));
    }
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_order_level_is_a_constant_or_a_function),
        cmocka_unit_test(a_function_is_for_levels_that_depend_on_the_shape),
        cmocka_unit_test(a_single_rank_has_nothing_to_order),
        cmocka_unit_test(all_names_of_occ_have_their_algorithm),
    };

    return cmocka_run_group_tests_name("algo", tests, NULL, NULL);
}
