/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Allreduce by a Bruck allgather of whole vectors and a local reduction along
 * the fixed tree (the latency form of the ring of Rabenseifner, Traeff 2004,
 * 3.4, for any p).
 *
 *   time     ceil(lg p) alpha + (p - 1) n beta + (p - 1) n gamma
 *   scratch  p n, and less than p n to pack messages
 *   order    CANONICAL
 *
 * The fewest rounds that there are, at the price of moving and combining all
 * vectors everywhere.
 */
#include "algo/bruck.h"
#include "algo/tree.h"

/* Scratch can be addressed. */
static bool fits(const struct rcx_shape *s)
{
    return s->count <= SIZE_MAX / 2 / s->elem_bytes / (size_t)s->size;
}

static rcx_order_t order(const struct rcx_shape *s)
{
    (void)s;
    return RCX_ORDER_CANONICAL;
}

static struct rcx_cost cost(const struct rcx_shape *s)
{
    const double others = s->size - 1, n = (double)s->count;

    return (struct rcx_cost){.rounds = rcx_log2_ceil(s->size),
                             .volume = others * n, .combines = others * n};
}

static void build(struct rcx_builder *b, const struct rcx_shape *s)
{
    const struct rcx_group all = rcx_group_all(s);
    const struct rcx_blocks vectors = {
        .count = (size_t)s->size * s->count, .n = s->size};
    const struct rcx_span gathered = rcx_span_scratch(b, vectors.count);
    struct rcx_combiner combiner;

    rcx_step_copy(b, rcx_block(&vectors, gathered, s->rank), rcx_span_in(s));
    rcx_bruck_allgather(b, &all, &vectors, gathered);
    rcx_combiner_init(&combiner, b, s->size, rcx_span_out(s));
    for (int i = 0; i < s->size; i++)
        rcx_combiner_add(&combiner, i, rcx_block(&vectors, gathered, i));
}

const struct rcx_algo rcx_allreduce_allgather_reduce = {
    .name = "allgather_reduce", .coll = RCX_COLL_ALLREDUCE,
    .formula = "ceil(lg p) a + (p-1) n b + (p-1) n g",
    .needs = "2 p n elements of scratch can be addressed",
    .source = "Bruck et al. 1997 by Thakur, Rabenseifner, Gropp 2005, 4.1.2; "
              "order: design",
    .fits = fits, .order = order, .cost = cost, .build = build,
    .segments = true,
};
