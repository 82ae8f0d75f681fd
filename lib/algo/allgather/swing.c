/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Allgather by Swing (De Sensi et al. 2024, arXiv 2401.09356; parts that lie
 * together: Bine, De Sensi et al. 2025, arXiv 2508.17311), for any counts.
 *
 *   scratch  none
 *
 * First each block goes to the rank whose part it is. Then distant ranks
 * exchange first, when there is little to send, and near ones last, two thirds
 * as far as in a cube: along a ring, or along the rows and columns of a torus.
 * If p = 2^k + r, ranks 0..2r-1 are pairs, of which the odd rank takes part for
 * both, and sends the vector to the even one in the end. swing.h has the steps.
 */
#include "algo/phase/fold.h"
#include "algo/phase/halving.h"

enum { COLUMNS, ROWS }; /* parameters */

static bool fits(const struct rcx_shape *s)
{
    return rcx_swing_fits(s, &s->params[COLUMNS]);
}

static struct rcx_cost cost(const struct rcx_shape *s)
{
    const struct rcx_cost in =
        rcx_halving_hand_out_cost(s, rcx_halving_handed(s->size));
    struct rcx_cost parts = rcx_halving_parts_cost(s);

    parts.combines = 0;
    parts = rcx_fold_core_cost(s, parts);
    return rcx_cost_sum(rcx_cost_sum(in, parts), rcx_fold_out_cost(s));
}

static void build(struct rcx_builder *b, const struct rcx_shape *s)
{
    const struct rcx_swing swing = rcx_swing_of(s, &s->params[COLUMNS]);
    const struct rcx_halving h = {.group =
                                      rcx_group_folded(s, s->size - swing.size),
                                  .blocks = rcx_blocks_of(s),
                                  .near_first = true,
                                  .swing = &swing,
                                  .folded = s};
    const struct rcx_span out = rcx_span_out(s);

    rcx_halving_hand_in(b, &h, rcx_span_in(s), out);
    if (h.group.rank >= 0)
        rcx_halving_allgather(b, &h, out);
    rcx_fold_out(b, s, out);
}

static const struct rcx_param params[] = {
    [COLUMNS] = RCX_SWING_COLUMNS, [ROWS] = RCX_SWING_ROWS, {.name = NULL}};

const struct rcx_algo rcx_allgather_swing = {
    .name = "swing",
    .coll = RCX_COLL_ALLGATHER,
    .formula = "(k + [r > 0] + e) a + (w + [r > 0] n + e n/p) b, k = floor(lg "
               "p), r = p - 2^k, e = [p > 2] (1 + [r > 1]), t = "
               "ceil(lg(r+1)), w = (2^k + 2^t - 2 + r (k-t)) n/p",
    .needs = RCX_SWING_NEEDS,
    .known_as = "Bine: butterfly, send",
    .source = "De Sensi et al. 2024, arXiv 2401.09356; 2025, arXiv 2508.17311",
    .params = params,
    .level = RCX_ORDER_CANONICAL,
    .fits = fits,
    .cost = cost,
    .build = build,
};
