/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Reduce-scatter by a butterfly that keeps ranks in order (Traeff 2005, An
 * Improved Algorithm for (Non-commutative) Reduce-Scatter with an Application).
 *
 *   scratch  n; 2 n and two blocks where folded
 *   order    UNIFORM; CANONICAL when p is 1..10..0 in binary
 *
 * As recursive halving, but neighbours exchange first, so that each round
 * combines the operands of adjacent ranks. Member i then ends with the blocks
 * of the member whose number has the bits of i reversed, and sends them there.
 * (To permute all blocks beforehand would save that round, but costs p copies
 * of a block.)
 */
#include "algo/phase/fold.h"
#include "algo/phase/halving.h"

static struct rcx_cost cost(const struct rcx_shape *s)
{
    return rcx_cost_sum(
        rcx_halving_cost(s),
        rcx_halving_hand_out_cost(s, rcx_halving_handed(s->size)));
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
    .formula = "(k + [r > 0] + e) a + (w + [r > 0] n + e n/p) b + (w + [r "
               "> 0] n) g, k = floor(lg p), r = p - 2^k, e = [p > 2] (1 + "
               "[r > 1]), t = ceil(lg(r+1)), w = (2^k + 2^t - 2 + r "
               "(k-t)) n/p",
    .known_as = "MPICH: noncommutative; Open MPI: butterfly",
    .source = "Traeff 2005",
    .order = rcx_fold_order,
    .cost = cost,
    .build = build,
};
