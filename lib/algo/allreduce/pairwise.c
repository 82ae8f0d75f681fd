/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Allreduce by pairwise exchange: reduce-scatter, then allgather by a ring, by
 * Bruck's concatenation (Thakur, Rabenseifner, Gropp 2005, 5.3), or directly.
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
enum { RING, BRUCK, DIRECT };

static struct rcx_phase direct(void)
{
    return rcx_phase_of(rcx_algo_find(RCX_COLL_ALLGATHER, "direct"));
}

static struct rcx_cost gather_cost(const struct rcx_shape *s)
{
    const struct rcx_blocks blocks = rcx_blocks_of(s);
    const struct rcx_phase phase = direct();

    switch (s->params[ALLGATHER]) {
    case RING: return rcx_ring_allgather_cost(&blocks, 0);
    case BRUCK: return rcx_bruck_allgather_cost(&blocks, 2);
    default: return rcx_phase_cost(&phase, s, s->size, s->count);
    }
}

static struct rcx_cost cost(const struct rcx_shape *s)
{
    const struct rcx_blocks blocks = rcx_blocks_of(s);

    return rcx_cost_sum(rcx_pairwise_reduce_scatter_cost(&blocks),
                        gather_cost(s));
}

static void build(struct rcx_builder *b, const struct rcx_shape *s)
{
    const struct rcx_group all = rcx_group_all(s);
    const struct rcx_blocks blocks = rcx_blocks_of(s);
    const struct rcx_span out = rcx_span_out(s);
    const struct rcx_span own = rcx_block(&blocks, out, s->rank);
    const struct rcx_phase phase = direct();

    rcx_pairwise_reduce_scatter(b, &all, &blocks, rcx_span_in(s), own);
    if (s->params[ALLGATHER] == RING)
        rcx_ring_allgather(b, &all, &blocks, 0, out);
    else if (s->params[ALLGATHER] == BRUCK)
        rcx_bruck_allgather(b, &all, &blocks, 2, out);
    else
        rcx_sched_within(b, &phase, &all, own, out);
}

static const char *const allgathers[] = {
    [RING] = "ring", [BRUCK] = "bruck", [DIRECT] = "direct", NULL};

/* Directly where copies are shared. */
static int64_t bruck_or_direct(const struct rcx_shape *s, int i)
{
    (void)s;
    return i == 0 ? BRUCK : i == 1 ? DIRECT : RCX_PARAM_END;
}

static const struct rcx_param params[] = {
    [ALLGATHER] = {.name = "allgather",
                   .doc = "how the reduced blocks get to all",
                   .names = allgathers,
                   .usual = BRUCK,
                   .candidate = bruck_or_direct},
    {0},
};

const struct rcx_algo rcx_allreduce_pairwise = {
    .name = "pairwise",
    .coll = RCX_COLL_ALLREDUCE,
    .formula = "(p-1 + h) a + 2 n (p-1)/p b + n (p-1)/p g, h = [allgather "
               "= ring] (p-1) + [allgather = bruck] ceil(lg p) + [allgather = "
               "direct] (p-1)",
    .source = "Thakur, Rabenseifner, Gropp 2005, 5.3",
    .params = params,
    .level = RCX_ORDER_CANONICAL,
    .at_once = true,
    .cost = cost,
    .build = build,
};
