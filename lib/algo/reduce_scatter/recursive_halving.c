/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Reduce-scatter by recursive halving (Thakur, Rabenseifner, Gropp 2005, 4.4).
 *
 *   time     lg p alpha + (p - 1)/p n beta + (p - 1)/p n gamma;
 *            p = 2^k + r: (k + 2) alpha + (n + w + n/p) beta + (n + w) gamma,
 *            w = sum over j < k of min(2^(j+1), 2^j + r) n/p
 *   scratch  n; 2 n and two blocks where folded
 *   order    SAME; CANONICAL when p < 4
 *
 * In each round a rank meets the one half its group away, sends the blocks of
 * the other half and combines those of its own. If p = 2^k + r, ranks 0..2r-1
 * first fold in pairs, even into odd; odd works for the blocks of both, which
 * lie side by side, and sends even its own in the end. So rank 1 and those like
 * it are the slowest: they have most blocks in every round.
 */
#include "algo/phase/halving.h"

static rcx_order_t order(const struct rcx_shape *s)
{
    return s->size < 4 ? RCX_ORDER_CANONICAL : RCX_ORDER_SAME;
}

static struct rcx_cost cost(const struct rcx_shape *s)
{
    struct rcx_cost c = rcx_halving_cost(s);

    if (s->size > rcx_pow2_floor(s->size)) {
        const struct rcx_blocks blocks = rcx_blocks_of(s);

        c.rounds += 1;
        c.volume += (double)rcx_blocks_largest(&blocks);
    }
    return c;
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
    .formula = "lg p a + n (p-1)/p (b + g); p = 2^k + r: (k+2) a + "
               "(n + w + n/p) b + (n + w) g, w = sum min(2^(j+1), 2^j+r) n/p",
    .source = "Thakur, Rabenseifner, Gropp 2005, 4.4",
    .order = order,
    .cost = cost,
    .build = build,
};
