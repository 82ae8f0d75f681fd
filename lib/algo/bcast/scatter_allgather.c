/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Broadcast by binomial scatter and allgather (van de Geijn; Thakur,
 * Rabenseifner, Gropp 2005, 4.2).
 *
 *   scratch  none; for bruck up to n to pack blocks
 *
 * The volume is twice the minimum. The root has the whole vector, so it
 * receives nothing in the allgather.
 */
#include "algo/phase/bruck.h"
#include "algo/phase/gather.h"
#include "algo/phase/halving.h"
#include "algo/phase/ring.h"

enum { ALLGATHER }; /* parameters */
enum { RING, BRUCK, RECURSIVE_DOUBLING };

static bool fits(const struct rcx_shape *s)
{
    return s->params[ALLGATHER] != RECURSIVE_DOUBLING ||
           s->size == rcx_pow2_floor(s->size);
}

static struct rcx_cost allgather_cost(const struct rcx_shape *s,
                                      const struct rcx_blocks *blocks)
{
    switch (s->params[ALLGATHER]) {
    case RING: return rcx_ring_allgather_cost(blocks, 0);
    case BRUCK: return rcx_bruck_allgather_cost(blocks, 2);
    default: return rcx_halving_allgather_cost(s->size, (double)s->count);
    }
}

static struct rcx_cost cost(const struct rcx_shape *s)
{
    const struct rcx_blocks blocks = rcx_blocks_of(s);

    return rcx_cost_sum(rcx_gather_cost(&blocks), allgather_cost(s, &blocks));
}

static void allgather(struct rcx_builder *b, const struct rcx_shape *s,
                      const struct rcx_blocks *blocks, struct rcx_span vector)
{
    const struct rcx_halving h = {.group = rcx_group_all(s), .blocks = *blocks};

    switch (s->params[ALLGATHER]) {
    case RING:
        rcx_ring_allgather_others(b, &h.group, blocks, vector, s->root);
        break;
    case BRUCK:
        rcx_bruck_allgather_others(b, &h.group, blocks, vector, s->root);
        break;
    default: rcx_halving_allgather_others(b, &h, vector, s->root);
    }
}

static void build(struct rcx_builder *b, const struct rcx_shape *s)
{
    const struct rcx_group all = rcx_group_all(s);
    const struct rcx_blocks blocks = rcx_blocks_of(s);
    const struct rcx_span vector = rcx_span_vector(s);
    struct rcx_gather gather;

    rcx_gather_begin(&gather, b, &all, &blocks, s->root, vector);
    rcx_gather_reverse(&gather);
    allgather(b, s, &blocks, vector);
}

static const char *const allgathers[] = {[RING] = "ring",
                                         [BRUCK] = "bruck",
                                         [RECURSIVE_DOUBLING] =
                                             "recursive_doubling",
                                         NULL};
static const struct rcx_param params[] = {
    [ALLGATHER] = {.name = "allgather",
                   .doc = "how the scattered blocks get to all",
                   .names = allgathers,
                   .usual = BRUCK},
    {0}};

const struct rcx_algo rcx_bcast_scatter_allgather = {
    .name = "scatter_allgather",
    .coll = RCX_COLL_BCAST,
    .formula = "(ceil(lg p) + h) a + 2 n (p-1)/p b, h = [allgather = ring] "
               "(p-1) + [allgather = bruck] ceil(lg p) + [allgather = "
               "recursive_doubling] ceil(lg p)",
    .needs = "a power of two of ranks for allgather=recursive_doubling",
    .known_as = "MPICH: scatter_recursive_doubling_allgather, "
                "scatter_ring_allgather, tsp_scatterv_recexch_allgatherv, "
                "tsp_scatterv_ring_allgatherv; Open MPI: scatter_allgather, "
                "scatter_allgather_ring; UCC: sag_knomial",
    .source = "Thakur, Rabenseifner, Gropp 2005, 4.2",
    .params = params,
    .level = RCX_ORDER_CANONICAL,
    .fits = fits,
    .cost = cost,
    .build = build,
};
