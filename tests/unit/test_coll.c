/* SPDX-License-Identifier: BSD-3-Clause */
/* What everything that goes by the rows of collectives takes for granted. */
#include "test.h"

#include <string.h>

#include "core/sched/algo.h"

enum { LARGEST = 5, COUNT = 60 };

static void every_row_has_a_name_of_its_own(void **state)
{
    (void)state;
    for (int coll = 0; coll < RCX_COLL_COUNT; coll++) {
        assert_non_null(rcx_colls[coll].name);
        assert_int_equal(rcx_coll_by_name(rcx_colls[coll].name), coll);
    }
    assert_int_equal(rcx_coll_by_name("gossip"), RCX_COLL_COUNT);
}

static void what_users_choose_has_words_for_people(void **state)
{
    (void)state;
    for (int coll = 0; coll < RCX_COLL_COUNT; coll++) {
        const struct rcx_coll_row *row = &rcx_colls[coll];

        assert_int_equal(row->variable != NULL, row->chooses != NULL);
        assert_true(!row->variable || strncmp(row->variable, "RCX_", 4) == 0);
    }
}

static void extents_and_in_place_forms_fit_together(void **state)
{
    (void)state;
    for (int coll = 0; coll < RCX_COLL_COUNT; coll++) {
        const struct rcx_coll_row *row = &rcx_colls[coll];

        assert_true(rcx_coll_allows((enum rcx_coll)coll, RCX_ALIAS_NONE));
        assert_int_equal(row->gives == RCX_EXTENT_NONE,
                         row->gets == RCX_EXTENT_NONE);
        assert_int_equal(row->gets != RCX_EXTENT_NONE, row->expect != NULL);
        assert_true(!row->reduces || row->expect);
        assert_true(row->gives == RCX_EXTENT_BLOCKS ||
                    !rcx_coll_allows((enum rcx_coll)coll, RCX_ALIAS_BLOCK));
    }
}

/* The proofs, rcx_info and the fallback of the selection go over the table. */
static void every_row_has_an_algorithm_which_the_proofs_find(void **state)
{
    (void)state;
    for (int coll = 0; coll < RCX_COLL_COUNT; coll++) {
        const struct rcx_algo *const *a = rcx_algo_table;

        while (*a && (*a)->coll != (enum rcx_coll)coll)
            a++;
        if (!*a)
            fail_msg("%s has no algorithm", rcx_colls[coll].name);
    }
}

static void check_origin(struct rcx_shape *s)
{
    const struct rcx_coll_row *row = &rcx_colls[s->coll];
    const int rank = s->rank;

    for (size_t i = 0; i < rcx_shape_out_count(s); i++) {
        const struct rcx_expected e = row->expect(s, i);

        assert_in_range(e.lo, 0, s->size - 1);
        assert_in_range(e.hi, e.lo + 1, s->size);
        assert_true(row->reduces || e.hi == e.lo + 1);
        for (s->rank = e.lo; s->rank < e.hi; s->rank++)
            assert_true(e.index < rcx_shape_in_count(s));
        s->rank = rank;
    }
}

static void what_a_result_is_made_of_is_given_by_some_rank(void **state)
{
    (void)state;
    for (int coll = 0; coll < RCX_COLL_COUNT; coll++)
        for (int size = 1; size <= LARGEST; size++)
            for (int root = 0; root < size; root++)
                for (int rank = 0; rank < size; rank++) {
                    struct rcx_shape s = {.coll = (enum rcx_coll)coll,
                                          .rank = rank,
                                          .size = size,
                                          .root = root,
                                          .count = COUNT};

                    if (root == 0 || rcx_coll_is_rooted(s.coll))
                        check_origin(&s);
                }
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_row_has_a_name_of_its_own),
        cmocka_unit_test(what_users_choose_has_words_for_people),
        cmocka_unit_test(extents_and_in_place_forms_fit_together),
        cmocka_unit_test(every_row_has_an_algorithm_which_the_proofs_find),
        cmocka_unit_test(what_a_result_is_made_of_is_given_by_some_rank),
    };

    return cmocka_run_group_tests_name("coll", tests, NULL, NULL);
}
