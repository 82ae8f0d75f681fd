/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Allreduce by Rabenseifner: vector halving and distance doubling, then the
 * reverse (Thakur, Rabenseifner, Gropp 2005, 5.1).
 *
 *   scratch  n; 3/2 n where folded in halves, 2 n in full
 *   order    UNIFORM; CANONICAL when p is 1..10..0 in binary
 *
 * Let p = 2^k + r. Ranks 0..2r-1 first fold in pairs, in halves or in full. The
 * 2^k ranks that stay reduce-scatter by recursive halving, neighbours first,
 * and allgather by the same exchanges in reverse. In the end the other ranks
 * get the result.
 */
#include "algo/phase/fold.h"
#include "algo/phase/halving.h"

enum { FOLD }; /* parameters */
enum { FOLD_HALF, FOLD_FULL };

static const char *const folds[] = {
    [FOLD_HALF] = "half", [FOLD_FULL] = "full", NULL};
static const struct rcx_param params[] = {
    [FOLD] = {.name = "fold",
              .doc = "how surplus ranks are folded in",
              .names = folds,
              .usual = FOLD_HALF},
    {.name = NULL},
};

static struct rcx_cost cost(const struct rcx_shape *s)
{
    const int cube = rcx_pow2_floor(s->size);
    const double n = (double)s->count;
    const struct rcx_cost in = s->params[FOLD] == FOLD_FULL
                                   ? rcx_fold_in_cost(s)
                                   : rcx_fold_halves_in_cost(s);
    const struct rcx_cost core =
        rcx_cost_sum(rcx_halving_reduce_scatter_cost(cube, n),
                     rcx_halving_allgather_cost(cube, n));

    return rcx_cost_sum(rcx_cost_sum(in, rcx_fold_core_cost(s, core)),
                        rcx_fold_out_cost(s));
}

static void build(struct rcx_builder *b, const struct rcx_shape *s)
{
    const bool full = s->params[FOLD] == FOLD_FULL;
    const struct rcx_span out = rcx_span_out(s);
    struct rcx_span mine = rcx_span_in(s);
    struct rcx_halving h = {.near_first = true};

    if (full)
        h.group = rcx_fold_in(b, s, out, rcx_span_scratch(b, s->count), &mine);
    else
        h.group = rcx_fold_halves_in(b, s, -1, out, &mine);
    h.blocks = (struct rcx_blocks){.count = s->count, .n = h.group.size};
    if (h.group.rank >= 0) {
        rcx_halving_reduce_scatter(b, &h, mine, rcx_halving_own(&h, out));
        rcx_halving_allgather(b, &h, out);
    }
    if (full)
        rcx_fold_out(b, s, out);
    else
        rcx_fold_halves_out(b, s, out);
}

const struct rcx_algo rcx_allreduce_rabenseifner = {
    .name = "rabenseifner",
    .coll = RCX_COLL_ALLREDUCE,
    .formula = "2 k a + (1 - 1/2^k) (2 n b + n g) + [p > 2^k, fold = "
               "half] (3 a + 2 n b + n/2 g) + [p > 2^k, fold = full] (2 a "
               "+ 2 n b + n g), k = floor(lg p)",
    .known_as = "MPICH: reduce_scatter_allgather, k_reduce_scatter_allgather "
                "of k = 2; Open MPI: rabenseifner (redscat_allgather); UCC: "
                "sra_knomial of radix 2",
    .source = "Thakur, Rabenseifner, Gropp 2005, 5.1",
    .params = params,
    .order = rcx_fold_order,
    .cost = cost,
    .build = build,
};
