/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Trees over ranks, as numbers: parent, children, subtree and times of each
 * topology, and the parameters that select one. No steps are written here.
 * topology_split.c has the trees that split intervals.
 *
 *   flat      p - 1 parts of one rank
 *   binomial  knomial of radix 2: the fixed tree of the order levels
 *   bine      the fixed tree, in which an interval's top lies a third inside
 *   binary    each side of the root is one part, an in-order binary tree
 *   knomial   intervals split into fan parts, of which one gathers the others
 *   chain     fan parts, or one more, each a path
 *   double    binary, and another tree in which the inner ranks of binary are
 *             leaves
 */
#include "algo/phase/topology_ops.h"

#include <limits.h>

enum { NONE = RCX_TOPOLOGY_NONE, FAN_USUAL = 4 };

/* The ranks of a part with numbers first to last. */
struct run {
    int first, last;
};

/* The tree of a part of n ranks, from 1 on outwards from the root, number 0. */
struct form {
    int (*up)(int n, int x);
    int (*down)(int n, int x, int i); /* of the root too; 0: no more */
    struct run (*below)(int n, int x);
    int (*ready)(int n);       /* rounds until its top has all, n >= 1 */
    double (*gathered)(int n); /* blocks that the top receives until then */
    int children;              /* of a rank, at most */
};

struct rcx_topology_kind {
    const struct rcx_topology_ops *ops;
    bool splits; /* intervals split as in the fixed tree, or at another radix */
    int fan;     /* 0: a parameter, from least on */
    int least;
    int trees;
    const struct form *form[2]; /* of each tree's parts */
};

static int least_of(int a, int b)
{
    return a < b ? a : b;
}

/* ---- Parted: either side of the root is cut into parts ------------------- */

struct side {
    int step; /* outwards from the root: -1 or 1 */
    int count;
    int length; /* ranks of a part; the outermost may have less */
};

struct part {
    int origin; /* number x is rank origin + step * x */
    int step;
    int count;
};

static struct side side_of(const struct rcx_topology *t, bool above)
{
    return (struct side){.step = above ? 1 : -1,
                         .count = above ? t->size - 1 - t->root : t->root,
                         .length = (t->size - 2) / t->fan + 1};
}

/* Return the shorter side for turn 0, as it is ready earlier, then the
 * other. */
static struct side side_in_turn(const struct rcx_topology *t, int turn)
{
    const bool above_first = t->size - 1 - t->root < t->root;

    return side_of(t, above_first == (turn == 0));
}

static int parts_of(const struct side *side)
{
    return side->count ? (side->count - 1) / side->length + 1 : 0;
}

static struct part part_of(const struct rcx_topology *t,
                           const struct side *side, int i)
{
    const int before = i * side->length;

    return (struct part){.origin = t->root + side->step * before,
                         .step = side->step,
                         .count = least_of(side->length, side->count - before)};
}

static struct part part_around(const struct rcx_topology *t, int rank)
{
    const struct side side = side_of(t, rank > t->root);

    return part_of(t, &side, ((rank - t->root) * side.step - 1) / side.length);
}

static int parted_parent(const struct rcx_topology *t, int tree, int rank)
{
    struct part part;
    int up;

    if (rank == t->root)
        return NONE;
    part = part_around(t, rank);
    up = t->kind->form[tree]->up(part.count, (rank - part.origin) * part.step);
    return up == 0 ? t->root : part.origin + part.step * up;
}

/* Return child i of the root, which has one child in each part. */
static int child_of_root(const struct rcx_topology *t, int tree, int i)
{
    for (int turn = 0; turn < 2; turn++) {
        const struct side side = side_in_turn(t, turn);

        if (i < parts_of(&side)) {
            const struct part part = part_of(t, &side, i);

            return part.origin +
                   part.step * t->kind->form[tree]->down(part.count, 0, 0);
        }
        i -= parts_of(&side);
    }
    return NONE;
}

static int parted_child(const struct rcx_topology *t, int tree, int rank, int i)
{
    struct part part;
    int down;

    if (rank == t->root)
        return child_of_root(t, tree, i);
    part = part_around(t, rank);
    down = t->kind->form[tree]->down(part.count,
                                     (rank - part.origin) * part.step, i);
    return down == 0 ? NONE : part.origin + part.step * down;
}

static struct rcx_interval parted_below(const struct rcx_topology *t, int tree,
                                        int rank)
{
    struct part part;
    struct run run;

    if (rank == t->root)
        return (struct rcx_interval){.lo = 0, .hi = t->size};
    part = part_around(t, rank);
    run = t->kind->form[tree]->below(part.count,
                                     (rank - part.origin) * part.step);
    if (part.step < 0)
        return (struct rcx_interval){.lo = part.origin - run.last,
                                     .hi = part.origin - run.first + 1};
    return (struct rcx_interval){.lo = part.origin + run.first,
                                 .hi = part.origin + run.last + 1};
}

