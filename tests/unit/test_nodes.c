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

/* ---- Levels -------------------------------------------------------------- */

enum { PER_CACHE = 4, PER_SOCKET = 8, PER_NODE = 16, RANKS = 32 };

/* Ids as machines number them: caches within a machine, sockets within it, NUMA
 * domains equal to sockets. */
struct machine {
    uint64_t node[RANKS], socket[RANKS], numa[RANKS], cache[RANKS];
};

static void fill_machine(struct machine *m, bool scattered)
{
    for (int i = 0; i < RANKS; i++) {
        const int at = scattered ? i * 7 % RANKS : i;

        m->node[i] = (uint64_t)(at / PER_NODE);
        m->socket[i] = (uint64_t)(at % PER_NODE / PER_SOCKET);
        m->numa[i] = m->socket[i];
        m->cache[i] = (uint64_t)(at % PER_NODE / PER_CACHE);
    }
}

static struct rcx_nodes *map_machine(const struct machine *m, int ranks)
{
    const uint64_t *ids[RCX_LEVELS] = {[RCX_LEVEL_NODE] = m->node,
                                       [RCX_LEVEL_SOCKET] = m->socket,
                                       [RCX_LEVEL_NUMA] = m->numa,
                                       [RCX_LEVEL_CACHE] = m->cache};
    struct rcx_nodes *n;

    assert_true(rcx_nodes_map(&heap, ids, ranks, &n));
    return n;
}

static void check_level(const struct rcx_nodes *n, enum rcx_level level,
                        int count, int most)
{
    assert_non_null(n);
    assert_int_equal(n->level, level);
    assert_int_equal(n->count, count);
    assert_int_equal(n->least, most);
    assert_int_equal(n->most, most);
}

static void each_level_that_divides_the_ranks_has_a_map(void **state)
{
    (void)state;
    for (int scattered = 0; scattered < 2; scattered++) {
        struct machine m;
        struct rcx_nodes *n;

        fill_machine(&m, scattered);
        n = map_machine(&m, RANKS);
        check_level(n, RCX_LEVEL_CACHE, 8, PER_CACHE);
        check_level(n->coarser, RCX_LEVEL_SOCKET, 4, PER_SOCKET);
        check_level(n->coarser->coarser, RCX_LEVEL_NODE, 2, PER_NODE);
        assert_null(n->coarser->coarser->coarser);
        assert_null(rcx_nodes_at(n, RCX_LEVEL_NUMA)); /* equal to sockets */
        assert_ptr_equal(rcx_nodes_linked(n), n->coarser->coarser);
        assert_int_equal(n->in_order, !scattered);
        rcx_nodes_free(&heap, n);
    }
}

/* Check that groups of n, as the ranks of its outer map, lie where all their
 * members do. */
static void check_outer(const struct rcx_nodes *n)
{
    const struct rcx_nodes *outer = n->outer;

    for (const struct rcx_nodes *c = n->coarser; c; c = c->coarser) {
        outer = rcx_nodes_at(outer, c->level);
        if (!outer)
            continue; /* it does not divide the groups into fewer */
        for (int a = 0; a < RANKS; a++)
            for (int b = 0; b < a; b++)
                assert_int_equal(c->node[a] == c->node[b],
                                 outer->node[n->node[a]] ==
                                     outer->node[n->node[b]]);
    }
}

static void the_groups_of_a_level_are_mapped_to_coarser_levels(void **state)
{
    (void)state;
    for (int scattered = 0; scattered < 2; scattered++) {
        struct machine m;
        struct rcx_nodes *n;

        fill_machine(&m, scattered);
        n = map_machine(&m, RANKS);
        check_level(n->outer, RCX_LEVEL_SOCKET, 4, 2);
        check_level(n->outer->coarser, RCX_LEVEL_NODE, 2, 4);
        check_level(n->outer->outer, RCX_LEVEL_NODE, 2, 2);
        assert_null(n->outer->outer->outer);
        check_level(n->coarser->outer, RCX_LEVEL_NODE, 2, 2);
        check_outer(n);
        check_outer(n->coarser);
        rcx_nodes_free(&heap, n);
    }
}

static void a_level_without_groups_of_several_ranks_has_no_map(void **state)
{
    static const int one_per_cache[] = {0, 4, 8, 12, 16, 20, 24, 28};
    static const int one_socket[] = {1, 2, 5, 6};
    struct machine m;
    struct rcx_nodes *all, *n;

    (void)state;
    fill_machine(&m, false);
    all = map_machine(&m, RANKS);
    assert_true(rcx_nodes_map_subset(&heap, all, one_per_cache, 8, &n));
    check_level(n, RCX_LEVEL_SOCKET, 4, 2);
    check_level(n->coarser, RCX_LEVEL_NODE, 2, 4);
    rcx_nodes_free(&heap, n);
    assert_true(rcx_nodes_map_subset(&heap, all, one_socket, 4, &n));
    check_level(n, RCX_LEVEL_CACHE, 2, 2);
    assert_null(n->coarser);
    assert_null(n->outer);
    rcx_nodes_free(&heap, n);
    assert_true(rcx_nodes_map_subset(&heap, all, one_socket, 2, &n));
    assert_null(n); /* one cache */
    rcx_nodes_free(&heap, all);
}

static void each_failed_allocation_leaves_nothing(void **state)
{
    struct machine m;
    struct rcx_nodes *n = NULL;

    (void)state;
    fill_machine(&m, true);
    for (uint64_t budget = 0; !n; budget++) {
        const uint64_t *ids[RCX_LEVELS] = {
            m.node, m.socket, [RCX_LEVEL_CACHE] = m.cache};

        bool good;

        heap.budget = budget;
        good = rcx_nodes_map(&heap, ids, RANKS, &n);
        heap.budget = UINT64_MAX;
        assert_int_equal(good, n != NULL);
    }
    rcx_nodes_free(&heap, n);
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
        cmocka_unit_test_setup_teardown(
            each_level_that_divides_the_ranks_has_a_map, open_heap, is_clean),
        cmocka_unit_test_setup_teardown(
            the_groups_of_a_level_are_mapped_to_coarser_levels, open_heap,
            is_clean),
        cmocka_unit_test_setup_teardown(
            a_level_without_groups_of_several_ranks_has_no_map, open_heap,
            is_clean),
        cmocka_unit_test_setup_teardown(each_failed_allocation_leaves_nothing,
                                        open_heap, is_clean),
        cmocka_unit_test_setup_teardown(without_memory_there_is_no_map,
                                        open_heap, is_clean),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
