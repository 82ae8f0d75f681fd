/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What Bienz, Gautam, Kharel 2022 (arXiv 2206.03564) and Huang et al. 2023
 * (PiP-MColl) say of several ranks of each node that take part in a round: on N
 * nodes of c ranks ceil(lg N / lg (c+1)) rounds between nodes, and no more
 * bytes into a node than the others have. Counted in schedules beside those of
 * one leader a node.
 */
#include "test.h"

#include <stdio.h>
#include <string.h>

#include "core/sched/method.h"
#include "prove.h"
#include "sim/links.h"

static struct rcx_heap heap = RCX_HEAP_INIT;

/* Return the crossing of nodes of a call with blocks of one element, or a
 * vector of one. method: as in the environment. */
static struct rcx_crossing crossing_of(enum rcx_coll coll, const char *method,
                                       int nodes, int ranks)
{
    struct rcx_method_spec spec;
    struct rcx_refusal refusal;
    const int size = nodes * ranks;
    struct proof_case c = {.size = size,
                           .count =
                               rcx_coll_has_blocks(coll) ? (size_t)size : 1,
                           .map = PROOF_MAP_BLOCKS,
                           .per_node = ranks,
                           .commutative = true};
    struct rcx_cost cost = {0};
    struct simulated_call call;
    struct simulation s;

    assert_true(rcx_method_parse(method, coll, &spec, &refusal));
    c.algo = spec.algo;
    memcpy(c.params, spec.params, sizeof c.params);
    call = proof_call_of(&c, &heap);
    assert_true(simulation_open(&s, &call));
    assert_true(simulation_links(&s, call.shape.nodes, &cost));
    simulation_close(&s);
    proof_call_free(&call);
    return cost.across[RCX_LEVEL_NODE];
}

/* Return the least k with radix^k >= n. */
static int log_above(int n, int radix)
{
    int k = 0;

    for (int64_t reached = 1; reached < n; reached *= radix)
        k++;
    return k;
}

/* Bundles of alltoall go to the radix that has the fewest rounds. */
static const char *fewest_rounds(enum rcx_coll coll, int ranks)
{
    static char method[64];

    snprintf(method, sizeof method, "multi_object:radix=%d", ranks + 1);
    return coll == RCX_COLL_ALLTOALL ? method : "multi_object";
}

static const enum rcx_coll colls[] = {RCX_COLL_ALLREDUCE, RCX_COLL_ALLGATHER,
                                      RCX_COLL_BARRIER, RCX_COLL_BCAST,
                                      RCX_COLL_ALLTOALL};
enum { COLLS = sizeof colls / sizeof *colls };

static void rounds_between_nodes_are_logarithms_to_c_plus_1(void **state)
{
    (void)state;
    for (int nodes = 2; nodes <= TIMES(20, 12); nodes++)
        for (int ranks = 2; ranks <= 8; ranks++)
            for (int i = 0; i < COLLS; i++)
                assert_true(crossing_of(colls[i],
                                        fewest_rounds(colls[i], ranks), nodes,
                                        ranks)
                                .rounds == log_above(nodes, ranks + 1));
}

/* 4 nodes of 3 ranks: one round, not two; 64 of 8: two, not six. */
static void more_ranks_take_part_in_fewer_rounds(void **state)
{
    static const struct {
        int nodes, ranks, rounds, alone;
    } known[] = {{4, 3, 1, 2}, {5, 2, 2, 3}, {9, 8, 1, 4}, {64, 8, 2, 6}};

    (void)state;
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        const int n = known[i].nodes, c = known[i].ranks;

        for (int k = 0; k < COLLS; k++)
            assert_true(crossing_of(colls[k], fewest_rounds(colls[k], c), n, c)
                            .rounds == known[i].rounds);
        assert_true(
            crossing_of(RCX_COLL_ALLREDUCE, "hierarchical:leaders=1", n, c)
                .rounds >= known[i].alone);
        assert_true(crossing_of(RCX_COLL_BCAST, "hierarchical", n, c).rounds >=
                    known[i].alone);
    }
}

/* Return the digits but 0 of the numbers below nodes. */
static int digits_below(int nodes, int radix)
{
    int digits = 0;

    for (int i = 1; i < nodes; i++)
        for (int rest = i; rest > 0; rest /= radix)
            digits += rest % radix > 0;
    return digits;
}

/* Few rounds cost bytes: a block goes once for each digit of the distance.
 * Otherwise N - 1 messages of a node are shared by its ranks, or each rank
 * sends to all other nodes. */
static void blocks_of_an_alltoall_go_once_for_each_digit(void **state)
{
    (void)state;
    for (int nodes = 2; nodes <= TIMES(20, 10); nodes++) {
        for (int c = 2; c <= 5; c++) {
            const int others = nodes - 1;
            const struct rcx_crossing few =
                crossing_of(RCX_COLL_ALLTOALL,
                            fewest_rounds(RCX_COLL_ALLTOALL, c), nodes, c);
            const struct rcx_crossing once = crossing_of(
                RCX_COLL_ALLTOALL, "multi_object:radix=1000", nodes, c);
            const struct rcx_crossing own =
                crossing_of(RCX_COLL_ALLTOALL,
                            "multi_object:carrier=source,radix=1000", nodes, c);

            assert_true(few.volume == digits_below(nodes, c + 1) * c * c);
            assert_true(once.volume == others * c * c);
            assert_true(once.rounds == (others + c - 1) / c);
            assert_true(own.volume == others * c * c);
            assert_true(own.rounds == others);
        }
    }
}

static void no_block_enters_a_node_twice(void **state)
{
    (void)state;
    for (int nodes = 2; nodes <= TIMES(30, 10); nodes++) {
        for (int ranks = 2; ranks <= 5; ranks++) {
            const double others = nodes - 1;

            assert_true(
                crossing_of(RCX_COLL_ALLGATHER, "multi_object", nodes, ranks)
                    .volume == others * ranks);
            assert_true(
                crossing_of(RCX_COLL_ALLREDUCE, "multi_object", nodes, ranks)
                    .volume == others);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rounds_between_nodes_are_logarithms_to_c_plus_1),
        cmocka_unit_test(more_ranks_take_part_in_fewer_rounds),
        cmocka_unit_test(blocks_of_an_alltoall_go_once_for_each_digit),
        cmocka_unit_test(no_block_enters_a_node_twice),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
