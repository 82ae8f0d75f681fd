/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Allreduce by Swing (De Sensi et al. 2024, arXiv 2401.09356; parts that lie
 * together: Bine, De Sensi et al. 2025, arXiv 2508.17311).
 *
 *   scratch  parts: 3/2 n, n where p = 2^k; whole: 2 n
 *   order    parts: SAME; whole: LOOSE; as recursive_doubling when p < 8
 *
 * As rabenseifner for parts of the vector, or as recursive_doubling for whole
 * ones, but messages go two thirds as far: along a ring, or along the
 * dimensions of a torus. There fewer of them share a link; and fewer bytes
 * leave a group of neighbours, unless groups are those of the cube. Whole
 * vectors are combined from other groups of ranks on each rank, so their bits
 * may differ. swing.h has the steps.
 */
#include "algo/phase/fold.h"
#include "algo/phase/halving.h"

enum { EXCHANGE, COLUMNS, ROWS }; /* parameters */
enum { PARTS, WHOLE };

static bool fits(const struct rcx_shape *s)
{
    return rcx_swing_fits(s, &s->params[COLUMNS]);
}

static rcx_order_t order(const struct rcx_shape *s)
{
    if (s->size < 8)
        return rcx_fold_order(s);
    return s->params[EXCHANGE] == PARTS ? RCX_ORDER_SAME : RCX_ORDER_LOOSE;
}

static struct rcx_cost cost(const struct rcx_shape *s)
{
    const int cube = rcx_pow2_floor(s->size);
    const double k = rcx_log2_floor(s->size), n = (double)s->count;
    struct rcx_cost in = rcx_fold_in_cost(s);
    struct rcx_cost steps = {.rounds = k, .volume = k * n, .combines = k * n};

    if (s->params[EXCHANGE] == PARTS) {
        in = rcx_fold_halves_in_cost(s);
        steps = rcx_cost_sum(rcx_halving_reduce_scatter_cost(cube, n),
                             rcx_halving_allgather_cost(cube, n));
    }
    return rcx_cost_sum(rcx_cost_sum(in, rcx_fold_core_cost(s, steps)),
                        rcx_fold_out_cost(s));
}

static void build_parts(struct rcx_builder *b, const struct rcx_shape *s,
                        const struct rcx_swing *swing)
{
    const struct rcx_span out = rcx_span_out(s);
    struct rcx_span mine = rcx_span_in(s);
    const struct rcx_group g = rcx_fold_halves_in(b, s, -1, out, &mine);
    const struct rcx_halving h = {.group = g,
                                  .blocks = {.count = s->count, .n = g.size},
                                  .near_first = true,
                                  .swing = swing};

    if (g.rank >= 0) {
        rcx_halving_reduce_scatter(b, &h, mine, rcx_halving_own(&h, out));
        rcx_halving_allgather(b, &h, out);
    }
    rcx_fold_halves_out(b, s, out);
}

static void build_whole(struct rcx_builder *b, const struct rcx_shape *s,
                        const struct rcx_swing *swing)
{
    const struct rcx_span out = rcx_span_out(s);
    const struct rcx_span theirs[] = {rcx_span_scratch(b, s->count),
                                      rcx_span_scratch(b, s->count)};
    struct rcx_span mine = rcx_span_in(s);
    const struct rcx_group g = rcx_fold_in(b, s, out, theirs[1], &mine);

    for (int i = 0; g.rank >= 0 && 1 << i < g.size; i++) {
        const int peer = rcx_group_member(&g, rcx_swing_peer(swing, g.rank, i));

        rcx_step_recv(b, peer, theirs[i % 2]);
        rcx_step_send(b, peer, mine);
        if (peer < s->rank)
            rcx_step_reduce(b, out, theirs[i % 2], mine);
        else
            rcx_step_reduce(b, out, mine, theirs[i % 2]);
        mine = out;
    }
    if (s->size == 1)
        rcx_step_copy(b, out, mine);
    rcx_fold_out(b, s, out);
}

static void build(struct rcx_builder *b, const struct rcx_shape *s)
{
    const struct rcx_swing swing = rcx_swing_of(s, &s->params[COLUMNS]);

    if (s->params[EXCHANGE] == PARTS)
        build_parts(b, s, &swing);
    else
        build_whole(b, s, &swing);
}

static const char *const exchanges[] = {
    [PARTS] = "parts", [WHOLE] = "whole", NULL};
static const struct rcx_param params[] = {
    [EXCHANGE] = {.name = "exchange",
                  .doc = "parts of the vector, for long ones, or whole vectors",
                  .names = exchanges,
                  .usual = PARTS},
    [COLUMNS] = RCX_SWING_COLUMNS,
    [ROWS] = RCX_SWING_ROWS,
    {.name = NULL}};

const struct rcx_algo rcx_allreduce_swing = {
    .name = "swing",
    .coll = RCX_COLL_ALLREDUCE,
    .formula = "[exchange = parts] (2 k a + (1 - 1/2^k) (2 n b + n g) + [p > "
               "2^k] (3 a + 2 n b + n/2 g)) + [exchange = whole] (k (a + n b "
               "+ n g) + [p > 2^k] (2 a + 2 n b + n g)), k = floor(lg p)",
    .needs = RCX_SWING_NEEDS,
    .known_as = "Bine: butterfly",
    .source = "De Sensi et al. 2024, arXiv 2401.09356; 2025, arXiv 2508.17311",
    .params = params,
    .fits = fits,
    .order = order,
    .cost = cost,
    .build = build,
};
