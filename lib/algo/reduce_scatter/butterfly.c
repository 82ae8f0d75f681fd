/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Reduce-scatter by a butterfly that keeps ranks in order (Traeff 2005, An
 * Improved Algorithm for (Non-commutative) Reduce-Scatter with an Application).
 *
 *   time     p = 2^k: (k + 1) alpha + n beta + (p - 1)/p n gamma, for k > 1;
 *            p = 2^k + r: (k + 1 + e) alpha + (n + w + e n/p) beta +
 *            (n + w) gamma, w as in recursive_halving, e = 1 if r = 1, else 2
 *   scratch  n; 2 n and two blocks where folded
 *   order    UNIFORM; CANONICAL when p is 1..10..0 in binary
 *
 * As recursive halving, but neighbours meet first, so that what a rank combines
 * in each round lies side by side. Each member then ends with the blocks of the
 * one whose number has its bits mirrored, and sends them there. (Permuting all
 * blocks beforehand would save that round, but costs p copies of a block.)
 */
#include "algo/phase/fold.h"
#include "algo/phase/halving.h"

static struct rcx_cost cost(const struct rcx_shape *s)
{
    const int surplus = s->size - rcx_pow2_floor(s->size);
    const int handed = s->size < 3 ? 0 : surplus < 2 ? 1 : 2;
    const struct rcx_blocks blocks = rcx_blocks_of(s);
    struct rcx_cost c = rcx_halving_cost(s);

    c.rounds += handed;
    c.volume += handed * (double)rcx_blocks_largest(&blocks);
    return c;
}

static void build(struct rcx_builder *b, const struct rcx_shape *s)
{
    struct rcx_span mine = rcx_span_in(s);
    const struct rcx_halving h = rcx_halving_fold(b, s, true, &mine);
    const struct rcx_span part = rcx_halving_place(b, &h);

    if (h.group.rank >= 0)
        rcx_halving_reduce_scatter(b, &h, mine, part);
    rcx_halving_hand_out(b, &h, part);
}

const struct rcx_algo rcx_reduce_scatter_butterfly = {
    .name = "butterfly",
    .coll = RCX_COLL_REDUCE_SCATTER,
    .formula = "p = 2^k: (k+1) a + n b + n (p-1)/p g; p = 2^k + r: (k+1+e) a + "
               "(n + w + e n/p) b + (n + w) g, w as in recursive_halving, "
               "e = 1 if r = 1, else 2",
    .source = "Traeff 2005",
    .order = rcx_fold_order,
    .cost = cost,
    .build = build,
};
