/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What Traeff, Hunold 2020 and Singh et al. 2026 (arXiv 2504.18658) say of
 * algorithms by nodes in which all c ranks of a node exchange with other nodes:
 * each rank sends a c-th of what one leader would, no more enters a node, and
 * no rank combines for the others. Read from schedules.
 */
#include "test.h"

#include "core/sched/algo.h"
#include "core/sched/params.h"
#include "maps.h"
#include "support/built.h"

enum {
    NODES = TIMES(12, 8),
    RANKS = 6,
    BLOCK = 2,
    LONG = 1 << 15,
    LEADERS = 0
};

static struct built built;

static const enum rcx_coll both[] = {RCX_COLL_ALLGATHER,
                                     RCX_COLL_REDUCE_SCATTER};

/* What the busiest rank has, in elements; and what all send between nodes. */
struct counts {
    size_t sent_far, combined, copied;
    size_t all_far;
};

static void raise_to(size_t *most, size_t x)
{
    *most = x > *most ? x : *most;
}

static void count(const struct rcx_shape *s, struct counts *c)
{
    size_t far = 0, combined = 0, copied = 0;

    for (uint32_t i = 0; i < built.builder.step_count; i++) {
        const struct rcx_step *step = &built.builder.steps[i];

        if (step->kind == RCX_STEP_SEND)
            far += s->nodes->node[s->rank] != s->nodes->node[step->peer]
                       ? step->count
                       : 0;
        else if (step->kind == RCX_STEP_REDUCE)
            combined += step->count;
        else if (step->kind == RCX_STEP_COPY)
            copied += step->count;
    }
    raise_to(&c->sent_far, far);
    raise_to(&c->combined, combined);
    raise_to(&c->copied, copied);
    c->all_far += far;
}

static struct counts counts_of(enum rcx_coll coll, int nodes, int ranks,
                               enum proof_map map, int64_t leaders,
                               size_t block)
{
    const struct rcx_algo *algo = rcx_algo_find(coll, "hierarchical");
    const int p = nodes * ranks;
    struct rcx_nodes *n = proof_map_new(&built.heap, map, p, ranks);
    struct rcx_shape s = {.coll = coll,
                          .size = p,
                          .count = block * (size_t)p,
                          .elem_bytes = 8,
                          .nodes = n,
                          .commutative = true};
    struct counts c = {0};

    assert_non_null(n);
    rcx_params_reset(algo, s.params);
    s.params[LEADERS] = leaders;
    assert_true(rcx_algo_fits(algo, &s));
    for (s.rank = 0; s.rank < p; s.rank++) {
        built_write(&built, algo, &s);
        count(&s, &c);
    }
    rcx_nodes_free(&built.heap, n);
    return c;
}

static void each_rank_sends_its_share_between_nodes(void **state)
{
    (void)state;
    for (int i = 0; i < 2; i++) {
        for (int n = 2; n <= NODES; n++) {
            for (int c = 2; c <= RANKS; c++) {
                const size_t others = (size_t)((n - 1) * BLOCK);
                const struct counts all =
                    counts_of(both[i], n, c, PROOF_MAP_BLOCKS, c, BLOCK);
                const struct counts one =
                    counts_of(both[i], n, c, PROOF_MAP_BLOCKS, 1, BLOCK);

                assert_int_equal(all.sent_far, others);
                assert_int_equal(one.sent_far, (size_t)c * others);
                assert_int_equal(all.all_far, (size_t)(n * c) * others);
                assert_int_equal(all.all_far, one.all_far);
            }
        }
    }
}

/* c - 1 operands of a c-th of the vector, then N - 1 of a block. */
static void no_rank_combines_for_others(void **state)
{
    (void)state;
    for (int n = 2; n <= NODES; n++) {
        for (int c = 2; c <= RANKS; c++) {
            const struct counts all = counts_of(RCX_COLL_REDUCE_SCATTER, n, c,
                                                PROOF_MAP_BLOCKS, c, BLOCK);

            assert_int_equal(all.combined, ((c - 1) * n + n - 1) * BLOCK);
        }
    }
}

/* Else a rank copies the vector once to the order of lanes, or back. */
static void ranks_dealt_in_turn_need_no_copy(void **state)
{
    (void)state;
    for (int n = 2; n <= NODES; n++) {
        for (int c = 2; c <= RANKS; c++) {
            const size_t vector = (size_t)(n * c * BLOCK);
            const struct counts turns = counts_of(RCX_COLL_REDUCE_SCATTER, n, c,
                                                  PROOF_MAP_CYCLIC, c, BLOCK);
            const struct counts blocks = counts_of(
                RCX_COLL_REDUCE_SCATTER, n, c, PROOF_MAP_BLOCKS, c, BLOCK);

            assert_int_equal(blocks.copied - turns.copied, vector);
        }
    }
}

/* Long blocks travel directly: the leader copies the vectors of its c ranks to
 * sort them and to deal them out; with all leaders, each copies its own three
 * times, and keeps a part of it twice. */
static void leaders_of_an_alltoall_share_its_copies(void **state)
{
    (void)state;
    for (int n = 2; n <= NODES; n++) {
        for (int c = 3; c <= RANKS; c++) {
            const size_t block = LONG, vector = (size_t)(n * c) * block;
            const struct counts all =
                counts_of(RCX_COLL_ALLTOALL, n, c, PROOF_MAP_BLOCKS, c, block);
            const struct counts one =
                counts_of(RCX_COLL_ALLTOALL, n, c, PROOF_MAP_BLOCKS, 1, block);

            assert_true(one.copied >= (size_t)(2 * c - 1) * vector);
            assert_true(all.copied <= 3 * vector);
            assert_int_equal(all.all_far, one.all_far);
            assert_int_equal(all.sent_far, (size_t)((n - 1) * c) * block);
        }
    }
}

static void nodes_must_be_of_one_size(void **state)
{
    struct rcx_nodes *n =
        proof_map_new(&built.heap, PROOF_MAP_BLOCKS, 7, 3); /* 3, 3, 1 */

    (void)state;
    assert_non_null(n);
    for (int i = 0; i < 2; i++) {
        const struct rcx_algo *algo = rcx_algo_find(both[i], "hierarchical");
        struct rcx_shape s = {.coll = both[i],
                              .size = 7,
                              .count = 7,
                              .elem_bytes = 8,
                              .nodes = n};

        s.params[LEADERS] = 1;
        assert_true(rcx_algo_fits(algo, &s));
        s.params[LEADERS] = 3;
        assert_false(rcx_algo_fits(algo, &s));
    }
    rcx_nodes_free(&built.heap, n);
}

static int open_built(void **state)
{
    (void)state;
    built_open(&built, NULL);
    return 0;
}

static int close_built(void **state)
{
    (void)state;
    return built_close(&built);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_rank_sends_its_share_between_nodes),
        cmocka_unit_test(no_rank_combines_for_others),
        cmocka_unit_test(ranks_dealt_in_turn_need_no_copy),
        cmocka_unit_test(leaders_of_an_alltoall_share_its_copies),
        cmocka_unit_test(nodes_must_be_of_one_size),
    };

    return cmocka_run_group_tests(tests, open_built, close_built);
}
