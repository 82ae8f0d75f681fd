/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Allreduce by pairwise exchange: reduce-scatter, then allgather by a ring or
 * by Bruck's concatenation (Thakur, Rabenseifner, Gropp 2005, 5.3).
 *
 *   scratch  O(log p) n / p; for bruck less than n more, to pack messages
 *   order    CANONICAL
 *
 * It sends and combines as much as the ring allreduce, but in the order of the
 * fixed tree: a block's operands arrive at its owner one by one.
 */
#include "algo/phase/bruck.h"
#include "algo/phase/pairwise.h"
#include "algo/phase/ring.h"

enum { ALLGATHER }; /* parameters */
enum { RING, BRUCK };

static struct rcx_cost cost(const struct rcx_shape *s)
{
    const struct rcx_blocks blocks = rcx_blocks_of(s);

    return rcx_cost_sum(rcx_pairwise_reduce_scatter_cost(&blocks),
                        s->params[ALLGATHER] == RING
                            ? rcx_ring_allgather_cost(&blocks, 0)
                            : rcx_bruck_allgather_cost(&blocks, 2));
}

static void build(struct rcx_builder *b, const struct rcx_shape *s)
{
    const struct rcx_group all = rcx_group_all(s);
    const struct rcx_blocks blocks = rcx_blocks_of(s);
    const struct rcx_span out = rcx_span_out(s);

    rcx_pairwise_reduce_scatter(b, &all, &blocks, rcx_span_in(s),
                                rcx_block(&blocks, out, s->rank));
    if (s->params[ALLGATHER] == RING)
        rcx_ring_allgather(b, &all, &blocks, 0, out);
    else
        rcx_bruck_allgather(b, &all, &blocks, 2, out);
}

static const char *const allgathers[] = {
    [RING] = "ring", [BRUCK] = "bruck", NULL};
static const struct rcx_param params[] = {
    [ALLGATHER] = {.name = "allgather",
                   .doc = "how the reduced blocks get to all",
                   .names = allgathers,
                   .usual = BRUCK},
    {0},
};

const struct rcx_algo rcx_allreduce_pairwise = {
    .name = "pairwise",
    .coll = RCX_COLL_ALLREDUCE,
    .formula = "(p-1 + h) a + 2 n (p-1)/p b + n (p-1)/p g, h = [allgather "
               "= ring] (p-1) + [allgather = bruck] ceil(lg p)",
    .source = "Thakur, Rabenseifner, Gropp 2005, 5.3",
    .params = params,
    .level = RCX_ORDER_CANONICAL,
    .cost = cost,
    .build = build,
};