/* The first part of a side is the largest: the others are ready by then. */
static int parted_rounds(const struct rcx_topology *t)
{
    int rounds = 0;

    for (int i = 0; i < 2 * t->trees && t->size > 1; i++) {
        const struct side side = side_in_turn(t, i % 2);
        const int first = least_of(side.length, side.count);

        if (first > 0) {
            const int ready = t->kind->form[i / 2]->ready(first);

            rounds = (ready > rounds ? ready : rounds) + parts_of(&side);
        }
    }
    return rounds;
}

static int parted_busiest(const struct rcx_topology *t)
{
    const struct side low = side_of(t, false), high = side_of(t, true);
    const int root = parts_of(&low) + parts_of(&high);
    const int length =
        least_of(low.length, low.count > high.count ? low.count : high.count);
    const int inner = least_of(t->kind->form[0]->children, length - 1);

    return t->trees * (root > inner ? root : inner);
}

static double parted_blocks(const struct rcx_topology *t)
{
    double blocks = 0;

    for (int turn = 0; turn < 2 && t->size > 1; turn++) {
        const struct side side = side_in_turn(t, turn);
        const int first = least_of(side.length, side.count);

        if (first > 0) {
            const double gathered = t->kind->form[0]->gathered(first);

            blocks = (gathered > blocks ? gathered : blocks) + side.count;
        }
    }
    return blocks;
}

static const struct rcx_topology_ops parted = {.parent = parted_parent,
                                               .child = parted_child,
                                               .below = parted_below,
                                               .rounds = parted_rounds,
                                               .busiest = parted_busiest,
                                               .blocks = parted_blocks};

/* A path: every rank sends to the next one inwards. */

static int path_up(int n, int x)
{
    (void)n;
    return x - 1;
}

static int path_down(int n, int x, int i)
{
    return i == 0 && x < n ? x + 1 : 0;
}

static struct run path_below(int n, int x)
{
    return (struct run){.first = x, .last = n};
}

static int path_ready(int n)
{
    return n - 1;
}

static double path_gathered(int n)
{
    return (double)n * (n - 1) / 2;
}

static const struct form path = {.up = path_up,
                                 .down = path_down,
                                 .below = path_below,
                                 .ready = path_ready,
                                 .gathered = path_gathered,
                                 .children = 1};

/*
 * An in-order binary tree. Odd x are leaves. x = m 2^k, m odd, has x - 2^(k-1)
 * as its left child. Its right child is x plus the largest power of two that
 * still fits.
 */

static int inorder_up(int n, int x)
{
    if (x == rcx_pow2_floor(n))
        return 0;
    do {
        const int low = x & -x;

        x = (x ^ low) | 2 * low;
    } while (x > n);
    return x;
}

/* The right child comes before the left one: its subtree may be smaller, and
 * then is ready earlier. */
static int inorder_down(int n, int x, int i)
{
    const int low = x & -x;
    const int right = x ? least_of(low - 1, n - x) : n;

    if (right > 0 && i-- == 0)
        return x + rcx_pow2_floor(right);
    return low > 1 && i == 0 ? x - low / 2 : 0;
}

static struct run inorder_below(int n, int x)
{
    const int low = x & -x;

    return (struct run){.first = x - low + 1,
                        .last = x + least_of(low - 1, n - x)};
}

/* Return 2 floor(lg n), less one unless n + 1 is a power of two. */
static int inorder_ready(int n)
{
    return rcx_log2_floor(n) + rcx_log2_floor(n + 1) - 1;
}

static double inorder_gathered(int n)
{
    const int left = rcx_pow2_floor(n) - 1, right = n - 1 - left;
    double ready, blocks = 0;

    if (n == 1)
        return 0;
    ready = inorder_gathered(left);
    if (right > 0)
        blocks = (right < left ? inorder_gathered(right) : ready) + right;
    return (ready > blocks ? ready : blocks) + left;
}

static const struct form inorder = {.up = inorder_up,
                                    .down = inorder_down,
                                    .below = inorder_below,
                                    .ready = inorder_ready,
                                    .gathered = inorder_gathered,
                                    .children = 2};

/* Number 1 on top of the in-order tree of the others, in which even x are
 * leaves. */

static int topped_up(int n, int x)
{
    return x == 1 ? 0 : inorder_up(n - 1, x - 1) + 1;
}

