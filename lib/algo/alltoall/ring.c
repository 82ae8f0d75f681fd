/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Alltoall along a ring, among neighbours only (OCC manual 2005, ring).
 *
 *   scratch  up to 3 n
 *
 * Blocks for the ranks ahead travel ahead in one message, blocks for the ranks
 * behind travel back, each at most half way around. A rank takes its own block
 * out of each message, the nearest one, and forwards the others.
 */
#include "algo/phase/exchange.h"

static struct rcx_cost cost(const struct rcx_shape *s)
{
    const int p = s->size;
    const double moved = p / 2 * (double)((p + 1) / 2); /* blocks */

    return (struct rcx_cost){.rounds = p - 1,
                             .volume = moved * (double)(s->count / (size_t)p)};
}

/* A direction of travel: ahead, or back. */
struct way {
    int next, before; /* ranks to send to, to receive from */
    bool ahead;
    int far; /* how many ranks the furthest block travels */
    size_t block;
    struct rcx_span list; /* blocks to send, in the order of ranks */
};

/* Begin to travel in a direction, with blocks of the operand. They are packed
 * if they wrap around, and in place: results may overwrite the operand before
 * the other direction has sent it. */
static struct way way_of(struct rcx_builder *b, const struct rcx_shape *s,
                         bool ahead)
{
    const int p = s->size, r = s->rank, far = ahead ? p / 2 : (p - 1) / 2;
    const int first = (ahead ? r + 1 : r + p - far) % p;
    struct way w = {.next = (ahead ? r + 1 : r + p - 1) % p,
                    .before = (ahead ? r + p - 1 : r + 1) % p,
                    .ahead = ahead,
                    .far = far,
                    .block = s->count / (size_t)p};

    if (s->alias == RCX_ALIAS_NONE && first + far <= p) {
        w.list = rcx_span_sub(rcx_span_in(s), (size_t)first * w.block,
                              (size_t)far * w.block);
    } else {
        w.list = rcx_span_scratch(b, (size_t)far * w.block);
        rcx_exchange_pack(b, s, first, far, w.list);
    }
    return w;
}

/* Return the nearest block of a list of n blocks: the one for this rank. */
static struct rcx_span nearest(const struct way *w, struct rcx_span list, int n)
{
    return rcx_span_sub(list, w->ahead ? 0 : (size_t)(n - 1) * w->block,
                        w->block);
}

static void travel(struct rcx_builder *b, const struct rcx_shape *s,
                   struct way *w)
{
    const struct rcx_blocks blocks = rcx_blocks_of(s);
    const struct rcx_span out = rcx_span_out(s);
    const struct rcx_span rooms[] = {
        rcx_span_scratch(b, (size_t)w->far * w->block),
        rcx_span_scratch(b, (size_t)w->far * w->block)};
    const int p = s->size;

    for (int t = 1; t <= w->far; t++) {
        const int n = w->far - t + 1;
        const int giver = (s->rank + (w->ahead ? p - t : t)) % p;
        const struct rcx_span mine = rcx_block(&blocks, out, giver);
        const struct rcx_span got =
            n == 1 ? mine : rcx_span_sub(rooms[t % 2], 0, (size_t)n * w->block);

        rcx_step_recv(b, w->before, got);
        rcx_step_send(b, w->next, w->list);
        if (n > 1)
            rcx_step_copy(b, mine, nearest(w, got, n));
        w->list = rcx_span_sub(got, w->ahead ? w->block : 0,
                               (size_t)(n - 1) * w->block);
    }
}

static void build(struct rcx_builder *b, const struct rcx_shape *s)
{
    const struct rcx_blocks blocks = rcx_blocks_of(s);
    struct way ahead = way_of(b, s, true), back = way_of(b, s, false);

    rcx_step_copy(b, rcx_block(&blocks, rcx_span_out(s), s->rank),
                  rcx_block(&blocks, rcx_span_in(s), s->rank));
    travel(b, s, &ahead);
    travel(b, s, &back);
}

const struct rcx_algo rcx_alltoall_ring = {
    .name = "ring",
    .coll = RCX_COLL_ALLTOALL,
    .formula = "(p-1) a + floor(p^2/4) n/p b",
    .known_as = "OCC: Ring",
    .source = "OCC manual 2005",
    .level = RCX_ORDER_CANONICAL,
    .cost = cost,
    .build = build,
};
