/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Schedules of some algorithms for 4 and 5 ranks, compared with texts that are
 * reviewed like code (golden/NAME.txt). After an intended change, review the
 * text that the failure prints, and replace the file with it.
 */
#include "test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/sched/algo.h"
#include "core/sched/params.h"

/* Print the schedules of all ranks, a paragraph each. */
static char *print_all(enum rcx_coll coll, const char *name, int size, int root,
                       size_t count)
{
    const struct rcx_algo *algo = rcx_algo_find(coll, name);
    struct rcx_heap heap = RCX_HEAP_INIT;
    struct rcx_builder b;
    struct rcx_log log;
    size_t bytes;
    char *text = NULL;
    FILE *file = open_memstream(&text, &bytes);

    rcx_log_init(&log);
    rcx_builder_init(&b, &heap, &log);
    for (int rank = 0; rank < size; rank++) {
        struct rcx_shape s = {.coll = coll,
                              .rank = rank,
                              .size = size,
                              .root = root,
                              .count = count,
                              .elem_bytes = 4,
                              .commutative = true};
        struct rcx_plan *plan = NULL;

        rcx_params_reset(algo, s.params);
        rcx_builder_begin(&b, &s);
        algo->build(&b, &s);
        assert_ok(rcx_sched_finish(&b, 1024, &plan));
        fprintf(file, "%srank %d, scratch %zu\n", rank ? "\n" : "", rank,
                plan->scratch);
        rcx_plan_print(plan, file);
        rcx_heap_free(&heap, plan);
    }
    rcx_builder_free(&b);
    fclose(file);
    return text;
}

static char *read_all(const char *path)
{
    FILE *file = fopen(path, "r");
    char *text = calloc(1, 1 << 16);

    if (!file)
        fprintf(stderr, "no file %s\n", path);
    assert_non_null(file);
    assert_true(fread(text, 1, (1 << 16) - 1, file) > 0);
    fclose(file);
    return text;
}

static void check_golden(const char *name, char *text)
{
    char path[512];
    char *golden;

    snprintf(path, sizeof path, "%s/%s.txt", GOLDEN, name);
    golden = read_all(path);
    if (strcmp(text, golden) != 0)
        fprintf(stderr, "%s is not:\n%s\n", path, text);
    assert_true(strcmp(text, golden) == 0);
    free(golden);
    free(text);
}

static void allreduce_by_recursive_doubling_is_as_reviewed(void **state)
{
    (void)state;
    check_golden("allreduce_recursive_doubling_4",
                 print_all(RCX_COLL_ALLREDUCE, "recursive_doubling", 4, 0, 8));
    check_golden("allreduce_recursive_doubling_5",
                 print_all(RCX_COLL_ALLREDUCE, "recursive_doubling", 5, 0, 8));
}

static void allreduce_by_a_ring_is_as_reviewed(void **state)
{
    (void)state;
    check_golden("allreduce_ring_4",
                 print_all(RCX_COLL_ALLREDUCE, "ring", 4, 0, 10));
    check_golden("allreduce_ring_5",
                 print_all(RCX_COLL_ALLREDUCE, "ring", 5, 0, 10));
}

static void reduce_along_a_binomial_tree_is_as_reviewed(void **state)
{
    (void)state;
    check_golden("reduce_binomial_4_root_0",
                 print_all(RCX_COLL_REDUCE, "binomial", 4, 0, 8));
    check_golden("reduce_binomial_4_root_2",
                 print_all(RCX_COLL_REDUCE, "binomial", 4, 2, 8));
    check_golden("reduce_binomial_5_root_0",
                 print_all(RCX_COLL_REDUCE, "binomial", 5, 0, 8));
    check_golden("reduce_binomial_5_root_3",
                 print_all(RCX_COLL_REDUCE, "binomial", 5, 3, 8));
}

static void reduce_scatter_by_pairwise_exchange_is_as_reviewed(void **state)
{
    (void)state;
    check_golden("reduce_scatter_pairwise_4",
                 print_all(RCX_COLL_REDUCE_SCATTER, "pairwise", 4, 0, 8));
    check_golden("reduce_scatter_pairwise_5",
                 print_all(RCX_COLL_REDUCE_SCATTER, "pairwise", 5, 0, 10));
}

static void barrier_by_dissemination_is_as_reviewed(void **state)
{
    (void)state;
    check_golden("barrier_dissemination_4",
                 print_all(RCX_COLL_BARRIER, "dissemination", 4, 0, 0));
    check_golden("barrier_dissemination_5",
                 print_all(RCX_COLL_BARRIER, "dissemination", 5, 0, 0));
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(allreduce_by_recursive_doubling_is_as_reviewed),
        cmocka_unit_test(allreduce_by_a_ring_is_as_reviewed),
        cmocka_unit_test(reduce_along_a_binomial_tree_is_as_reviewed),
        cmocka_unit_test(reduce_scatter_by_pairwise_exchange_is_as_reviewed),
        cmocka_unit_test(barrier_by_dissemination_is_as_reviewed),
    };

    return cmocka_run_group_tests_name("golden", tests, NULL, NULL);
}
