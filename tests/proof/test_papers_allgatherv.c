/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Bounds of Traeff 2022 and 2024 (arXiv 2407.18004 and 2410.14234) for
 * all-broadcast, which is an allgatherv, and for reduce-scatter, which is its
 * reversal: rounds and volume for any distribution of counts.
 */
#include "test.h"

#include "algo/phase/n_blocks_all.h"
#include "core/sched/params.h"
#include "prove.h"

enum { SIZES = 300, EVERY = TIMES(33, 17), PARTS = 5 };

static const enum rcx_coll both[] = {RCX_COLL_ALLGATHER,
                                     RCX_COLL_REDUCE_SCATTER};
static const int parts_tried[PARTS] = {1, 2, 3, 5, 16};

/* With one block, each block reaches a rank once, by the largest skip that
 * leads to the rank. That is the algorithm of 2410.14234; the other lists
 * matter only with more blocks. */
static void one_block_takes_the_largest_skip(void **state)
{
    (void)state;
    for (int p = 2; p <= SIZES; p++) {
        struct rcx_n_blocks n;
        int list[RCX_N_BLOCKS_CYCLE];

        rcx_n_blocks_begin(&n, p, 0, 1);
        for (int d = 1; d < p; d++) {
            rcx_n_blocks_received(&n, d, list);
            for (int i = 0; i < rcx_n_blocks_rounds(p, 1); i++)
                assert_int_equal(
                    rcx_n_blocks_block(&n, list[rcx_n_blocks_entry(&n, i)], i),
                    n.skips[i] <= d && d < n.skips[i + 1] ? 0
                                                          : RCX_N_BLOCKS_NONE);
        }
    }
}

/* ---- Any distribution of counts ------------------------------------------ */

static struct proof_case case_of(enum rcx_coll coll, int size, int parts,
                                 enum proof_blocks blocks)
{
    return (struct proof_case){.algo = rcx_algo_find(coll, "circulant"),
                               .size = size,
                               .count = 7 * (size_t)size + 3,
                               .blocks = blocks,
                               .commutative = true,
                               .params = {parts}};
}

/* Return the number of parts: at most the elements of the longest block. Store
 * the number of all elements. */
static int settle(const struct proof_case *c, double *elements_p)
{
    struct rcx_heap heap = RCX_HEAP_INIT;
    struct simulated_call call = proof_call_of(c, &heap);
    const struct rcx_blocks blocks = rcx_blocks_of(&call.shape);
    const size_t largest = rcx_blocks_largest(&blocks);

    *elements_p = (double)call.shape.count;
    proof_call_free(&call);
    return (size_t)c->params[0] < largest ? (int)c->params[0]
           : largest > 0                  ? (int)largest
                                          : 1;
}

static void expect_bounded(const struct proof_case *c)
{
    const struct proof_options options = {.seed = 1, .runs = 1};
    struct proof_report report;
    double elements, rounds, most;
    const int parts = settle(c, &elements);

    if (!proof_prove(c, &options, &report))
        fail_msg("%s", report.text);
    rounds = parts - 1 + rcx_log2_ceil(c->size);
    most = rounds * (elements / parts + c->size);
    if (report.cost.rounds > rounds || report.cost.volume > most ||
        report.cost.combines > most)
        fail_msg("%s p=%d, %d parts, counts %d: %g rounds, %g sent, %g "
                 "combined; at most %g, %g",
                 rcx_coll_name(c->algo->coll), c->size, parts, (int)c->blocks,
                 report.cost.rounds, report.cost.volume, report.cost.combines,
                 rounds, most);
    if (c->blocks == PROOF_EQUAL || c->blocks == PROOF_HUGE)
        assert_true(report.cost.rounds == rounds);
}

static void volume_is_bounded_however_counts_are_spread(void **state)
{
    (void)state;
    for (int p = 2; p <= EVERY; p++) {
        for (int i = 0; i < PARTS * PROOF_BLOCKS; i++) {
            for (int k = 0; k < 2; k++) {
                const struct proof_case c =
                    case_of(both[k], p, parts_tried[i / PROOF_BLOCKS],
                            (enum proof_blocks)(i % PROOF_BLOCKS));

                expect_bounded(&c);
            }
        }
    }
}

/* ---- No needless copies -------------------------------------------------- */

/* Return the elements that the schedule of a rank copies; store its number of
 * steps. */
