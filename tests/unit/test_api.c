/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Every collective in every form and place on 1 to 9 ranks, compared with a
 * serial reduction. Ranks share a thread over the simulated network, so
 * blocking calls are made by a single process only. Wrong arguments are in
 * test_api_errors.c and test_api_blocks.c.
 */
#include "test.h"

#include <stdlib.h>
#include <string.h>

#include "calls.h"

enum { RANKS = 9, COUNTS = 7 };

static void counts_around(size_t p, size_t counts[COUNTS])
{
    const size_t list[COUNTS] = {0, 1, 2, p - 1, p, p + 1, 7 * p + 3};

    memcpy(counts, list, sizeof list);
}

/* Choose blocks of different sizes, some of them empty, of about n elements in
 * total. */
static void uneven(size_t p, size_t n, size_t recvcounts[MOST_RANKS])
{
    for (size_t i = 0; i < p; i++)
        recvcounts[i] = (i * 5 + n) % 3 == 0 ? 0 : (i * 7 + n) % (n / p + 2);
}

static void run_all_counts(struct job *job, struct call call, bool persistent)
{
    size_t counts[COUNTS], recvcounts[MOST_RANKS];

    counts_around((size_t)job->size, counts);
    for (int i = 0; i < COUNTS; i++) {
        call.count = counts[i];
        if (collectives[call.coll].irregular) {
            uneven((size_t)job->size, counts[i], recvcounts);
            call.blocks = recvcounts;
        }
        calls_run(job, &call, persistent);
    }
}

static void run_all_forms(struct job *job, enum collective coll)
{
    const int roots = collective_is_rooted(coll) ? job->size : 1;

    for (int place = 0; place <= MIXED; place++) {
        for (int root = 0; root < roots; root++) {
            const struct call call = {.coll = coll,
                                      .place = (enum place)place,
                                      .root = root,
                                      .kind = &sums};

            if (!collective_has_place(coll, (enum place)place))
                continue;
            run_all_counts(job, call, false);
            run_all_counts(job, call, true);
        }
    }
}

static void run_everywhere(enum collective coll, const char *name,
                           const char *value)
{
    for (int p = 1; p <= RANKS; p++) {
        struct job job;

        open_with(&job, p, name, value, NULL);
        run_all_forms(&job, coll);
        assert_ok(job_close(&job));
    }
}

static void allreduce_equals_the_serial_reduction(void **state)
{
    (void)state;
    run_everywhere(ALLREDUCE, NULL, NULL);
}

static void
allreduce_by_each_algorithm_equals_the_serial_reduction(void **state)
{
    (void)state;
    run_everywhere(ALLREDUCE, "RCX_ALLREDUCE", "ring");
    run_everywhere(ALLREDUCE, "RCX_ALLREDUCE", "recursive_doubling");
}

/* Get the method by which rank 0 runs an allreduce of count 64-bit integers. */
static void method_of(struct job *job, size_t count, rcx_op_t op,
                      char text[128])
{
    rcx_request_t *request;
    int64_t x = 0;

    assert_ok(rcx_allreduce_init(&x, &x, count, RCX_INT64, op, world_of(job, 0),
                                 &request));
    snprintf(text, 128, "%s", rcx_request_method(request));
    assert_ok(rcx_request_free(&request));
}

/* generalized on the xor group needs a power of two of ranks. For other sizes
 * the method must be the one without the preference. */
static void
a_preferred_algorithm_is_passed_over_where_it_does_not_fit(void **state)
{
    static const char name[] = "generalized:group=xor,segment=64,window=3";
    char value[64], with[128], without[128];

    (void)state;
    snprintf(value, sizeof value, "prefer:%s", name);
    for (int p = 1; p <= RANKS; p++) {
        struct job job;

        open_with(&job, p, NULL, NULL, NULL);
        method_of(&job, 1000, RCX_SUM, without);
        assert_ok(job_close(&job));
        open_with(&job, p, "RCX_ALLREDUCE", value, NULL);
        method_of(&job, 1000, RCX_SUM, with);
        assert_string_equal(with, p & (p - 1) ? without : name);
        run_all_forms(&job, ALLREDUCE);
        assert_ok(job_close(&job));
    }
}

/* The ring does not keep rank order, which a non-commutative op needs. So the
 * preference must have no effect for RCX_REPLACE, but must have one for
 * RCX_SUM. */
