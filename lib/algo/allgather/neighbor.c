/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Allgather by neighbor exchange (Chen et al. 2005): half of the ring's
 * messages, and still among neighbours only.
 *
 *   scratch  none
 *
 * Ranks 2k and 2k + 1 first exchange their own blocks. From then on a rank
 * exchanges pairs of blocks, in turns with its other neighbour and with this
 * one. It sends the pair that it received last, at first its own pair. So one
 * pair moves up the ring and one down, two blocks at a time.
 */
#include "core/sched/algo.h"

static bool fits(const struct rcx_shape *s)
{
    return s->size == 1 || s->size % 2 == 0;
}

static struct rcx_cost cost(const struct rcx_shape *s)
{
    const struct rcx_blocks blocks = rcx_blocks_of(s);
    const double largest = (double)rcx_blocks_largest(&blocks);

    return (struct rcx_cost){.rounds = s->size / 2,
                             .volume = (s->size - 1) * largest};
}

/* Return the side of a rank's peer in step t: above (1) or below (-1). */
static int side_of(int rank, int t)
{
    return (rank + t) % 2 == 0 ? 1 : -1;
}

/* Return the span of blocks 2k and 2k + 1. */
static struct rcx_span pair_of(const struct rcx_shape *s, int k)
{
    const struct rcx_blocks blocks = rcx_blocks_of(s);

    return rcx_block_range(&blocks, rcx_span_out(s), 2 * k, 2 * k + 2);
}

/* Return the pair that peer, which is on that side, received last before step
 * t. */
static int pair_before(const struct rcx_shape *s, int peer, int side, int t)
{
    const int pairs = s->size / 2;

    return (peer / 2 + side * (t / 2) + pairs) % pairs;
}

static void build(struct rcx_builder *b, const struct rcx_shape *s)
{
    const struct rcx_blocks blocks = rcx_blocks_of(s);
    const struct rcx_span out = rcx_span_out(s);
    const struct rcx_span own = rcx_block(&blocks, out, s->rank);
    int last = s->rank / 2;

    rcx_step_copy(b, own, rcx_span_in(s));
    for (int t = 0; t < s->size / 2; t++) {
        const int side = side_of(s->rank, t);
        const int peer = (s->rank + side + s->size) % s->size;
        const int coming = pair_before(s, peer, side, t);

        rcx_step_recv(b, peer,
                      t ? pair_of(s, coming) : rcx_block(&blocks, out, peer));
        rcx_step_send(b, peer, t ? pair_of(s, last) : own);
        last = coming;
    }
}

const struct rcx_algo rcx_allgather_neighbor = {
    .name = "neighbor",
    .coll = RCX_COLL_ALLGATHER,
    .formula = "floor(p/2) a + n (p-1)/p b; the largest block where n/p is "
               "irregular",
    .needs = "an even number of ranks, or one",
    .known_as = "Open MPI, UCC: neighbor",
    .source = "Chen et al. 2005",
    .level = RCX_ORDER_CANONICAL,
    .fits = fits,
    .cost = cost,
    .build = build,
};