static size_t copied(const struct proof_case *c, int rank, int *steps_p)
{
    struct rcx_heap heap = RCX_HEAP_INIT;
    struct simulated_call call = proof_call_of(c, &heap);
    struct rcx_shape s = call.shape;
    struct rcx_builder b;
    struct rcx_log log;
    size_t count = 0;

    rcx_log_init(&log);
    rcx_builder_init(&b, &heap, &log);
    s.rank = rank;
    rcx_builder_begin(&b, &s);
    c->algo->build(&b, &s);
    assert_int_equal(b.status, RCX_OK);
    for (uint32_t i = 0; i < b.step_count; i++)
        count += b.steps[i].kind == RCX_STEP_COPY ? b.steps[i].count : 0;
    *steps_p = (int)b.step_count;
    rcx_builder_free(&b);
    proof_call_free(&call);
    assert_int_equal(heap.live, 0);
    return count;
}

static void one_ranks_block_is_sent_from_its_place(void **state)
{
    (void)state;
    for (int p = 2; p <= EVERY; p++) {
        for (int i = 0; i < PARTS; i++) {
            for (int rank = 0; rank < p; rank++) {
                const struct proof_case gather =
                    case_of(RCX_COLL_ALLGATHER, p, parts_tried[i], PROOF_ONE);
                const struct proof_case reduce = case_of(
                    RCX_COLL_REDUCE_SCATTER, p, parts_tried[i], PROOF_ONE);
                int steps;

                assert_int_equal(copied(&gather, rank, &steps),
                                 rank == p / 2 ? gather.count : 0);
                assert_int_equal(copied(&reduce, rank, &steps), 0);
            }
        }
    }
}

/* Runs are interrupted only at the end of the vector, once in each
 * direction. */
static void equal_blocks_are_sent_in_runs(void **state)
{
    (void)state;
    for (int p = 2; p <= EVERY; p++) {
        const struct proof_case c =
            case_of(RCX_COLL_ALLGATHER, p, 1, PROOF_EQUAL);

        for (int rank = 0; rank < p; rank++) {
            int steps;

            assert_true(copied(&c, rank, &steps) < 2 * c.count);
            assert_in_range(steps, 1, 1 + 6 * rcx_log2_ceil(p));
        }
    }
}

/* ---- Another algorithm for the same collective --------------------------- */

/* If one rank has all elements, a message of Bruck's algorithm has at most
 * these. */
static void bruck_sends_all_in_each_message_at_most(void **state)
{
    const struct rcx_algo *algo = rcx_algo_find(RCX_COLL_ALLGATHER, "bruck");

    (void)state;
    for (int p = 2; p <= EVERY; p++) {
        struct proof_case c = {.algo = algo,
                               .size = p,
                               .count = 100,
                               .blocks = PROOF_ONE,
                               .params = {2}};
        const struct proof_options options = {.seed = 1, .runs = 1};
        struct proof_report report;
        struct rcx_heap heap = RCX_HEAP_INIT;
        struct simulated_call call = proof_call_of(&c, &heap);

        assert_true(algo->cost(&call.shape).volume == 100 * rcx_log2_ceil(p));
        proof_call_free(&call);
        if (!proof_prove(&c, &options, &report))
            fail_msg("%s", report.text);
        assert_in_range(report.cost.volume, 100, 100 * rcx_log2_ceil(p));
    }
}

/* ---- Resolution of blocks=auto ------------------------------------------- */

static int64_t best_parts(enum rcx_coll coll, int size, const size_t *displs)
{
    const struct rcx_algo *algo = rcx_algo_find(coll, "circulant");
    struct rcx_shape s = {.coll = coll,
                          .size = size,
                          .count = displs ? displs[size] : 1 << 20,
                          .displs = displs,
                          .elem_bytes = 8,
                          .commutative = true};

    rcx_params_reset(algo, s.params);
    rcx_params_settle(algo, &s);
    return s.params[0];
}

/* Equal blocks are not cut. The block of a single rank is cut as by a
 * broadcast. */
static void only_uneven_counts_are_cut(void **state)
{
    enum { MANY = 100 };
    size_t displs[MANY + 1] = {0};

    (void)state;
    for (int i = 3; i <= MANY; i++)
        displs[i] = 1 << 20;
    for (int k = 0; k < 2; k++) {
        assert_int_equal(best_parts(both[k], MANY, NULL), 1);
        assert_in_range(best_parts(both[k], MANY, displs), 16, 512);
    }
    assert_int_equal(best_parts(RCX_COLL_ALLGATHER, MANY, displs),
                     best_parts(RCX_COLL_BCAST, MANY, displs));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_block_takes_the_largest_skip),
        cmocka_unit_test(volume_is_bounded_however_counts_are_spread),
        cmocka_unit_test(one_ranks_block_is_sent_from_its_place),
        cmocka_unit_test(equal_blocks_are_sent_in_runs),
        cmocka_unit_test(bruck_sends_all_in_each_message_at_most),
        cmocka_unit_test(only_uneven_counts_are_cut),
    };

    return cmocka_run_group_tests_name("papers_allgatherv", tests, NULL, NULL);
}
