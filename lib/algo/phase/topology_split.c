/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Topologies that split intervals of ranks: knomial trees, among them the
 * binomial tree, and Bine trees. The part that has the root, or the top of the
 * interval, gathers the others. topology.h has the contracts.
 */
#include "algo/phase/topology_ops.h"

enum { NONE = RCX_TOPOLOGY_NONE };

static int least_of(int a, int b)
{
    return a < b ? a : b;
}

/* ---- Knomial: the part with the root, or else the first, gathers --------- */

/* The interval around a rank that is made of parts of some width. */
struct level {
    int64_t lo, hi;
    int gathers; /* the rank that gathers the parts */
};

static struct level level_of(const struct rcx_topology *t, int rank,
                             int64_t width)
{
    const int64_t whole = width * t->fan, lo = rank - rank % whole;
    const int64_t hi = lo + whole < t->size ? lo + whole : t->size;
    const bool has_root = lo <= t->root && t->root < hi;

    return (struct level){
        .lo = lo, .hi = hi, .gathers = has_root ? t->root : (int)lo};
}

static int knomial_parent(const struct rcx_topology *t, int tree, int rank)
{
    (void)tree;
    for (int64_t width = 1; width < t->size; width *= t->fan) {
        const struct level level = level_of(t, rank, width);

        if (level.gathers != rank)
            return level.gathers;
    }
    return NONE;
}

/* Children come from the smallest width on. On each level, the parts below come
 * first, the nearest of them first, then those above. None of them has the
 * root, so its first rank is the child. */
static int knomial_child(const struct rcx_topology *t, int tree, int rank,
                         int i)
{
    (void)tree;
    for (int64_t width = 1; width < t->size; width *= t->fan) {
        const struct level level = level_of(t, rank, width);
        const int64_t mine = (rank - level.lo) / width;
        const int others = (int)((level.hi - level.lo - 1) / width);

        if (level.gathers != rank)
            break;
        if (i < others)
            return (int)(level.lo + width * (i < mine ? mine - 1 - i : i + 1));
        i -= others;
    }
    return NONE;
}

static struct rcx_interval knomial_below(const struct rcx_topology *t, int tree,
                                         int rank)
{
    struct rcx_interval at = {.lo = rank, .hi = rank + 1};

    (void)tree;
    for (int64_t width = 1; width < t->size; width *= t->fan) {
        const struct level level = level_of(t, rank, width);

        if (level.gathers != rank)
            break;
        at.lo = (int)level.lo;
        at.hi = (int)level.hi;
    }
    return at;
}

static int knomial_rounds(const struct rcx_topology *t)
{
    int rounds = 0;

    for (int64_t width = 1; width < t->size; width *= t->fan)
        rounds += least_of(t->fan - 1, (int)((t->size - 1) / width));
    return rounds;
}

/* No other part has more blocks than the root has by then, so the root never
 * waits. */
static double knomial_blocks(const struct rcx_topology *t)
{
    return t->size - 1;
}

const struct rcx_topology_ops rcx_topology_knomial = {.parent = knomial_parent,
                                                      .child = knomial_child,
                                                      .below = knomial_below,
                                                      .rounds = knomial_rounds,
                                                      .blocks = knomial_blocks};

/*
 * ---- Bine: the top of an interval lies a third inside ---------------------
 *
 * Bine trees (De Sensi et al. 2025, arXiv 2508.17311) in the form in which
 * every subtree is an interval of ranks, for every p and root. Intervals split
 * by the fixed tree. The half without the interval's top gets one of its own,
 * (length - 1) / 3 ranks away from the other half. In a half of 2^k ranks that
 * is where the next split needs it, too, so messages between halves of 2^k
 * ranks go |1 - (-2)^(k+1)| / 3 ranks far, the sums of (-2)^i of the paper, and
 * not 2^k. Only the root may lie elsewhere, which concerns its ceil(lg p)
 * messages.
 */

/* Return the top of the half beside the one that has the interval's top. */
static int top_of(struct rcx_interval half, bool is_above)
{
    const int inside = (half.hi - half.lo - 1) / 3;

    return is_above ? half.lo + inside : half.hi - 1 - inside;
}

/* Of the halves of an interval, the one with rank, and the other. */
struct halves {
    struct rcx_interval own, other;
    bool other_is_above;
};

static struct halves split(struct rcx_interval at, int rank)
{
    const int mid = rcx_tree_split(at);
    const struct rcx_interval low = {.lo = at.lo, .hi = mid};
    const struct rcx_interval high = {.lo = mid, .hi = at.hi};

    return rank < mid ? (struct halves){low, high, true}
                      : (struct halves){high, low, false};
}

/* Return the interval whose top is rank; its parent is in *parent_p. */
static struct rcx_interval descend(const struct rcx_topology *t, int rank,
                                   int *parent_p)
{
    struct rcx_interval at = {.lo = 0, .hi = t->size};
    int top = t->root;

    *parent_p = NONE;
    while (top != rank) {
        const struct halves h = split(at, rank);

        at = h.own;
        if (h.other.lo <= top && top < h.other.hi) {
            *parent_p = top;
            top = top_of(h.own, !h.other_is_above);
        }
    }
    return at;
}

static int bine_parent(const struct rcx_topology *t, int tree, int rank)
{
    int parent;

    (void)tree;
    descend(t, rank, &parent);
    return parent;
}

static struct rcx_interval bine_below(const struct rcx_topology *t, int tree,
                                      int rank)
{
    int parent;

    (void)tree;
    return descend(t, rank, &parent);
}

/* Children come from the smallest halves on. */
static int bine_child(const struct rcx_topology *t, int tree, int rank, int i)
{
    struct rcx_interval at = bine_below(t, tree, rank);
    int children[32], n = 0;

    while (at.hi - at.lo > 1) {
        const struct halves h = split(at, rank);

        children[n++] = top_of(h.other, h.other_is_above);
        at = h.own;
    }
    return i < n ? children[n - 1 - i] : NONE;
}

const struct rcx_topology_ops rcx_topology_bine = {.parent = bine_parent,
                                                   .child = bine_child,
                                                   .below = bine_below,
                                                   .rounds = knomial_rounds,
                                                   .blocks = knomial_blocks};
