/* SPDX-License-Identifier: BSD-3-Clause */
/* Consistency of the table of collectives (core/sched/coll.h), on which
 * registry, proofs and tools rely, and its agreement with the tests' own table,
 * which follows rcx.h. No schedules are run. */
#include "test.h"

#include <string.h>

#include "collectives.h"
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

static void every_row_with_a_variable_has_a_description(void **state)
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
        assert_true(row->gets == RCX_EXTENT_BLOCKS ||
                    !rcx_coll_allows((enum rcx_coll)coll, RCX_ALIAS_OWN));
    }
}

/* Proofs, rcx_info and the fallback of the selection find algorithms in the
 * table, so every collective needs one there. */
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

/* Call fn for every collective, rank, size up to LARGEST, and root. */
static void for_shapes(void (*fn)(struct rcx_shape *s))
{
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
                        fn(&s);
                }
}

static void every_result_element_has_operands_that_exist(void **state)
{
    (void)state;
    for_shapes(check_origin);
}

/* The tests' row of a collective. Several functions of rcx.h may be one
 * collective of the library; then it is that with the library's name. */
static const struct collective_row *tested_as(const struct rcx_coll_row *row)
{
    const enum collective coll = collective_by_name(row->name);

    if (coll == COLLECTIVES)
        fail_msg("tests/support/collectives.c has no row for %s", row->name);
    return &collectives[coll];
}

static void every_public_row_equals_its_row_in_the_tests(void **state)
{
    (void)state;
    for (int coll = 0; coll < RCX_COLL_COUNT; coll++) {
        const struct rcx_coll_row *row = &rcx_colls[coll];
        const struct collective_row *tested;

        if (!row->variable)
            continue;
        tested = tested_as(row);
        assert_string_equal(tested->variable, row->variable);
        assert_int_equal(tested->gives, row->gives);
        assert_int_equal(tested->gets, row->gets);
        assert_int_equal(tested->giver, row->giver);
        assert_int_equal(tested->getter, row->getter);
        assert_int_equal(tested->is_local, row->is_local);
        assert_int_equal(tested->is_prefix, row->is_prefix);
        assert_int_equal(tested->reduces, row->reduces);
    }
}

/* Compare expect() of a shape with the definition of the result in the tests'
 * table. */
static void check_definition(struct rcx_shape *s)
{
    const enum collective coll = collective_by_name(rcx_coll_name(s->coll));
    size_t blocks[LARGEST], i = 0;
    const struct view v = {s->rank, s->size, s->root, s->count, blocks};

    if (!rcx_colls[s->coll].variable)
        return;
    for (int k = 0; k < s->size; k++)
        blocks[k] = rcx_shape_block(s, k).count;
    for (int k = 0; k < view_parts(&v, coll); k++) {
        const struct part part = view_part(&v, coll, k);

        for (size_t n = 0; n < part.count; n++, i++) {
            const struct rcx_expected e = rcx_colls[s->coll].expect(s, i);

            assert_int_equal(e.lo, part.lo);
            assert_int_equal(e.hi, part.hi);
            assert_int_equal(e.index,
                             collectives[coll].is_local ? n : part.index + n);
        }
    }
    assert_int_equal(i, rcx_shape_out_count(s));
    assert_int_equal(view_given(&v, coll), rcx_shape_in_count(s));
}

static void operands_of_result_elements_are_those_of_rcx_h(void **state)
{
    (void)state;
    for_shapes(check_definition);
}

static void messages_name_the_function_that_is_called(void **state)
{
    static const struct {
        enum rcx_coll coll;
        const char *even, *uneven;
    } rows[] = {
        {RCX_COLL_SCATTER, "scatter", "scatterv"},
        {RCX_COLL_GATHER, "gather", "gatherv"},
        {RCX_COLL_ALLGATHER, "allgather", "allgatherv"},
        {RCX_COLL_REDUCE_SCATTER, "reduce_scatter_block", "reduce_scatter"},
        {RCX_COLL_ALLTOALLV, "alltoallv", "alltoallv"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        assert_string_equal(rcx_coll_function(rows[i].coll, false),
                            rows[i].even);
        assert_string_equal(rcx_coll_function(rows[i].coll, true),
                            rows[i].uneven);
    }
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_row_has_a_name_of_its_own),
        cmocka_unit_test(every_row_with_a_variable_has_a_description),
        cmocka_unit_test(extents_and_in_place_forms_fit_together),
        cmocka_unit_test(every_row_has_an_algorithm_which_the_proofs_find),
        cmocka_unit_test(every_result_element_has_operands_that_exist),
        cmocka_unit_test(every_public_row_equals_its_row_in_the_tests),
        cmocka_unit_test(operands_of_result_elements_are_those_of_rcx_h),
        cmocka_unit_test(messages_name_the_function_that_is_called),
    };

    return cmocka_run_group_tests_name("coll", tests, NULL, NULL);
}
