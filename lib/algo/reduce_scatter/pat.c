/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Reduce-scatter by parallel aggregated trees (Jeaugey 2025, PAT, arXiv
 * 2506.20252): allgather pat in reverse, for any counts.
 *
 *   scratch  (ceil(lg w) + 4) m, m is a message of up to aggregation blocks,
 *            w = ceil(p / aggregation); 3 n for w = 1
 *   order    SAME
 *
 * Ranks send sums of the last place first, so that each place has all sums of
 * the places that follow it when its own are sent. Places are left in an order
 * in which only those on the way to place 0 hold sums: ceil(lg w) at most, for
 * any number of ranks. Recursive halving and circulant have fewer rounds if
 * aggregation is less than p, but scratch for more than the vector.
 */
#include "algo/phase/pat.h"

enum { DEPTHS = 32 };

struct reduction {
    struct rcx_builder *b;
    struct rcx_pat pat;
    struct rcx_span operand;
    struct rcx_span sums[DEPTHS]; /* of the place that is so deep in the trees:
                                     a block of each tree */
    struct rcx_span going[2], coming[2];
    int messages;
};

static struct rcx_span operand_at(const struct reduction *r, int distance)
{
    return rcx_pat_block(&r->pat, r->operand, distance);
}

/* Return the elements of a place's blocks in trees from to below end. */
static size_t elements(const struct reduction *r, int place, int from, int end)
{
    size_t count = 0;

    for (int tree = from; tree < end; tree++)
        count += operand_at(r, tree * r->pat.width + place).count;
    return count;
}

static struct rcx_span *sums_of(struct reduction *r, int place)
{
    return &r->sums[__builtin_popcount((unsigned)place)];
}

/* Return in how many trees a place has sums, when the place that follows it at
 * `next`, and all later ones, have been sent. */
static int summed(const struct reduction *r, int place, int next)
{
    if (next >= r->pat.width || (place && next - place >= (place & -place)))
        return 0;
    return rcx_pat_trees(&r->pat, next);
}

/* dst = left op right, by way of right if dst is in the way of left. */
static void combine(struct reduction *r, struct rcx_span dst,
                    struct rcx_span left, struct rcx_span right)
{
    const bool clash = rcx_span_clash(r->b->shape, dst, left);

    rcx_step_reduce(r->b, clash ? right : dst, left, right);
    if (clash)
        rcx_step_copy(r->b, dst, right);
}

/* ---- Places: from the last one to place 1 -------------------------------- */

/* Return the sums of a place for the next rank: in their places, or packed. */
static struct rcx_span collect(struct reduction *r, int place)
{
    const int n = rcx_pat_trees(&r->pat, place);
    const int done = summed(r, place, place + 1);
    const struct rcx_span all =
        done ? *sums_of(r, place) : r->going[r->messages % 2];
    size_t at = elements(r, place, 0, done);

    if (n == 1 && done == 0)
        return operand_at(r, place);
    for (int tree = done; tree < n; tree++) {
        const struct rcx_span own = operand_at(r, tree * r->pat.width + place);

        rcx_step_copy(r->b, rcx_span_sub(all, at, own.count), own);
        at += own.count;
    }
    return rcx_span_sub(all, 0, at);
}

/* Sums are received apart from the place that they are added to. The next but
 * one is received there as well, so no reduction waits for a much later one
 * (sched/fuse.c), and keeps its sender waiting. */
static void leave_place(struct reduction *r, int place)
{
    const int dist = place & -place, to = place - dist;
    const int n = rcx_pat_trees(&r->pat, place);
    const int done = summed(r, to, to + 2 * dist);
    const bool ends = place == 1 && r->pat.trees == 1;
    const struct rcx_span sums = *sums_of(r, to);
    const struct rcx_span theirs =
        rcx_span_sub(r->coming[r->messages % 2], 0, elements(r, to, 0, n));
    size_t at = elements(r, to, 0, done);

    rcx_step_recv(r->b, rcx_pat_rank(&r->pat, dist), theirs);
    rcx_step_send(r->b, rcx_pat_rank(&r->pat, -dist), collect(r, place));
    if (done) {
        const struct rcx_span before = rcx_span_sub(sums, 0, at);

        combine(r, ends ? rcx_span_out(r->b->shape) : before, before,
                rcx_span_sub(theirs, 0, at));
    }
    for (int tree = done; tree < n; tree++) {
        const struct rcx_span own = operand_at(r, tree * r->pat.width + to);

        combine(r,
                ends ? rcx_span_out(r->b->shape)
                     : rcx_span_sub(sums, at, own.count),
                own, rcx_span_sub(theirs, at, own.count));
        at += own.count;
    }
    r->messages++;
}

