/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Algorithms that librcx has only with -Dalgorithms=all: what the error says
 * where their names are forced. This test has librcx's table of algorithms,
 * other tests have the simulator's.
 */
#include "test.h"

#include <string.h>

#include "algo/algorithms.h"
#include "core/sched/method.h"

static const char *const optional[] = {
    RCX_ALGORITHMS(RCX_ALGORITHM_NONE, RCX_ALGORITHM_NAME) NULL};

/* Split "rcx_COLLECTIVE_NAME" and return NAME. The longest collective is meant:
 * not reduce, where it is reduce_scatter. */
static const char *name_of(const char *symbol, enum rcx_coll *coll_p)
{
    const char *text = symbol + strlen("rcx_"), *name = NULL;
    size_t longest = 0;

    *coll_p = RCX_COLL_ALLREDUCE;
    for (int i = 0; i < RCX_COLL_COUNT; i++) {
        const char *coll = rcx_coll_name((enum rcx_coll)i);
        const size_t length = strlen(coll);

        if (length <= longest || strncmp(text, coll, length) != 0 ||
            text[length] != '_')
            continue;
        longest = length;
        *coll_p = (enum rcx_coll)i;
        name = text + length + 1;
    }
    assert_non_null(name);
    return name;
}

static void every_optional_algorithm_is_in_the_table_or_left_out(void **state)
{
    const bool has_all = !rcx_algo_left_out[0];
    int left_out = 0;

    (void)state;
    assert_non_null(optional[0]);
    for (int i = 0; optional[i]; i++) {
        enum rcx_coll coll;
        const char *name = name_of(optional[i], &coll);

        assert_int_equal(rcx_algo_find(coll, name) != NULL, has_all);
        assert_int_equal(rcx_algo_is_left_out(coll, name), !has_all);
        left_out += !has_all;
    }
    for (int i = 0; rcx_algo_left_out[i]; i++)
        left_out--;
    assert_int_equal(left_out, 0);
}

static void a_forced_name_that_is_left_out_is_told_the_option(void **state)
{
    (void)state;
    for (int i = 0; optional[i]; i++) {
        struct rcx_refusal r = {.valid = ""};
        struct rcx_method_spec spec;
        enum rcx_coll coll;
        const char *name = name_of(optional[i], &coll);

        if (!rcx_algo_left_out[0]) {
            assert_true(rcx_method_parse(name, coll, &spec, &r));
            continue;
        }
        assert_false(rcx_method_parse(name, coll, &spec, &r));
        assert_non_null(strstr(r.valid, name));
        assert_non_null(strstr(r.valid, rcx_coll_name(coll)));
        assert_non_null(strstr(r.valid, "-Dalgorithms=all"));
    }
}

static void an_unknown_name_is_told_nothing_of_it(void **state)
{
    struct rcx_refusal r = {.valid = ""};
    struct rcx_method_spec spec;

    (void)state;
    assert_false(rcx_method_parse("swung", RCX_COLL_ALLREDUCE, &spec, &r));
    assert_string_equal(r.valid, "");
    assert_false(rcx_algo_is_left_out(RCX_COLL_ALLREDUCE, "ring"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_optional_algorithm_is_in_the_table_or_left_out),
        cmocka_unit_test(a_forced_name_that_is_left_out_is_told_the_option),
        cmocka_unit_test(an_unknown_name_is_told_nothing_of_it),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
