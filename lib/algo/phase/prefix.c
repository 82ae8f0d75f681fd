/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Inclusive and exclusive scans by recursive doubling and along a binary tree,
 * for the scan and exscan algorithms of these names, with their costs. prefix.h
 * has the contracts.
 */
#include "algo/phase/prefix.h"

/* ---- Recursive doubling -------------------------------------------------- */

/* State of a rank between two rounds. A block has 2^k ranks, which differ below
 * bit k. */
struct cube {
    struct rcx_builder *b;
    const struct rcx_shape *s;
    struct rcx_span block;  /* sum of its block */
    struct rcx_span result; /* scan within its block; may be block */
    bool has_result;
    struct rcx_span sum; /* scratch in which block is combined */
    struct rcx_span theirs, next;
};

/* Return a span to receive in. The first sum that an exclusive scan receives is
 * its result and goes to OUT, unless in place, where OUT is still read. */
static struct rcx_span take(struct cube *c)
{
    const struct rcx_span theirs = c->theirs;

    if (!c->has_result && c->s->alias == RCX_ALIAS_NONE)
        return rcx_span_out(c->s);
    c->theirs = c->next;
    c->next = theirs;
    return theirs;
}

/*
 * Exchange blocks with the rank dist below. The sum of both blocks is combined
 * only if rank + 2 dist exists: that rank, or one behind it, needs it. If block
 * and result are of the same ranks, one combine is enough for both.
 */
static void join_below(struct cube *c, int dist)
{
    const int rank = c->s->rank, size = c->s->size;
    const struct rcx_span out = rcx_span_out(c->s), theirs = take(c);
    const bool is_one = c->has_result && c->result.buffer == c->block.buffer;

    rcx_step_recv(c->b, rank - dist, theirs);
    if (rank + dist < size) /* else the lower rank does not need it */
        rcx_step_send(c->b, rank - dist, c->block);
    if (rank + 2 * dist < size && !is_one) {
        rcx_step_reduce(c->b, c->sum, theirs, c->block);
        c->block = c->sum;
    }
    if (c->has_result)
        rcx_step_reduce(c->b, out, theirs, c->result);
    else
        rcx_step_copy(c->b, out, theirs);
    c->result = out;
    c->has_result = true;
    if (is_one)
        c->block = out;
}

static void join_above(struct cube *c, int dist)
{
    rcx_step_send(c->b, c->s->rank + dist, c->block);
    if (c->s->rank + 2 * dist < c->s->size) {
        const struct rcx_span theirs = c->theirs;

        c->theirs = c->next;
        c->next = theirs;
        rcx_step_recv(c->b, c->s->rank + dist, theirs);
        rcx_step_reduce(c->b, c->sum, c->block, theirs);
        c->block = c->sum;
    }
}

void rcx_prefix_doubling(struct rcx_builder *b, const struct rcx_shape *s,
                         bool exclusive)
{
    const struct rcx_span in = rcx_span_in(s);
    struct cube c = {.b = b,
                     .s = s,
                     .block = in,
                     .result = in,
                     .has_result = !exclusive,
                     .sum = rcx_span_scratch(b, s->count),
                     .theirs = rcx_span_scratch(b, s->count),
                     .next = rcx_span_scratch(b, s->count)};

    for (int dist = 1; dist < s->size; dist *= 2) {
        if (s->rank & dist)
            join_below(&c, dist);
        else if (s->rank + dist < s->size)
            join_above(&c, dist);
    }
    if (c.has_result)
        rcx_step_copy(b, rcx_span_out(s), c.result);
}

/* Return the combines of a scan of so many ranks. Most rounds take two, of
 * block and result; the last ones take less if no rank behind needs the
 * block. */
static int doubling_combines(int scanned)
{
    if (scanned < 4)
        return scanned > 0 ? scanned - 1 : 0;
    return rcx_log2_floor((scanned + 1) / 5) +
           rcx_log2_floor((scanned + 1) / 3) + 2;
}

/* An exclusive scan takes as many combines as a scan of one rank less. */
struct rcx_cost rcx_prefix_doubling_cost(const struct rcx_shape *s,
                                         bool exclusive)
{
    const double rounds = rcx_log2_ceil(s->size), n = (double)s->count;
    const double combines = doubling_combines(s->size - exclusive);

    return (struct rcx_cost){
        .rounds = rounds, .volume = rounds * n, .combines = combines * n};
}

/* ---- A tree -------------------------------------------------------------- */

enum { NONE = -1 };

