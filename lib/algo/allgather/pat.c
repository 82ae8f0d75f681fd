/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Allgather by parallel aggregated trees (Jeaugey 2025, PAT, arXiv 2506.20252),
 * for any counts.
 *
 *   scratch  4 m, m is the longest message: up to aggregation blocks, or half
 *            of the vector; none where messages have one block
 *
 * With all blocks of a tree aggregated it is the order of sparbit: distant
 * ranks exchange first, when there is little to send, and near ones last. Then
 * a message has up to half of all blocks, which must be packed, since they do
 * not lie together. With fewer blocks in a message there are more rounds, but
 * scratch is bounded. pat.h describes the trees.
 */
#include "algo/phase/pat.h"

struct gather {
    struct rcx_builder *b;
    struct rcx_pat pat;
    /* packed blocks of the last two messages, each way */
    struct rcx_span going[2], coming[2];
    int messages;
};

/* Blocks of the ranks first, first + step, ... behind, n of them. */
struct row {
    int first, step, n;
};

static struct rcx_span block_of(const struct gather *g, const struct row *row,
                                int i)
{
    return rcx_pat_block(&g->pat, rcx_span_out(g->b->shape),
                         row->first + i * row->step);
}

/* Return a span for a row: room, or the place of the block if it is only
 * one. */
static struct rcx_span message(const struct gather *g, const struct row *row,
                               struct rcx_span room)
{
    size_t count = 0;

    if (row->n == 1)
        return block_of(g, row, 0);
    for (int i = 0; i < row->n; i++)
        count += block_of(g, row, i).count;
    return rcx_span_sub(room, 0, count);
}

/* Receive a row from the rank that is dist behind, and send the blocks that are
 * a row of the rank dist ahead. */
static void exchange(struct gather *g, int dist, struct row row)
{
    const struct row theirs = {row.first - dist, row.step, row.n};
    const int slot = g->messages++ % 2;
    const struct rcx_span coming = message(g, &row, g->coming[slot]);
    const struct rcx_span going = message(g, &theirs, g->going[slot]);
    size_t at = 0;

    rcx_step_recv(g->b, rcx_pat_rank(&g->pat, -dist), coming);
    for (int i = 0; i < theirs.n && row.n > 1; i++) {
        const struct rcx_span block = block_of(g, &theirs, i);

        rcx_step_copy(g->b, rcx_span_sub(going, at, block.count), block);
        at += block.count;
    }
    rcx_step_send(g->b, rcx_pat_rank(&g->pat, dist), going);
    at = 0;
    for (int i = 0; i < row.n && row.n > 1; i++) {
        const struct rcx_span block = block_of(g, &row, i);

        rcx_step_copy(g->b, block, rcx_span_sub(coming, at, block.count));
        at += block.count;
    }
}

static void build(struct rcx_builder *b, const struct rcx_shape *s)
{
    struct gather g = {.b = b, .pat = rcx_pat_of(s)};
    const struct rcx_pat *pat = &g.pat;
    const size_t room = pat->trees > 1 ? rcx_pat_longest(pat) : 0;

    for (int i = 0; i < 2; i++) {
        g.going[i] = rcx_span_scratch(b, room);
        g.coming[i] = rcx_span_scratch(b, room);
    }
    rcx_step_copy(b, rcx_pat_block(pat, rcx_span_out(s), 0), rcx_span_in(s));
    for (int k = rcx_log2_ceil(pat->trees) - 1; k >= 0; k--) {
        const int dist = (1 << k) * pat->width;

        exchange(&g, dist,
                 (struct row){dist, 2 * dist, rcx_pat_odd(pat, 1 << k)});
    }
    for (int place = 1; place < pat->width; place++)
        exchange(&g, place & -place,
                 (struct row){place, pat->width, rcx_pat_trees(pat, place)});
}

const struct rcx_algo rcx_allgather_pat = {
    .name = "pat",
    .coll = RCX_COLL_ALLGATHER,
    .formula = "(ceil(lg ceil(p/w)) + w-1) a + n (p-1)/p b, w = max(ceil(p / "
               "aggregation), 1); the largest block where n/p is irregular",
    .known_as = "NCCL: PAT",
    .source = "Jeaugey 2025, arXiv 2506.20252; any p: design",
    .params = rcx_pat_params,
    .level = RCX_ORDER_CANONICAL,
    .cost = rcx_pat_cost,
    .build = build,
};
