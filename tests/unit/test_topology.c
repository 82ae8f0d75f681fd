/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The trees of lib/algo/phase/topology.c, for more ranks than in the proof
 * suite: subtrees, leaves of double trees, the duration of a gather, and valid
 * fans.
 */
#include "test.h"

#include <limits.h>

#include "algo/phase/topology.h"

enum { KINDS = 7, KNOMIAL = 3, CHAIN, BINE, DOUBLE, FAN = 4 };

static struct rcx_shape shape_of(int kind, int fan, int size, int root)
{
    return (struct rcx_shape){.coll = RCX_COLL_REDUCE,
                              .size = size,
                              .root = root,
                              .params = {kind, fan}};
}

/* Return the ranks of the subtree of rank. It must be an interval that each
 * child's subtree extends at one end. */
static struct rcx_interval gather(const struct rcx_topology *t, int tree,
                                  int rank)
{
    const struct rcx_interval below = rcx_topology_below(t, tree, rank);
    struct rcx_interval at = {rank, rank + 1};
    int child;

    for (int i = 0; (child = rcx_topology_child(t, tree, rank, i)) >= 0; i++) {
        const struct rcx_interval more = gather(t, tree, child);

        assert_int_equal(rcx_topology_parent(t, tree, child), rank);
        if (more.hi == at.lo) {
            at.lo = more.lo;
        } else {
            assert_int_equal(more.lo, at.hi);
            at.hi = more.hi;
        }
    }
    assert_int_equal(below.lo, at.lo);
    assert_int_equal(below.hi, at.hi);
    return at;
}

static void check_trees(const struct rcx_topology *t, int size, int root)
{
    for (int tree = 0; tree < t->trees; tree++) {
        const struct rcx_interval all = gather(t, tree, root);

        assert_int_equal(rcx_topology_parent(t, tree, root), RCX_TOPOLOGY_NONE);
        assert_int_equal(all.lo, 0);
        assert_int_equal(all.hi, size);
    }
}

static void every_subtree_is_an_interval_of_ranks(void **state)
{
    static const int sizes[] = {1, 2, 3, 100, 1000, 1023, 1024, 1025, 4096};

    (void)state;
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        const int p = sizes[i], roots[] = {0, p / 3, p / 2, p - 1};

        for (int kind = 0; kind < KINDS; kind++) {
            for (int fan = 1; fan < 8; fan++) {
                for (int k = 0; k < 4; k++) {
                    const struct rcx_shape s = shape_of(kind, fan, p, roots[k]);
                    const struct rcx_topology t = rcx_topology_of(&s);

                    if (rcx_topology_fits(&s))
                        check_trees(&t, p, roots[k]);
                }
            }
        }
    }
}

static bool is_leaf(const struct rcx_topology *t, int tree, int rank)
{
    return rcx_topology_child(t, tree, rank, 0) == RCX_TOPOLOGY_NONE;
}

static void a_rank_is_a_leaf_in_one_of_two_trees(void **state)
{
    (void)state;
    for (int p = 2; p < 200; p++) {
        for (int root = 0; root < p; root++) {
            const struct rcx_shape s = shape_of(DOUBLE, FAN, p, root);
            const struct rcx_topology t = rcx_topology_of(&s);

            for (int rank = 0; rank < p; rank++)
                assert_true(rank == root || is_leaf(&t, 0, rank) ||
                            is_leaf(&t, 1, rank));
        }
    }
}

/* Whether child is one of the first 100 children of parent. All of them may be
 * too many. */
static bool is_child(const struct rcx_topology *t, int tree, int parent,
                     int child)
{
    for (int i = 0; i < 100; i++)
        if (rcx_topology_child(t, tree, parent, i) == child)
            return true;
    return false;
}

static struct rcx_topology gathering(int kind, int fan, int size, int root)
{
    const struct rcx_shape s = shape_of(kind, fan, size, root);

