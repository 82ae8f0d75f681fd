/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Allreduce along a tree: reduce to rank 0, then broadcast (OCC manual 2005,
 * general allreduce).
 *
 *   time     ceil(lg p) (2 alpha + 2 n beta + n gamma)
 *   scratch  2 n
 *   order    CANONICAL
 *
 * More rounds than recursive doubling, but the fewest messages and combines of
 * all: 2 (p - 1) and p - 1 on all ranks together.
 */
#include "algo/binomial.h"

static rcx_order_t order(const struct rcx_shape *s)
{
    (void)s;
    return RCX_ORDER_CANONICAL;
}

static struct rcx_cost cost(const struct rcx_shape *s)
{
    const double k = rcx_log2_ceil(s->size), n = (double)s->count;

    return (struct rcx_cost){.rounds = 2 * k, .volume = 2 * k * n,
                             .combines = k * n};
}

static void build(struct rcx_builder *b, const struct rcx_shape *s)
{
    const struct rcx_span out = rcx_span_out(s);

    rcx_binomial_reduce(b, s, 0, out);
    rcx_binomial_bcast(b, s, out);
}

const struct rcx_algo rcx_allreduce_tree = {
    .name = "tree", .coll = RCX_COLL_ALLREDUCE,
    .formula = "ceil(lg p) (2 a + 2 n b + n g)",
    .source = "OCC manual 2005; order: design",
    .order = order, .cost = cost, .build = build, .segments = true,
};
