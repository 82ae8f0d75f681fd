/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Reduce-scatter by Swing (De Sensi et al. 2024, arXiv 2401.09356; parts that
 * lie together: Bine, De Sensi et al. 2025, arXiv 2508.17311).
 *
 *   scratch  n; 2 n and two blocks where folded
 *   order    SAME; as butterfly when p < 8
 *
 * As butterfly, with near ranks first, but messages go two thirds as far along
 * a ring, or along the rows and columns of a torus: fewer of them share a link
 * there, or leave a group of neighbours. Member i ends with another part, too,
 * whose blocks it sends to their ranks. swing.h has the steps.
 */
#include "algo/phase/fold.h"
#include "algo/phase/halving.h"

enum { COLUMNS, ROWS }; /* parameters */

static bool fits(const struct rcx_shape *s)
{
    return rcx_swing_fits(s, &s->params[COLUMNS]);
}

static rcx_order_t order(const struct rcx_shape *s)
{
    return s->size < 8 ? rcx_fold_order(s) : RCX_ORDER_SAME;
}

static struct rcx_cost cost(const struct rcx_shape *s)
{
    return rcx_cost_sum(
        rcx_halving_cost(s),
        rcx_halving_hand_out_cost(s, rcx_halving_handed(s->size)));
}

static void build(struct rcx_builder *b, const struct rcx_shape *s)
{
    const struct rcx_swing swing = rcx_swing_of(s, &s->params[COLUMNS]);
    struct rcx_span mine = rcx_span_in(s), part;
    struct rcx_halving h = rcx_halving_fold(b, s, true, &mine);

    h.swing = &swing;
    part = rcx_halving_place(b, &h);
    if (h.group.rank >= 0)
        rcx_halving_reduce_scatter(b, &h, mine, part);
    rcx_halving_hand_out(b, &h, part);
}

static const struct rcx_param params[] = {
    [COLUMNS] = RCX_SWING_COLUMNS, [ROWS] = RCX_SWING_ROWS, {.name = NULL}};

const struct rcx_algo rcx_reduce_scatter_swing = {
    .name = "swing",
    .coll = RCX_COLL_REDUCE_SCATTER,
    .formula = "(k + [r > 0] + e) a + (w + [r > 0] n + e n/p) b + (w + [r > "
               "0] n) g, k = floor(lg p), r = p - 2^k, e = [p > 2] (1 + [r > "
               "1]), t = ceil(lg(r+1)), w = (2^k + 2^t - 2 + r (k-t)) n/p",
    .needs = RCX_SWING_NEEDS,
    .known_as = "Bine: butterfly, send",
    .source = "De Sensi et al. 2024, arXiv 2401.09356; 2025, arXiv 2508.17311",
    .params = params,
    .fits = fits,
    .order = order,
    .cost = cost,
    .build = build,
};
