/* SPDX-License-Identifier: BSD-3-Clause */
/* The map of ranks to nodes: all fields of random maps, compared with the node
 * ids of the ranks, and the groups that algorithms by nodes use. */
#include "test.h"

#include "core/base/random.h"
#include "core/sched/algo.h"

enum { MOST = 40, TRIES = 2000 };

static struct rcx_heap heap;

static int open_heap(void **state)
{
    (void)state;
    heap = RCX_HEAP_INIT;
    return 0;
}

static int is_clean(void **state)
{
    (void)state;
    return heap.live != 0;
}

/* The lowest rank with the same id as rank. */
static int lowest_of(const uint64_t ids[], int rank)
{
    for (int i = 0; i < rank; i++)
        if (ids[i] == ids[rank])
            return i;
    return rank;
}

static void check_rank(const struct rcx_nodes *n, const uint64_t ids[],
                       int rank)
{
    int node = 0, place = 0;

    for (int i = 0; i < lowest_of(ids, rank); i++)
        node += lowest_of(ids, i) == i;
    for (int i = 0; i < rank; i++)
        place += ids[i] == ids[rank];
    assert_int_equal(n->node[rank], node);
    assert_int_equal(n->place[rank], place);
    assert_int_equal(n->ranks[n->first[node] + place], rank);
}

static void check_sizes(const struct rcx_nodes *n, const uint64_t ids[],
                        int ranks)
{
    int count = 0, least = ranks, most = 0, intervals = 1;

    for (int i = 0; i < ranks; i++) {
        int size = 0;

        for (int k = 0; k < ranks; k++)
            size += ids[k] == ids[i];
        count += lowest_of(ids, i) == i;
        least = size < least ? size : least;
        most = size > most ? size : most;
        intervals += i > 0 && ids[i] != ids[i - 1];
    }
    assert_int_equal(n->count, count);
    assert_int_equal(n->first[n->count], ranks);
    assert_int_equal(n->least, least);
    assert_int_equal(n->most, most);
    assert_int_equal(n->in_order, intervals == count);
}

static void a_map_returns_the_node_of_each_rank(void **state)
{
    uint64_t random = 1, ids[MOST];

    (void)state;
    for (int i = 0; i < TRIES; i++) {
        const int ranks = 1 + (int)(rcx_random(&random) % MOST);
        const uint64_t nodes = 1 + rcx_random(&random) % (uint64_t)ranks;
        struct rcx_nodes *n;

        for (int r = 0; r < ranks; r++)
            ids[r] = i % 2 ? rcx_random(&random) % nodes
                           : (uint64_t)r * nodes / (uint64_t)ranks;
        n = rcx_nodes_create(&heap, ids, ranks);
        assert_non_null(n);
        for (int r = 0; r < ranks; r++)
            check_rank(n, ids, r);
        check_sizes(n, ids, ranks);
        rcx_heap_free(&heap, n);
    }
}

static void groups_are_a_node_s_ranks_and_those_at_a_place(void **state)
{
    static const uint64_t ids[] = {5, 9, 5, 9, 7, 7, 9};
    struct rcx_nodes *n = rcx_nodes_create(&heap, ids, 7);
    const struct rcx_shape s = {.rank = 3, .size = 7, .nodes = n};
    const struct rcx_group second = rcx_group_node(&s, 1);
    const struct rcx_group across = rcx_group_across(&s, 1);

    (void)state;
    assert_int_equal(second.size, 3);
    assert_int_equal(second.rank, 1);
    assert_int_equal(rcx_group_member(&second, 2), 6);
    assert_int_equal(rcx_group_node(&s, 0).rank, -1);
    assert_int_equal(across.size, 3);
    assert_int_equal(across.rank, 1);
    assert_int_equal(rcx_group_member(&across, 0), 2);
    assert_int_equal(rcx_group_member(&across, 2), 5);
    assert_int_equal(rcx_group_across(&s, 0).rank, -1);
    rcx_heap_free(&heap, n);
}

static void without_memory_there_is_no_map(void **state)
{
    static const uint64_t ids[] = {1, 2};

    (void)state;
    for (uint64_t budget = 0; budget < 2; budget++) {
        heap.budget = budget;
        assert_null(rcx_nodes_create(&heap, ids, 2));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_map_returns_the_node_of_each_rank,
                                        open_heap, is_clean),
        cmocka_unit_test_setup_teardown(
            groups_are_a_node_s_ranks_and_those_at_a_place, open_heap,
            is_clean),
        cmocka_unit_test_setup_teardown(without_memory_there_is_no_map,
                                        open_heap, is_clean),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