    return rcx_topology_gathering(rcx_topology_of(&s));
}

/* Time until rank has gathered its subtree, in block times: the children's
 * blocks arrive one after another. */
static double gathered(const struct rcx_topology *t, int rank)
{
    double blocks = 0;
    int child;

    for (int i = 0; (child = rcx_topology_child(t, 0, rank, i)) >= 0; i++) {
        const struct rcx_interval theirs = rcx_topology_below(t, 0, child);
        const double ready = gathered(t, child);

        blocks = (ready > blocks ? ready : blocks) + theirs.hi - theirs.lo;
    }
    return blocks;
}

static void check_gather(int kind, int fan, int size, int root)
{
    const struct rcx_topology t = gathering(kind, fan, size, root);

    check_trees(&t, size, root);
    assert_true(gathered(&t, root) == rcx_topology_blocks(&t));
}

static void a_gather_takes_as_long_as_its_tree_says(void **state)
{
    (void)state;
    for (int p = 1; p < 70; p++) {
        for (int root = 0; root < p; root += 1 + p / 20) {
            for (int fan = 1; fan < 8; fan++) {
                check_gather(CHAIN, fan, p, root);
                if (fan > 1)
                    check_gather(KNOMIAL, fan, p, root);
            }
            for (int kind = 0; kind < KNOMIAL; kind++)
                check_gather(kind, FAN, p, root);
            check_gather(BINE, FAN, p, root);
        }
    }
}

/* In a gather by a knomial tree the root must receive without a pause. */
static void no_root_of_a_knomial_gather_waits(void **state)
{
    (void)state;
    for (int p = 1; p < 70; p++) {
        for (int root = 0; root < p; root++) {
            for (int fan = 2; fan < 8; fan++) {
                const struct rcx_topology t = gathering(KNOMIAL, fan, p, root);

                assert_true(gathered(&t, root) == p - 1);
            }
        }
    }
}

static void the_largest_communicator_has_trees_too(void **state)
{
    static const int kinds[] = {1, 2, 3, BINE, DOUBLE};
    const int p = INT_MAX;

    (void)state;
    for (int i = 0; i < 5; i++) {
        const struct rcx_shape s = shape_of(kinds[i], FAN, p, p / 5);
        const struct rcx_topology t = rcx_topology_of(&s);

        assert_in_range(rcx_topology_rounds(&t), 31, 64);
        for (int64_t leaf = 0; leaf < p; leaf += p / 1000) {
            for (int tree = 0; tree < t.trees; tree++) {
                int rank = (int)leaf, up, steps = 0;

                while ((up = rcx_topology_parent(&t, tree, rank)) >= 0) {
                    assert_true(is_child(&t, tree, up, rank));
                    assert_in_range(++steps, 1, 33);
                    rank = up;
                }
                assert_int_equal(rank, s.root);
            }
        }
    }
}

static void a_fan_that_means_nothing_is_refused(void **state)
{
    static const bool takes[KINDS][4] = {
        /* fans 1, 2, 3 and the default */
        {false, false, false, true}, {false, false, false, true},
        {false, false, false, true}, {false, true, true, true},
        {true, true, true, true},    {false, false, false, true},
        {false, false, false, true}};

    (void)state;
    for (int kind = 0; kind < KINDS; kind++) {
        for (int fan = 1; fan <= FAN; fan++) {
            const struct rcx_shape s = shape_of(kind, fan, 10, 0);

            assert_int_equal(rcx_topology_fits(&s), takes[kind][fan - 1]);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_subtree_is_an_interval_of_ranks),
        cmocka_unit_test(a_rank_is_a_leaf_in_one_of_two_trees),
        cmocka_unit_test(a_gather_takes_as_long_as_its_tree_says),
        cmocka_unit_test(no_root_of_a_knomial_gather_waits),
        cmocka_unit_test(the_largest_communicator_has_trees_too),
        cmocka_unit_test(a_fan_that_means_nothing_is_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