/* The interval of a subtree, [lo, hi), with its root in the middle. The middle
 * ranks of its halves are the children. */
struct node {
    int lo, hi;
    int parent, left, right;
};

static int middle(int lo, int hi)
{
    return lo < hi ? lo + (hi - lo) / 2 : NONE;
}

static struct node node_of(const struct rcx_shape *s)
{
    struct node n = {.lo = 0, .hi = s->size, .parent = NONE};
    int root;

    while ((root = middle(n.lo, n.hi)) != s->rank) {
        n.parent = root;
        if (s->rank < root)
            n.hi = root;
        else
            n.lo = root + 1;
    }
    n.left = middle(n.lo, root);
    n.right = middle(root + 1, n.hi);
    return n;
}

static struct rcx_span receive(struct rcx_builder *b, int peer,
                               struct rcx_span to)
{
    rcx_step_recv(b, peer, to);
    return to;
}

static struct rcx_span combine(struct rcx_builder *b, struct rcx_span to,
                               struct rcx_span left, struct rcx_span right)
{
    rcx_step_reduce(b, to, left, right);
    return to;
}

/* Send the sum of n's interval to the parent. mine: the sum of the interval up
 * to its root. */
static void send_total(struct rcx_builder *b, const struct node *n,
                       struct rcx_span mine)
{
    struct rcx_span total = mine;

    if (n->right != NONE) {
        total = receive(b, n->right, rcx_span_scratch(b, mine.count));
        combine(b, total, mine, total);
    }
    rcx_step_send(b, n->parent, total);
}

/* Each rank combines the sum of the ranks before its interval with mine, for
 * its right half and for an inclusive scan. */
void rcx_prefix_tree(struct rcx_builder *b, const struct rcx_shape *s,
                     bool exclusive)
{
    const struct node n = node_of(s);
    const bool sends_total = n.hi != s->size, has_above = n.lo > 0;
    const bool needs_mine = !exclusive || sends_total || n.right != NONE;
    const struct rcx_span in = rcx_span_in(s), out = rcx_span_out(s);
    const bool is_free = exclusive && s->alias == RCX_ALIAS_NONE;
    struct rcx_span below = out, above = out, mine = in, upto;

    if (n.left != NONE) {
        if (!is_free)
            below = rcx_span_scratch(b, s->count);
        receive(b, n.left, below);
        if (needs_mine)
            mine = combine(b, exclusive ? rcx_span_scratch(b, s->count) : out,
                           below, in);
    }
    if (sends_total)
        send_total(b, &n, mine);
    upto = mine;
    if (has_above) {
        if (!is_free || n.left != NONE)
            above = rcx_span_scratch(b, s->count);
        receive(b, n.parent, above);
        if (n.left != NONE)
            rcx_step_send(b, n.left, above);
        if (!exclusive || n.right != NONE)
            upto = combine(b, exclusive ? rcx_span_scratch(b, s->count) : out,
                           above, mine);
    }
    if (n.right != NONE)
        rcx_step_send(b, n.right, upto);
    if (!exclusive)
        rcx_step_copy(b, out, upto);
    else if (has_above && n.left != NONE)
        rcx_step_reduce(b, out, above, below);
    else if (has_above || n.left != NONE)
        rcx_step_copy(b, out, has_above ? above : below);
}

/* Return when the sum of a subtree is at its root, in messages or combines. Its
 * left half is the larger one. */
static int ascent(int size)
{
    int time = 0;

    for (; size > 2; size /= 2)
        time += 2;
    return time + (size == 2);
}

/* Return when all ranks of a subtree have received from its root; the right
 * half receives last. */
static int descent(int size)
{
    int time = 0;

    for (; size > 2; size = (size - 1) / 2)
        time += 2;
    return time + (size == 2);
}

/* The root knows the sum before its right half as soon as the left half has
 * sent its sum. In an exclusive scan a right half of one rank combines
 * nothing. */
struct rcx_cost rcx_prefix_tree_cost(const struct rcx_shape *s, bool exclusive)
{
    const int left = s->size / 2, right = (s->size - 1) / 2;
    double rounds = left, combines = exclusive ? 0 : left;
    const double n = (double)s->count;

    if (right > 0) {
        rounds = ascent(left) + 2 + descent(right);
        combines = ascent(left) + 1;
    }
    if (right > 1 || (right > 0 && !exclusive))
        combines += rcx_log2_floor(right + 1);
    return (struct rcx_cost){
        .rounds = rounds, .volume = rounds * n, .combines = combines * n};
}