static int topped_down(int n, int x, int i)
{
    int down;

    if (x == 0)
        return i == 0;
    down = inorder_down(n - 1, x - 1, i);
    return down ? down + 1 : 0;
}

static struct run topped_below(int n, int x)
{
    struct run run;

    if (x == 1)
        return (struct run){.first = 1, .last = n};
    run = inorder_below(n - 1, x - 1);
    return (struct run){.first = run.first + 1, .last = run.last + 1};
}

static int topped_ready(int n)
{
    return n == 1 ? 0 : inorder_ready(n - 1) + 1;
}

static const struct form topped = {.up = topped_up,
                                   .down = topped_down,
                                   .below = topped_below,
                                   .ready = topped_ready,
                                   .children = 2};

/* ---- The table ----------------------------------------------------------- */

enum { FLAT, BINOMIAL, BINARY, KNOMIAL, CHAIN, BINE, DOUBLE };

static const char *const names[] = {
    [FLAT] = "flat",     [BINOMIAL] = "binomial",
    [BINARY] = "binary", [KNOMIAL] = "knomial",
    [CHAIN] = "chain",   [BINE] = "bine",
    [DOUBLE] = "double", NULL};
static const char *const names_of_one[] = {[FLAT] = "flat",
                                           [BINOMIAL] = "binomial",
                                           [BINARY] = "binary",
                                           [KNOMIAL] = "knomial",
                                           [CHAIN] = "chain",
                                           [BINE] = "bine",
                                           NULL};

static const struct rcx_topology_kind kinds[] = {
    [FLAT] = {.ops = &parted, .fan = INT_MAX, .trees = 1, .form = {&path}},
    [BINOMIAL] = {.ops = &rcx_topology_knomial,
                  .splits = true,
                  .fan = 2,
                  .trees = 1},
    [BINARY] = {.ops = &parted, .fan = 1, .trees = 1, .form = {&inorder}},
    [KNOMIAL] = {.ops = &rcx_topology_knomial,
                 .splits = true,
                 .least = 2,
                 .trees = 1},
    [CHAIN] = {.ops = &parted, .least = 1, .trees = 1, .form = {&path}},
    [BINE] = {.ops = &rcx_topology_bine, .splits = true, .fan = 2, .trees = 1},
    [DOUBLE] = {.ops = &parted,
                .fan = 1,
                .trees = 2,
                .form = {&inorder, &topped}},
};

enum { TOPOLOGY, FAN }; /* parameters */

static const int64_t fans_proved[] = {1, 2, 3, FAN_USUAL, RCX_PARAM_END};

#define TOPOLOGY_OF(list, choice)                                              \
    {                                                                          \
        .name = "topology", .doc = "the tree's shape", .names = list,          \
        .usual = BINOMIAL, .candidate = choice                                 \
    }
#define FAN_OF_IT(choice)                                                      \
    {                                                                          \
        .name = "fan", .doc = "radix of knomial, number of chains",            \
        .least = 1, .most = INT_MAX, .usual = FAN_USUAL,                       \
        .proved = fans_proved, .candidate = choice                             \
    }

/* Chains and binary trees are for segments, in which only calls on several
 * nodes are priced. */
static int64_t one_of(const struct rcx_shape *s, const int64_t kinds_of[],
                      int n, int i)
{
    return i < n - (s->segments > 1 ? 0 : 2) ? kinds_of[i] : RCX_PARAM_END;
}

static int64_t tree_of_reduce(const struct rcx_shape *s, int i)
{
    static const int64_t these[] = {BINOMIAL, CHAIN, BINARY};

    return one_of(s, these, 3, i);
}

static int64_t tree_of_bcast(const struct rcx_shape *s, int i)
{
    static const int64_t these[] = {BINOMIAL, FLAT, CHAIN, BINARY};

    return one_of(s, these, 4, i);
}

/* While the topology is chosen the fan is not known. */
static int64_t fan_of(const struct rcx_shape *s, int i)
{
    static const int64_t chains[] = {1, 2, FAN_USUAL, RCX_PARAM_END};

    if (s->params[TOPOLOGY] == CHAIN)
        return chains[i];
    return i == 0 ? FAN_USUAL : RCX_PARAM_END;
}

const struct rcx_param rcx_topology_params[] = {
    TOPOLOGY_OF(names, tree_of_reduce), FAN_OF_IT(fan_of), {.name = NULL}};
const struct rcx_param rcx_topology_bcast_params[] = {
    TOPOLOGY_OF(names, tree_of_bcast), FAN_OF_IT(fan_of), {.name = NULL}};
const struct rcx_param rcx_topology_tree_params[] = {
    TOPOLOGY_OF(names_of_one, NULL), FAN_OF_IT(NULL), {.name = NULL}};