static void
a_preferred_algorithm_is_passed_over_where_order_needs_it(void **state)
{
    char with[128], without[128];
    struct job job;

    (void)state;
    open_with(&job, 5, NULL, NULL, NULL);
    method_of(&job, 1 << 20, RCX_REPLACE, without);
    assert_ok(job_close(&job));
    open_with(&job, 5, "RCX_ALLREDUCE", "prefer:ring", NULL);
    method_of(&job, 1 << 20, RCX_REPLACE, with);
    assert_string_equal(with, without);
    method_of(&job, 1, RCX_SUM, with);
    assert_string_equal(with, "ring");
    assert_ok(job_close(&job));
}

static void segmented_allreduce_equals_the_serial_reduction(void **state)
{
    (void)state;
    run_everywhere(ALLREDUCE, "RCX_ALLREDUCE", "ring:segment=64,window=3");
    run_everywhere(ALLREDUCE, "RCX_ALLREDUCE",
                   "recursive_doubling:segment=8,window=8");
}

static void reduce_to_every_root_equals_the_serial_reduction(void **state)
{
    (void)state;
    run_everywhere(REDUCE, NULL, NULL);
}

static void segmented_reduce_equals_the_serial_reduction(void **state)
{
    (void)state;
    run_everywhere(REDUCE, "RCX_REDUCE", "binomial:segment=24,window=2");
}

static void
reduce_scatter_of_uneven_blocks_equals_the_serial_reduction(void **state)
{
    (void)state;
    run_everywhere(REDUCE_SCATTER, NULL, NULL);
}

static void
reduce_scatter_of_equal_blocks_equals_the_serial_reduction(void **state)
{
    (void)state;
    run_everywhere(REDUCE_SCATTER_BLOCK, NULL, NULL);
}

static void some_ranks_may_receive_nothing(void **state)
{
    static const size_t cases[][4] = {
        {0, 0, 0, 0}, {5, 0, 0, 0}, {0, 0, 0, 5}, {0, 3, 0, 2}, {1, 0, 100, 0}};
    struct job job;

    (void)state;
    open_with(&job, 4, NULL, NULL, NULL);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        for (int place = 0; place <= MIXED; place++) {
            const struct call call = {.coll = REDUCE_SCATTER,
                                      .place = (enum place)place,
                                      .blocks = cases[i],
                                      .kind = &sums};

            calls_run(&job, &call, false);
            calls_run(&job, &call, true);
        }
    }
    assert_ok(job_close(&job));
}

static void every_delivery_order_gives_the_same(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < 30; seed++) {
        const struct job_options options = {.seed = seed};
        struct job job;

        open_with(&job, 7, NULL, NULL, &options);
        for (int coll = 0; coll < COLLECTIVES; coll++) {
            const size_t recvcounts[] = {3, 0, 9, 1, 4, 2, 8};
            const struct call call = {.coll = (enum collective)coll,
                                      .place = MIXED,
                                      .root = 4,
                                      .count = 23,
                                      .blocks = recvcounts,
                                      .kind = &sums};

            calls_run(&job, &call, false);
        }
        assert_ok(job_close(&job));
    }
}

static void blocking_calls_of_a_single_process_copy(void **state)
{
    const size_t counts[] = {0, 1, 1000};
    rcx_context_t *context;
    struct job job = {.size = 1, .contexts = &context};

    (void)state;
    assert_ok(rcx_init(NULL, &context));
    assert_int_equal(rcx_comm_size(rcx_world(context)), 1);
    assert_int_equal(rcx_comm_rank(rcx_world(context)), 0);
    for (int coll = 0; coll < COLLECTIVES; coll++) {
        for (int i = 0; i < (MIXED + 1) * 3; i++) {
            const enum place place = (enum place)(i / 3);
            const struct call call = {.coll = (enum collective)coll,
                                      .place = place,
                                      .count = counts[i % 3],
                                      .blocks = &counts[i % 3],
                                      .kind = &sums};
            struct calls c;

            if (!collective_has_place(call.coll, place))
                continue;
            calls_open(&c, &job, &call);
            assert_ok(calls_block(&c, 0));
            calls_check(&c);
            calls_close(&c);
        }
    }
    assert_ok(rcx_finalize(&context));
    assert_null(context);
}

