/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Folding of p ranks to a power of two and the way back, with whole vectors or
 * in halves, as phases of reduce, reduce-scatter and allreduce algorithms.
 * fold.h has the contracts.
 */
#include "algo/phase/fold.h"

static int folded(const struct rcx_shape *s)
{
    return s->size - rcx_pow2_floor(s->size);
}

int rcx_fold_member(const struct rcx_shape *s, int rank)
{
    const int r = folded(s);

    return rank < 2 * r ? rank / 2 : rank - r;
}

int rcx_fold_first(const struct rcx_shape *s, int i)
{
    const int r = folded(s);

    return i < r ? 2 * i : i + r;
}

struct rcx_group rcx_fold_in(struct rcx_builder *b, const struct rcx_shape *s,
                             struct rcx_span result, struct rcx_span scratch,
                             struct rcx_span *mine_p)
{
    const int r = folded(s), me = s->rank;

    if (me < 2 * r && me % 2 == 0) {
        rcx_step_send(b, me + 1, *mine_p);
    } else if (me < 2 * r) {
        rcx_step_recv(b, me - 1, scratch);
        rcx_step_reduce(b, result, scratch, *mine_p);
        *mine_p = result;
    }
    return rcx_group_folded(s, r);
}

void rcx_fold_out(struct rcx_builder *b, const struct rcx_shape *s,
                  struct rcx_span result)
{
    const int r = folded(s), me = s->rank;

    if (me >= 2 * r)
        return;
    if (me % 2 == 0)
        rcx_step_recv(b, me + 1, result);
    else
        rcx_step_send(b, me - 1, result);
}

/* Return member i: the even rank of a pair, or the root if that is the odd
 * one. */
static int even_or_root(const struct rcx_group *g, int i)
{
    if (i >= g->a)
        return i + g->a;
    return 2 * i + 1 == g->b ? g->b : 2 * i;
}

struct rcx_group rcx_fold_halves_in(struct rcx_builder *b,
                                    const struct rcx_shape *s, int root,
                                    struct rcx_span result,
                                    struct rcx_span *mine_p)
{
    const int r = folded(s), me = s->rank, peer = me ^ 1, side = me % 2;
    const struct rcx_span mine = rcx_span_part(*mine_p, 2, side);
    struct rcx_group g = {.size = s->size - r,
                          .member = even_or_root,
                          .rank = rcx_fold_member(s, me),
                          .a = r,
                          .b = root};
    struct rcx_span theirs, sum;

    if (me >= 2 * r)
        return g;
    if (rcx_group_member(&g, g.rank) != me)
        g.rank = -1;
    theirs = rcx_span_scratch(b, mine.count);
    sum = g.rank < 0 ? theirs : rcx_span_part(result, 2, side);
    rcx_step_recv(b, peer, theirs);
    rcx_step_send(b, peer, rcx_span_part(*mine_p, 2, 1 - side));
    if (peer < me)
        rcx_step_reduce(b, sum, theirs, mine);
    else
        rcx_step_reduce(b, sum, mine, theirs);
    if (g.rank < 0) {
        rcx_step_send(b, peer, sum);
    } else {
        rcx_step_recv(b, peer, rcx_span_part(result, 2, 1 - side));
        *mine_p = result;
    }
    return g;
}

void rcx_fold_halves_out(struct rcx_builder *b, const struct rcx_shape *s,
                         struct rcx_span result)
{
    const int me = s->rank;

    if (me >= 2 * folded(s))
        return;
    if (me % 2)
        rcx_step_recv(b, me - 1, result);
    else
        rcx_step_send(b, me + 1, result);
}

/* messages: of a pair */
static struct rcx_cost cost(const struct rcx_shape *s, double rounds,
                            double messages, double combined)
{
    const double n = (double)s->count;

    if (folded(s) == 0)
        return (struct rcx_cost){0};
    return (struct rcx_cost){.rounds = rounds,
                             .volume = n,
                             .combines = combined * n,
                             .idle = rounds - messages * folded(s) / s->size};
}

struct rcx_cost rcx_fold_core_cost(const struct rcx_shape *s,
                                   struct rcx_cost core)
{
    core.idle += (core.rounds - core.idle) * folded(s) / s->size;
    return core;
}

struct rcx_cost rcx_fold_in_cost(const struct rcx_shape *s)
{
    return cost(s, 1, 1, 1);
}

struct rcx_cost rcx_fold_halves_in_cost(const struct rcx_shape *s)
{
    return cost(s, 2, 3, 0.5);
}

struct rcx_cost rcx_fold_out_cost(const struct rcx_shape *s)
{
    return cost(s, 1, 1, 0);
}

rcx_order_t rcx_fold_order(const struct rcx_shape *s)
{
    const int p = s->size, lowest = p & -p;

    return p + lowest == 2 * rcx_pow2_floor(p) ? RCX_ORDER_CANONICAL
                                               : RCX_ORDER_UNIFORM;
}