/* ---- Trees: from the nearest ones ---------------------------------------- */

/* Return the sum of a tree, whose place among the sums is at, before the trees
 * at odd multiples of dist are sent. */
static struct rcx_span sum_of(const struct reduction *r, int tree, int dist,
                              size_t at)
{
    const struct rcx_span own = operand_at(r, tree * r->pat.width);
    const bool has_sum =
        tree < summed(r, 0, 1) || (dist > 1 && tree + 1 < r->pat.trees);

    return has_sum ? rcx_span_sub(r->sums[0], at, own.count) : own;
}

/* Send the sums of the trees at odd multiples of dist, and receive those of the
 * rank as far ahead, which belong to the trees at even multiples. */
static void exchange_trees(struct reduction *r, int dist,
                           struct rcx_span coming)
{
    const bool packs = rcx_pat_odd(&r->pat, dist) > 1;
    const int far = dist * r->pat.width;
    struct rcx_span going = r->going[r->messages % 2];
    size_t sent = 0, received = 0, at = 0;

    for (int tree = 0; tree < r->pat.trees; tree++) {
        const struct rcx_span sum = sum_of(r, tree, dist, at);

        at += sum.count;
        if (tree % (2 * dist) == 0 && tree + dist < r->pat.trees)
            received += sum.count;
        if (tree % (2 * dist) != dist)
            continue;
        if (packs)
            rcx_step_copy(r->b, rcx_span_sub(going, sent, sum.count), sum);
        else
            going = sum;
        sent += sum.count;
    }
    rcx_step_recv(r->b, rcx_pat_rank(&r->pat, far),
                  rcx_span_sub(coming, 0, received));
    rcx_step_send(r->b, rcx_pat_rank(&r->pat, -far),
                  rcx_span_sub(going, 0, sent));
}

static void leave_trees(struct reduction *r, int dist)
{
    const bool ends = 2 * dist >= r->pat.trees;
    const struct rcx_span coming = r->coming[r->messages % 2];
    size_t at = 0, next = 0;

    exchange_trees(r, dist, coming);
    for (int tree = 0; tree + dist < r->pat.trees; tree++) {
        const struct rcx_span sum = sum_of(r, tree, dist, at);

        if (tree % (2 * dist) == 0) {
            combine(r,
                    ends ? rcx_span_out(r->b->shape)
                         : rcx_span_sub(r->sums[0], at, sum.count),
                    sum, rcx_span_sub(coming, next, sum.count));
            next += sum.count;
        }
        at += sum.count;
    }
    r->messages++;
}

/* ---- The whole ----------------------------------------------------------- */

static void build(struct rcx_builder *b, const struct rcx_shape *s)
{
    struct reduction r = {
        .b = b, .pat = rcx_pat_of(s), .operand = rcx_span_in(s)};
    const struct rcx_pat *pat = &r.pat;
    const size_t row = s->size > 1 ? rcx_pat_row(pat) : 0;
    const size_t longest = s->size > 1 ? rcx_pat_longest(pat) : 0;

    for (int i = 0; i < (pat->width > 1 ? rcx_log2_ceil(pat->width) : 1); i++)
        r.sums[i] = rcx_span_scratch(b, row);
    for (int i = 0; i < 2; i++) {
        r.going[i] = rcx_span_scratch(b, longest);
        r.coming[i] = rcx_span_scratch(b, longest);
    }
    for (int place = pat->width - 1; place > 0; place--)
        leave_place(&r, place);
    for (int dist = 1; dist < pat->trees; dist *= 2)
        leave_trees(&r, dist);
    if (s->size == 1)
        rcx_step_copy(b, rcx_span_out(s), rcx_span_in(s));
}

static struct rcx_cost cost(const struct rcx_shape *s)
{
    struct rcx_cost c = rcx_pat_cost(s);

    c.combines = c.volume;
    return c;
}

const struct rcx_algo rcx_reduce_scatter_pat = {
    .name = "pat",
    .coll = RCX_COLL_REDUCE_SCATTER,
    .formula = "(ceil(lg ceil(p/w)) + w-1) a + n (p-1)/p (b + g), w = "
               "max(ceil(p / aggregation), 1); the largest block where n/p is "
               "irregular",
    .known_as = "NCCL: PAT",
    .source = "Jeaugey 2025, arXiv 2506.20252; any p: design",
    .params = rcx_pat_params,
    .level = RCX_ORDER_SAME,
    .cost = cost,
    .build = build,
};
