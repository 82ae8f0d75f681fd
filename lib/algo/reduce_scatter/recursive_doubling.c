/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Reduce-scatter by recursive doubling, for ops that do not commute (Thakur,
 * Rabenseifner, Gropp 2005, 4.4).
 *
 *   scratch  4 n; 5 n and two blocks where folded
 *   order    UNIFORM; CANONICAL when p is 1..10..0 in binary
 *
 * In each round groups of m neighbours merge into groups of 2 m. A rank sends
 * its partial results for all blocks outside its group. It combines what it
 * receives for its own block and for blocks outside the merged group. (The
 * paper also combines the other blocks of the merged group, which no later
 * round needs.) Messages are few and large: the blocks before and after a group
 * are contiguous in scratch. Folding is as in recursive_halving.
 */
#include "algo/phase/fold.h"
#include "algo/phase/halving.h"

static struct rcx_cost cost(const struct rcx_shape *s)
{
    const int cube = rcx_pow2_floor(s->size), pairs = s->size - cube;
    const double n = (double)s->count, block = n / s->size;
    /* the slowest member: delayed by folding, with the fewest blocks in its
     * groups */
    const int last = pairs ? pairs - 1 : 0;
    struct rcx_cost c = rcx_fold_in_cost(s);

    for (int m = 1; m < cube; m *= 2) {
        const int lo = last & -(2 * m), mid = lo + m, hi = mid + m;
        const int end = rcx_fold_first(s, hi);

        c.rounds++;
        c.volume += n - block * (end - rcx_fold_first(s, mid));
        c.combines +=
            n - block * (end - rcx_fold_first(s, lo) - (pairs ? 2 : 1));
    }
    return rcx_cost_sum(c, rcx_halving_hand_out_cost(s, pairs > 0));
}

/* ---- Rounds -------------------------------------------------------------- */

static struct rcx_span head(struct rcx_span span, size_t count)
{
    return rcx_span_sub(span, 0, count);
}

static struct rcx_span tail(struct rcx_span span, size_t count)
{
    return rcx_span_sub(span, span.count - count, count);
}

static void combine(struct rcx_builder *b, int peer, struct rcx_span sum,
                    struct rcx_span mine, struct rcx_span theirs)
{
    if (peer < b->shape->rank)
        rcx_step_reduce(b, sum, theirs, mine);
    else
        rcx_step_reduce(b, sum, mine, theirs);
}

/* Elements of the vector before and after the m parts from part i on. */
struct around {
    size_t before, after;
};

static struct around around(const struct rcx_halving *h, int i, int m)
{
    return (struct around){rcx_halving_start(h, i),
                           h->blocks.count - rcx_halving_start(h, i + m)};
}

static void exchange(struct rcx_builder *b, const struct rcx_halving *h,
                     struct rcx_span operand, struct rcx_span result)
{
    const int me = h->group.rank;
    const size_t n = operand.count;
    const struct rcx_span scratch[] = {
        rcx_span_scratch(b, n), rcx_span_scratch(b, n), rcx_span_scratch(b, n),
        rcx_span_scratch(b, n)};
    const struct around start = around(h, me, 1);
    struct rcx_span own = rcx_halving_own(h, operand);
    struct rcx_span others = head(scratch[0], start.before + start.after);

    rcx_step_copy(b, head(others, start.before), head(operand, start.before));
    rcx_step_copy(b, tail(others, start.after), tail(operand, start.after));
    for (int m = 1, odd = 1; m < h->group.size; m *= 2, odd = 1 - odd) {
        const int peer = rcx_group_member(&h->group, me ^ m);
        const struct around far = around(h, (me ^ m) & -m, m);
        const struct around both = around(h, me & -(2 * m), 2 * m);
        const struct rcx_span theirs =
            head(scratch[2 + odd], far.before + far.after);
        const struct rcx_span next =
            head(scratch[odd], both.before + both.after);
        /* elements below my block that theirs lacks: the peer's group */
        const size_t below = me & m ? n - theirs.count : 0;
        const struct rcx_span for_me =
            rcx_span_sub(theirs, start.before - below, own.count);
        const struct rcx_span sum =
            2 * m == h->group.size && !rcx_span_clash(b->shape, result, own)
                ? result
                : for_me;

        rcx_step_recv(b, peer, theirs);
        rcx_step_send(b, peer, others);
        combine(b, peer, head(next, both.before), head(others, both.before),
                head(theirs, both.before));
        combine(b, peer, tail(next, both.after), tail(others, both.after),
                tail(theirs, both.after));
        combine(b, peer, sum, own, for_me);
        own = sum;
        others = next;
    }
    rcx_step_copy(b, result, own);
}

static void build(struct rcx_builder *b, const struct rcx_shape *s)
{
    struct rcx_span mine = rcx_span_in(s);
    const struct rcx_halving h = rcx_halving_fold(b, s, false, &mine);
    const struct rcx_span part = rcx_halving_place(b, &h);

    if (h.group.rank >= 0)
        exchange(b, &h, mine, part);
    rcx_halving_hand_out(b, &h, part);
}

const struct rcx_algo rcx_reduce_scatter_recursive_doubling = {
    .name = "recursive_doubling",
    .coll = RCX_COLL_REDUCE_SCATTER,
    .formula = "p = 2^k: k a + n (k - (p-1)/p) b + n (k + k/p - 2 "
               "(p-1)/p) g, k = floor(lg p); else (k+2) a, at most (k+1) "
               "(n b + n g)",
    .known_as = "MPICH, Open MPI: the same",
    .source = "Thakur, Rabenseifner, Gropp 2005, 4.4",
    .order = rcx_fold_order,
    .cost = cost,
    .build = build,
};