void rcx_topology_set_flat(int64_t params[])
{
    params[TOPOLOGY] = FLAT;
    params[FAN] = FAN_USUAL;
}

const char rcx_topology_needs[] =
    "a fan of 2 or more for topology=knomial, and no fan for topologies other "
    "than knomial and chain";

bool rcx_topology_fits(const struct rcx_shape *s)
{
    const struct rcx_topology_kind *kind = &kinds[s->params[TOPOLOGY]];

    return kind->fan ? s->params[FAN] == FAN_USUAL
                     : s->params[FAN] >= kind->least;
}

rcx_order_t rcx_topology_order(const struct rcx_shape *s)
{
    const struct rcx_topology t = rcx_topology_of(s);

    if (s->size <= 2 || (t.kind->splits && t.fan == 2))
        return RCX_ORDER_CANONICAL;
    return t.trees == 1 ? RCX_ORDER_UNIFORM : RCX_ORDER_RANK;
}

static struct rcx_topology make(int kind, int fan, int size, int root)
{
    return (struct rcx_topology){.kind = &kinds[kind],
                                 .size = size,
                                 .root = root,
                                 .fan = kinds[kind].fan ? kinds[kind].fan : fan,
                                 .trees = kinds[kind].trees};
}

struct rcx_topology rcx_topology_of(const struct rcx_shape *s)
{
    const int64_t fan = s->params[FAN];

    return make((int)s->params[TOPOLOGY], fan == RCX_PARAM_AUTO ? 1 : (int)fan,
                s->size, s->root);
}

struct rcx_topology rcx_topology_binomial(int size, int root)
{
    return make(BINOMIAL, FAN_USUAL, size, root);
}

struct rcx_topology rcx_topology_binary(int size, int root)
{
    return make(BINARY, FAN_USUAL, size, root);
}

/* Whether the root is in the last part, and this is shorter than others. */
static bool is_cut_off(const struct rcx_topology *t)
{
    int64_t width = 1;

    while (width * t->fan < t->size)
        width *= t->fan;
    return t->size % width != 0 && t->root >= t->size - t->size % width;
}

struct rcx_topology rcx_topology_gathering(struct rcx_topology t)
{
    t.mirrored = t.kind->splits && is_cut_off(&t);
    if (t.mirrored)
        t.root = t.size - 1 - t.root;
    return t;
}

/* Return the place of a rank, or the rank of a place. */
static int place_of(const struct rcx_topology *t, int rank)
{
    return t->mirrored && rank != NONE ? t->size - 1 - rank : rank;
}

int rcx_topology_parent(const struct rcx_topology *t, int tree, int rank)
{
    return place_of(t, t->kind->ops->parent(t, tree, place_of(t, rank)));
}

int rcx_topology_child(const struct rcx_topology *t, int tree, int rank, int i)
{
    return place_of(t, t->kind->ops->child(t, tree, place_of(t, rank), i));
}

struct rcx_interval rcx_topology_below(const struct rcx_topology *t, int tree,
                                       int rank)
{
    const struct rcx_interval at =
        t->kind->ops->below(t, tree, place_of(t, rank));

    if (!t->mirrored)
        return at;
    return (struct rcx_interval){.lo = t->size - at.hi, .hi = t->size - at.lo};
}

int rcx_topology_rounds(const struct rcx_topology *t)
{
    return t->kind->ops->rounds(t);
}

/* In other trees a rank has few children. */
int rcx_topology_busiest(const struct rcx_topology *t)
{
    const int rounds = rcx_topology_rounds(t);

    return t->size > 1 && t->kind->ops->busiest
               ? least_of(rounds, t->kind->ops->busiest(t))
               : rounds;
}

/* An interval is split at the largest power of two below its length. The root
 * represents its part, the first rank the other one. */
static int binomial_depth(int size, int root)
{
    int depth = 0;

    while (size > 1) {
        const int lower = rcx_pow2_floor(size - 1);
        const bool above = root >= lower;
        const int other = above ? lower : size - lower;
        const int there = 1 + rcx_log2_floor(other);

        depth = there > depth ? there : depth;
        root -= above ? lower : 0;
        size -= other;
    }
    return depth;
}

int rcx_topology_depth(const struct rcx_topology *t)
{
    if (t->kind == &kinds[BINOMIAL])
        return binomial_depth(t->size, t->root);
    return t->kind == &kinds[FLAT] && t->size > 1 ? 1 : rcx_topology_rounds(t);
}

double rcx_topology_blocks(const struct rcx_topology *t)
{
    return t->kind->ops->blocks(t);
}
