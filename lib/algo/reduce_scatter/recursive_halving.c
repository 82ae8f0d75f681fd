/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Reduce-scatter by recursive halving (Thakur, Rabenseifner, Gropp 2005, 4.4).
 *
 *   scratch  n; 2 n and two blocks where folded
 *   order    SAME; CANONICAL when p < 4
 *
 * In each round a rank exchanges with the rank half its group away: it sends
 * the blocks of the other half and combines those of its own half. If p = 2^k +
 * r, ranks 0..2r-1 first fold in pairs, even into odd. The odd rank works on
 * the adjacent blocks of both, and in the end sends the even rank its block.
 * Then no rank is slower than rank 1, which has most blocks in every round.
 */
#include "algo/phase/halving.h"

static rcx_order_t order(const struct rcx_shape *s)
{
    return s->size < 4 ? RCX_ORDER_CANONICAL : RCX_ORDER_SAME;
}

static struct rcx_cost cost(const struct rcx_shape *s)
{
    const int handed = s->size > rcx_pow2_floor(s->size);

    return rcx_cost_sum(rcx_halving_cost(s),
                        rcx_halving_hand_out_cost(s, handed));
}

static void build(struct rcx_builder *b, const struct rcx_shape *s)
{
    struct rcx_span mine = rcx_span_in(s);
    const struct rcx_halving h = rcx_halving_fold(b, s, false, &mine);
    const struct rcx_span part = rcx_halving_place(b, &h);

    if (h.group.rank >= 0)
        rcx_halving_reduce_scatter(b, &h, mine, part);
    rcx_halving_hand_out(b, &h, part);
}

const struct rcx_algo rcx_reduce_scatter_recursive_halving = {
    .name = "recursive_halving",
    .coll = RCX_COLL_REDUCE_SCATTER,
    .formula = "(k + 2 [r > 0]) a + (w + [r > 0] (n + n/p)) b + (w + [r > "
               "0] n) g, k = floor(lg p), r = p - 2^k, t = ceil(lg(r+1)), "
               "w = (2^k + 2^t - 2 + r (k-t)) n/p",
    .known_as = "MPICH, Open MPI: the same; UCC: knomial",
    .source = "Thakur, Rabenseifner, Gropp 2005, 4.4",
    .order = order,
    .cost = cost,
    .build = build,
};
