/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Fails every single allocation of the simulator and of a proof in turn. They
 * must report lack of memory, and nothing else, and leak nothing.
 */
#include "test.h"

#include <string.h>

#include "prove.h"
#include "sim/timing.h"
#include "sim/framed.h"

enum { MOST = 4000 };

static struct proof_case case_of(enum rcx_coll coll, const char *name)
{
    struct proof_case c = {.algo = rcx_algo_find(coll, name),
                           .size = 5,
                           .count = 7,
                           .commutative = true};

    assert_non_null(c.algo);
    rcx_params_reset(c.algo, c.params);
    return c;
}

/* Return the number of allocations that the proof needs. */
static uint64_t prove_with_ever_more(const struct proof_case *c)
{
    struct proof_report report = {0};
    uint64_t budget = 0;
    bool good = false;

    for (; !good && budget < MOST; budget++) {
        struct rcx_heap heap = {.budget = budget};
        const struct proof_options options = {
            .seed = 1, .runs = 2, .heap = &heap};

        good = proof_prove(c, &options, &report);
        if (!good && !strstr(report.text, "no memory"))
            fail_msg("%llu allocations: %s", (unsigned long long)budget,
                     report.text);
        assert_int_equal(report.lacks_memory, !good);
        assert_int_equal(heap.live, 0);
    }
    assert_true(good);
    return budget - 1;
}

static void a_proof_survives_every_lack_of_memory(void **state)
{
    static const int odd[] = {1, 3, 5, 7, 9};
    static const struct simulated_frame every_second = {
        .size = 11, .members = odd, .first = 1, .stride = 2};
    struct proof_case c = case_of(RCX_COLL_ALLREDUCE, "ring");

    (void)state;
    /* five plans, five executions, five gated plans, and single blocks */
    assert_true(prove_with_ever_more(&c) > 20);
    c = case_of(RCX_COLL_REDUCE, "binomial");
    assert_true(prove_with_ever_more(&c) > 20);
    c = case_of(RCX_COLL_BARRIER, "dissemination");
    assert_true(prove_with_ever_more(&c) > 20);
    c = case_of(RCX_COLL_REDUCE_SCATTER, "pairwise");
    c.blocks = PROOF_HUGE;
    c.segment = 3;
    assert_true(prove_with_ever_more(&c) > 20);
    c = case_of(RCX_COLL_ALLTOALL, "bruck"); /* has a list of its own */
    assert_true(prove_with_ever_more(&c) > 20);
    c = case_of(RCX_COLL_REDUCE_SCATTER, "circulant"); /* has lists, too */
    c.params[0] = 2;
    assert_true(prove_with_ever_more(&c) > 20);
    c = case_of(RCX_COLL_ALLTOALLV, "bruck"); /* and a list of lengths */
    assert_true(prove_with_ever_more(&c) > 20);
    c = case_of(RCX_COLL_ALLREDUCE, "ring");
    c.frame = &every_second;
    assert_true(prove_with_ever_more(&c) > 20);
}

/* Make schedules wrong: each reduce combines its left operand with itself. The
 * proof must report either this or lack of memory, not both. */
static void forget(struct rcx_builder *b, const struct rcx_shape *s, void *arg)
{
    (void)s, (void)arg;
    for (uint32_t i = 0; i < b->step_count; i++)
        if (b->steps[i].kind == RCX_STEP_REDUCE)
            b->steps[i].right_at = b->steps[i].left_at,
            b->steps[i].right = b->steps[i].left;
}

static void lack_of_memory_is_distinguished_from_a_wrong_schedule(void **state)
{
    static const struct simulation_hooks hooks = {.steps = forget};
    const struct proof_case c = case_of(RCX_COLL_ALLREDUCE, "ring");
    bool found = false, spelled = false;

    (void)state;
    for (uint64_t budget = 0; !spelled && budget < MOST; budget++) {
        struct rcx_heap heap = {.budget = budget};
        const struct proof_options options = {
            .seed = 1, .runs = 2, .heap = &heap, .hooks = &hooks};
        struct proof_report report;

        assert_false(proof_prove(&c, &options, &report));
        assert_int_equal(heap.live, 0);
        found |= !report.lacks_memory;
        assert_int_equal(report.lacks_memory, !found);
        assert_int_equal(strstr(report.text, "not each operand") != NULL,
                         found);
        spelled = strstr(report.text, "the tree:") != NULL;
    }
    assert_true(spelled);
}

static bool open_and_time(struct simulation *s, struct rcx_heap *heap,
                          const struct simulated_call *call)
{
    const struct rcx_machine machine = {.alpha = 1, .beta = 1, .gamma = 1};
    struct rcx_cost cost;
    double time, *ends;

    if (!simulation_open(s, call) || !simulation_clock(s, &cost) ||
        !simulation_time(s, &machine, SIMULATION_OVERLAP, &time))
        return false;
    ends = simulation_ends(s, NULL);
    rcx_heap_free(heap, ends);
    return ends != NULL;
}

static void the_clock_survives_every_lack_of_memory(void **state)
{
    const struct proof_case c = case_of(RCX_COLL_ALLREDUCE, "ring");
    uint64_t budget = 0;
    bool good = false;

    (void)state;
    for (; !good && budget < MOST; budget++) {
        struct rcx_heap heap = {.budget = budget};
        struct simulated_call call = proof_call_of(&c, &heap);
        struct simulation s;

        good = open_and_time(&s, &heap, &call);
        assert_int_equal(s.lacks_memory, !good);
        if (!good)
            assert_string_equal(s.text, "no memory");
        simulation_close(&s);
        proof_call_free(&call);
        assert_int_equal(heap.live, 0);
    }
    assert_true(good);
    assert_true(budget > 15); /* four for each of three walks, and the plans */
}

static void a_size_that_overflows_is_lack_of_memory(void **state)
{
    const struct proof_options options = {.seed = 1, .runs = 1};
    struct proof_case c = case_of(RCX_COLL_ALLREDUCE, "recursive_doubling");
    struct proof_report report;

    (void)state;
    c.size = 1 << 10;
    c.count = SIZE_MAX / 1024; /* in bytes, or times ranks, more than 64 bits */
    assert_false(proof_prove(&c, &options, &report));
    assert_true(report.lacks_memory);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_proof_survives_every_lack_of_memory),
        cmocka_unit_test(lack_of_memory_is_distinguished_from_a_wrong_schedule),
        cmocka_unit_test(the_clock_survives_every_lack_of_memory),
        cmocka_unit_test(a_size_that_overflows_is_lack_of_memory),
    };

    return cmocka_run_group_tests_name("no_memory", tests, NULL, NULL);
}
