/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Allgather by the broadcasts of all ranks at once on a circulant graph (Traeff
 * 2022; schedules: 2024, arXiv 2407.18004), for any counts.
 *
 *   scratch  all that comes and goes, packed: less than two vectors where
 *            counts are equal
 *
 * Each rank's own block is cut into parts, and each part goes by the schedule
 * of a broadcast, in the same rounds. A message has one part of every rank's
 * but its receiver's, so that its length hardly depends on how counts are
 * spread. Both ends know which part from the distance to its owner.
 */
#include "algo/phase/n_blocks_phase.h"

#include <string.h>

enum { NONE = RCX_N_BLOCKS_NONE };

/* Whose schedules are those of any rank that is as far from its owner. */
struct schedules {
    struct rcx_n_blocks owner;
    int *recv; /* what they get, by distance: one for each round of a cycle */
    size_t cycle;
};

/* As many as the parameter says, but none of the longest block's is empty. */
static int parts_of(const struct rcx_shape *s)
{
    const struct rcx_blocks blocks = rcx_blocks_of(s);
    const size_t largest = rcx_blocks_largest(&blocks);
    const int parts = rcx_n_blocks_of(s);

    return largest < (size_t)parts ? (largest > 0 ? (int)largest : 1) : parts;
}

static struct rcx_cost cost(const struct rcx_shape *s)
{
    const struct rcx_blocks blocks = rcx_blocks_of(s);
    const struct rcx_span vector = {.count = blocks.count};
    const int parts = parts_of(s);
    const double rounds = rcx_n_blocks_rounds(s->size, parts);
    const double even = (s->size - 1) * (double)rcx_blocks_largest(&blocks);
    double message = 0;

    for (int i = 0; i < s->size; i++)
        message +=
            (double)rcx_span_part(rcx_block(&blocks, vector, i), parts, 0)
                .count;
    return (struct rcx_cost){
        .rounds = rounds,
        .volume = even < rounds * message ? even : rounds * message};
}

/* False: no memory. */
static bool find_schedules(struct schedules *all, struct rcx_builder *b,
                           const struct rcx_shape *s)
{
    const int parts = parts_of(s);

    rcx_n_blocks_begin(&all->owner, s->size, 0, parts);
    all->cycle = (size_t)all->owner.cycle;
    all->recv =
        rcx_builder_work(b, (size_t)s->size * all->cycle * sizeof *all->recv);
    for (int d = 1; d < s->size && all->recv; d++) {
        struct rcx_n_blocks n;

        rcx_n_blocks_begin(&n, s->size, d, parts);
        memcpy(all->recv + (size_t)d * all->cycle, n.recv,
               all->cycle * sizeof *n.recv);
    }
    if (!all->recv)
        rcx_builder_fail(b, RCX_ERR_NOMEM);
    return all->recv;
}

/* The part of owner's block that receiver gets in round i; it may be none. */
static struct rcx_span part_of(const struct schedules *all,
                               const struct rcx_shape *s, int owner,
                               int receiver, int i)
{
    const struct rcx_blocks blocks = rcx_blocks_of(s);
    const struct rcx_span block = rcx_block(&blocks, rcx_span_out(s), owner);
    const int distance = (receiver - owner + s->size) % s->size;
    struct rcx_n_blocks n = all->owner;
    int part = NONE;

    if (distance > 0) {
        n.rank = distance;
        memcpy(n.recv, all->recv + (size_t)distance * all->cycle,
               all->cycle * sizeof *n.recv);
        part = rcx_n_blocks_round(&n, i).recv;
    }
    return part == NONE ? rcx_span_sub(block, 0, 0)
                        : rcx_span_part(block, n.blocks, part);
}

/* What receiver gets in round i, in one piece. */
static struct rcx_span message_to(struct rcx_builder *b,
                                  const struct schedules *all,
                                  const struct rcx_shape *s, int receiver,
                                  int i)
{
    size_t count = 0;

    for (int owner = 0; owner < s->size; owner++)
        count += part_of(all, s, owner, receiver, i).count;
    return rcx_span_scratch(b, count);
}

static void exchange(struct rcx_builder *b, const struct schedules *all,
                     const struct rcx_shape *s, int i)
{
    const struct rcx_n_blocks_round at = rcx_n_blocks_round(&all->owner, i);
    const int above = (s->rank + at.to) % s->size;
    const int below = (s->rank + at.from) % s->size;
    const struct rcx_span coming = message_to(b, all, s, s->rank, i);
    const struct rcx_span going = message_to(b, all, s, above, i);
    size_t come = 0, gone = 0;

    for (int owner = 0; owner < s->size; owner++) {
        const struct rcx_span part = part_of(all, s, owner, above, i);

        rcx_step_copy(b, rcx_span_sub(going, gone, part.count), part);
        gone += part.count;
    }
    rcx_step_recv(b, below, coming);
    rcx_step_send(b, above, going);
    for (int owner = 0; owner < s->size; owner++) {
        const struct rcx_span part = part_of(all, s, owner, s->rank, i);

        rcx_step_copy(b, part, rcx_span_sub(coming, come, part.count));
        come += part.count;
    }
}

static void build(struct rcx_builder *b, const struct rcx_shape *s)
{
    const struct rcx_blocks blocks = rcx_blocks_of(s);
    const int rounds = rcx_n_blocks_rounds(s->size, parts_of(s));
    struct schedules all;

    rcx_step_copy(b, rcx_block(&blocks, rcx_span_out(s), s->rank),
                  rcx_span_in(s));
    if (s->size == 1 || !find_schedules(&all, b, s))
        return;
    for (int i = 0; i < rounds; i++)
        exchange(b, &all, s, i);
}

const struct rcx_algo rcx_allgather_circulant = {
    .name = "circulant",
    .coll = RCX_COLL_ALLGATHER,
    .formula = "[p > 1] (blocks-1 + k) a + n (p-1)/p b, k = ceil(lg p); where "
               "n/p is irregular at most (blocks-1 + k) (n/blocks + p) b",
    .known_as = "MPICH: circ_graph",
    .source = "Traeff 2022; Traeff 2024, arXiv 2407.18004",
    .params = rcx_n_blocks_params,
    .level = RCX_ORDER_CANONICAL,
    .cost = cost,
    .build = build,
};
