/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Allgather in which the most distant ranks exchange first, so that most of the
 * data moves between near ones (Sparbit, arXiv 2109.08751). It works for every
 * p, not only powers of two, by the skips of circulant graphs.
 *
 *   scratch  less than two vectors: all messages of more than one block are
 *            packed and unpacked
 *
 * A rank receives the blocks of the ranks d behind it, d = 1, ..., p - 1. Write
 * d as a sum of skips, each smaller than the one before. The block arrives in
 * the round of the last skip, from the rank that skip behind, which has it by
 * then.
 */
#include "algo/phase/circulant.h"

static struct rcx_cost cost(const struct rcx_shape *s)
{
    const struct rcx_blocks blocks = rcx_blocks_of(s);

    return (struct rcx_cost){.rounds = rcx_log2_ceil(s->size),
                             .volume = (s->size - 1) *
                                       (double)rcx_blocks_largest(&blocks)};
}

/* Return the skip of round k; the last round is 0. */
static int skip_of(const struct rcx_shape *s, int k)
{
    return rcx_circulant_left(s->size, rcx_log2_ceil(s->size) - k);
}

/* Return the round in which the block of the rank d behind arrives. */
static int round_of(const struct rcx_shape *s, int d)
{
    int k = rcx_log2_ceil(s->size);

    while (d > 0) {
        const int skip = skip_of(s, --k);

        if (d >= skip)
            d -= skip;
    }
    return k;
}

/* Return the next distance after d whose block arrives in round k, at first
 * with d = 0; p: there is none. */
static int next(const struct rcx_shape *s, int k, int d)
{
    do
        d++;
    while (d < s->size && round_of(s, d) != k);
    return d;
}

static struct rcx_span behind(const struct rcx_shape *s, int d)
{
    const struct rcx_blocks blocks = rcx_blocks_of(s);

    return rcx_block(&blocks, rcx_span_out(s),
                     (s->rank + s->size - d) % s->size);
}

/* Return a span for the blocks d - by behind, for each d of round k: scratch,
 * or the place of the block if it is only one. */
static struct rcx_span message(struct rcx_builder *b, const struct rcx_shape *s,
                               int k, int by)
{
    const int first = next(s, k, 0);
    size_t count = 0;

    if (next(s, k, first) == s->size)
        return behind(s, first - by);
    for (int d = first; d < s->size; d = next(s, k, d))
        count += behind(s, d - by).count;
    return rcx_span_scratch(b, count);
}

static void receive(struct rcx_builder *b, const struct rcx_shape *s, int k)
{
    struct rcx_span rest = message(b, s, k, 0);

    rcx_step_recv(b, (s->rank + s->size - skip_of(s, k)) % s->size, rest);
    for (int d = next(s, k, 0); d < s->size; d = next(s, k, d)) {
        const struct rcx_span block = behind(s, d);

        rcx_step_copy(b, block, rcx_span_sub(rest, 0, block.count));
        rest = rcx_span_sub(rest, block.count, rest.count - block.count);
    }
}

static void send(struct rcx_builder *b, const struct rcx_shape *s, int k)
{
    const int skip = skip_of(s, k);
    const struct rcx_span all = message(b, s, k, skip);
    struct rcx_span rest = all;

    for (int d = next(s, k, 0); d < s->size; d = next(s, k, d)) {
        const struct rcx_span block = behind(s, d - skip);

        rcx_step_copy(b, rcx_span_sub(rest, 0, block.count), block);
        rest = rcx_span_sub(rest, block.count, rest.count - block.count);
    }
    rcx_step_send(b, (s->rank + skip) % s->size, all);
}

static void build(struct rcx_builder *b, const struct rcx_shape *s)
{
    rcx_step_copy(b, behind(s, 0), rcx_span_in(s));
    for (int k = rcx_log2_ceil(s->size) - 1; k >= 0; k--) {
        receive(b, s, k);
        send(b, s, k);
    }
}

const struct rcx_algo rcx_allgather_sparbit = {
    .name = "sparbit",
    .coll = RCX_COLL_ALLGATHER,
    .formula = "ceil(lg p) a + n (p-1)/p b; the largest block where n/p is "
               "irregular",
    .known_as = "Open MPI, UCC: sparbit; NCCL: PAT has its order",
    .source = "Sparbit, arXiv 2109.08751; any p: design",
    .level = RCX_ORDER_CANONICAL,
    .cost = cost,
    .build = build,
};