static void need_18_buffers_may_be_null_where_counts_are_zero(void **state)
{
    const size_t zero = 0;
    rcx_context_t *context;

    (void)state;
    assert_ok(rcx_init(NULL, &context));
    for (int i = 0; i < 2 * COLLECTIVES; i++) {
        const enum collective coll = (enum collective)(i / 2);
        const bool marks = i % 2 && collective_has_place(coll, IN_PLACE) &&
                           collectives[coll].giver == ALL_RANKS;
        const struct arguments nothing = {.sendbuf =
                                              marks ? RCX_IN_PLACE : NULL,
                                          .blocks = &zero,
                                          .sendcounts = &zero,
                                          .type = RCX_INT8,
                                          .op = RCX_SUM,
                                          .comm = rcx_world(context)};

        assert_ok(collective_call(coll, BLOCKING, &nothing, NULL));
    }
    assert_ok(rcx_finalize(&context));
}

static void recvcounts_are_copied(void **state)
{
    static const size_t recvcounts[] = {2, 5, 0};
    const struct call call = {
        .coll = REDUCE_SCATTER, .blocks = recvcounts, .kind = &sums};
    struct calls c;
    struct job job;

    (void)state;
    open_with(&job, 3, NULL, NULL, NULL);
    calls_open(&c, &job, &call);
    calls_make(&c, true);
    for (int i = 0; i < 3; i++) /* attempt_call() has overwritten them */
        assert_true(c.attempts[i].arguments.blocks[0] == SIZE_MAX);
    calls_start(&c);
    calls_wait(&c, RCX_OK);
    calls_check(&c);
    calls_close(&c);
    assert_ok(job_close(&job));
}

static void the_communicator_knows_rank_and_size(void **state)
{
    struct job job;

    (void)state;
    open_with(&job, 3, NULL, NULL, NULL);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(rcx_comm_rank(rcx_world(job.contexts[i])), i);
        assert_int_equal(rcx_comm_size(rcx_world(job.contexts[i])), 3);
    }
    assert_ok(job_close(&job));
    assert_int_equal(rcx_comm_rank(NULL), -1);
    assert_int_equal(rcx_comm_size(NULL), -1);
    assert_null(rcx_world(NULL));
}

static void
memory_for_buffers_is_aligned_and_belongs_to_the_caller(void **state)
{
    rcx_context_t *context;
    void *small = NULL, *large = NULL, *peer = NULL;

    (void)state;
    assert_ok(rcx_init(NULL, &context));
    assert_ok(rcx_mem_alloc(rcx_world(context), 1, &small));
    assert_ok(rcx_mem_alloc(rcx_world(context), 100000, &large));
    assert_int_equal((uintptr_t)small % 64, 0);
    assert_int_equal((uintptr_t)large % 64, 0);
    memset(large, 1, 100000);
    memset(small, 2, 1);
    assert_int_equal(((char *)large)[99999], 1);
    assert_ok(rcx_mem_peers(rcx_world(context), large, &peer));
    assert_ptr_equal(peer, large);
    assert_int_equal(
        rcx_mem_peers(rcx_world(context), (char *)large + 1, &peer),
        RCX_ERR_ARG);
    assert_ok(rcx_mem_free(rcx_world(context), large));
    assert_ok(rcx_mem_register(rcx_world(context), &large, sizeof large));
    assert_ok(rcx_finalize(&context)); /* frees small, and deregisters large */
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(allreduce_equals_the_serial_reduction),
        cmocka_unit_test(
            allreduce_by_each_algorithm_equals_the_serial_reduction),
        cmocka_unit_test(
            a_preferred_algorithm_is_passed_over_where_it_does_not_fit),
        cmocka_unit_test(
            a_preferred_algorithm_is_passed_over_where_order_needs_it),
        cmocka_unit_test(segmented_allreduce_equals_the_serial_reduction),
        cmocka_unit_test(reduce_to_every_root_equals_the_serial_reduction),
        cmocka_unit_test(segmented_reduce_equals_the_serial_reduction),
        cmocka_unit_test(
            reduce_scatter_of_uneven_blocks_equals_the_serial_reduction),
        cmocka_unit_test(
            reduce_scatter_of_equal_blocks_equals_the_serial_reduction),
        cmocka_unit_test(some_ranks_may_receive_nothing),
        cmocka_unit_test(every_delivery_order_gives_the_same),
        cmocka_unit_test(blocking_calls_of_a_single_process_copy),
        cmocka_unit_test(need_18_buffers_may_be_null_where_counts_are_zero),
        cmocka_unit_test(recvcounts_are_copied),
        cmocka_unit_test(the_communicator_knows_rank_and_size),
        cmocka_unit_test(
            memory_for_buffers_is_aligned_and_belongs_to_the_caller),
    };

    return cmocka_run_group_tests_name("api", tests, NULL, NULL);
}
