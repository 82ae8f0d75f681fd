/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * All-to-all exchange of blocks directly between each pair of ranks, as phases
 * of alltoall and alltoallv. No rank forwards blocks: see pieces.c for that.
 */
#include "algo/phase/exchange.h"

#include <limits.h>

/* Return a span with the operand that results do not overwrite: IN, or in place
 * a copy. */
static struct rcx_span kept(struct rcx_builder *b, const struct rcx_shape *s)
{
    const struct rcx_span in = rcx_span_in(s);
    struct rcx_span copy;

    if (s->alias == RCX_ALIAS_NONE)
        return in;
    copy = rcx_span_scratch(b, in.count);
    rcx_step_copy(b, copy, in);
    return copy;
}

void rcx_exchange_linear(struct rcx_builder *b, const struct rcx_shape *s)
{
    const struct rcx_blocks given = rcx_blocks_in(s, RCX_BUFFER_IN);
    const struct rcx_blocks gotten = rcx_blocks_in(s, RCX_BUFFER_OUT);
    const struct rcx_span out = rcx_span_out(s);
    const struct rcx_span in = kept(b, s);

    for (int t = 1; t < s->size; t++) {
        const int above = (s->rank + t) % s->size;
        const int below = (s->rank + s->size - t) % s->size;

        rcx_posted_pair(b, s);
        rcx_step_recv(b, below, rcx_block(&gotten, out, below));
        rcx_step_send(b, above, rcx_block(&given, in, above));
    }
    rcx_step_copy(b, rcx_block(&gotten, out, s->rank),
                  rcx_block(&given, rcx_span_in(s), s->rank));
}

/* ---- Neighbours ---------------------------------------------------------- */

/* The block of edge i of a list. */
static struct rcx_span on_edge(const size_t edges[], size_t i,
                               enum rcx_buffer buffer)
{
    const size_t *const edge = &edges[i * RCX_EDGE_NUMBERS];

    return (struct rcx_span){.buffer = buffer,
                             .offset = edge[RCX_EDGE_START],
                             .count = edge[RCX_EDGE_COUNT]};
}

static int peer_on(const size_t edges[], size_t i)
{
    return (int)edges[i * RCX_EDGE_NUMBERS + RCX_EDGE_RANK];
}

void rcx_exchange_neighbors(struct rcx_builder *b, const struct rcx_shape *s)
{
    const struct rcx_neighbors *const n = s->neighbors;
    size_t own = 0; /* the edge from this rank that belongs to the next to it */

    for (size_t i = 0; i < n->froms; i++)
        if (peer_on(n->from, i) != s->rank)
            rcx_step_recv(b, peer_on(n->from, i),
                          on_edge(n->from, i, RCX_BUFFER_OUT));
    for (size_t i = 0; i < n->tos; i++) {
        const struct rcx_span block = on_edge(n->to, i, RCX_BUFFER_IN);

        if (peer_on(n->to, i) != s->rank) {
            rcx_step_send(b, peer_on(n->to, i), block);
            continue;
        }
        while (own < n->froms && peer_on(n->from, own) != s->rank)
            own++;
        rcx_step_copy(b, on_edge(n->from, own++, RCX_BUFFER_OUT), block);
    }
}

/* ---- Pairwise ------------------------------------------------------------ */

enum { POSTED, PAIRING }; /* parameters; posted.h needs POSTED = 0 */
enum { SHIFT, XOR, SUM };

static const char *const pairings[] = {
    [SHIFT] = "shift", [XOR] = "xor", [SUM] = "sum", NULL};
static const int64_t posted_proved[] = {0, 1, 3, RCX_PARAM_END};

const struct rcx_param rcx_exchange_pairwise_params[] = {
    [POSTED] = {.name = "posted",
                .doc = "messages under way at once, each way; 0: all",
                .most = INT_MAX,
                .usual = 1,
                .proved = posted_proved},
    [PAIRING] = {.name = "pairing",
                 .doc = "peers in step t: shift: the ranks t ahead and t "
                        "behind; xor: rank xor t; sum: the rank that gives t "
                        "(mod p) in sum with the own one; xor and sum need "
                        "less scratch in place",
                 .names = pairings,
                 .usual = SHIFT},
    {.name = NULL}};

bool rcx_exchange_pairwise_fits(const struct rcx_shape *s)
{
    return s->params[PAIRING] != XOR || s->size == rcx_pow2_floor(s->size);
}

/* With pairing=sum, a rank r has no peer in step t = 2 r (mod p), so there is a
 * step more. */
int rcx_exchange_pairwise_rounds(const struct rcx_shape *s)
{
    return s->size - 1 + (s->params[PAIRING] == SUM && s->size > 2);
}

/* The peers of a rank in a step; the rank itself: it has no peer. */
struct step {
    int to, from;
};

static struct step step_of(const struct rcx_shape *s, int t)
{
    const int p = s->size, r = s->rank;

    switch (s->params[PAIRING]) {
    case XOR: return (struct step){.to = r ^ t, .from = r ^ t};
    case SUM:
        return (struct step){.to = (t + p - r) % p, .from = (t + p - r) % p};
    default: return (struct step){.to = (r + t) % p, .from = (r + p - t) % p};
    }
}

/* Scratch for blocks that results overwrite before they are sent: as many slots
 * as messages are posted at once, or room for all blocks if that is less. */
struct keep {
    struct rcx_span slots; /* empty: each block gets scratch of its own */
    size_t largest;
    size_t window, used;
};

static struct keep keep_of(struct rcx_builder *b, const struct rcx_shape *s)
{
    const struct rcx_blocks blocks = rcx_blocks_of(s);
    struct keep k = {.largest = rcx_blocks_largest(&blocks),
                     .window = (size_t)s->params[POSTED]};

    if (k.window > 0 && k.largest < s->count / k.window)
        k.slots = rcx_span_scratch(b, k.window * k.largest);
    return k;
}

static struct rcx_span keep(struct rcx_builder *b, struct keep *k,
                            struct rcx_span block)
{
    const struct rcx_span slot =
        k->slots.count > 0
            ? rcx_span_sub(k->slots, k->used % k->window * k->largest,
                           block.count)
            : rcx_span_scratch(b, block.count);

    k->used += block.count > 0; /* a pair without messages does not count */
    rcx_step_copy(b, slot, block);
    return slot;
}

void rcx_exchange_pairwise(struct rcx_builder *b, const struct rcx_shape *s)
{
    const struct rcx_blocks given = rcx_blocks_in(s, RCX_BUFFER_IN);
    const struct rcx_blocks gotten = rcx_blocks_in(s, RCX_BUFFER_OUT);
    const bool shifts = s->params[PAIRING] == SHIFT;
    const bool keeps = s->alias != RCX_ALIAS_NONE && !shifts;
    const struct rcx_span out = rcx_span_out(s);
    const struct rcx_span in = shifts ? kept(b, s) : rcx_span_in(s);
    struct keep k = {.window = 0};

    if (keeps)
        k = keep_of(b, s);
    for (int t = 0; t < s->size; t++) {
        const struct step step = step_of(s, t);
        struct rcx_span mine = rcx_block(&given, in, step.to);

        if (step.to == s->rank)
            continue;
        if (keeps) /* else two ranks could wait for each other's receive */
            mine = keep(b, &k, mine);
        rcx_posted_pair(b, s);
        rcx_step_recv(b, step.from, rcx_block(&gotten, out, step.from));
        rcx_step_send(b, step.to, mine);
    }
    rcx_step_copy(b, rcx_block(&gotten, out, s->rank),
                  rcx_block(&given, rcx_span_in(s), s->rank));
}

/* ---- Packing of cyclic blocks -------------------------------------------- */

void rcx_exchange_pack(struct rcx_builder *b, const struct rcx_shape *s,
                       int first, int n, struct rcx_span dst)
{
    const struct rcx_span in = rcx_span_in(s);
    const size_t block = s->count / (size_t)s->size;
    const int over = first + n > s->size ? first + n - s->size : 0;
    const size_t head = (size_t)(n - over) * block;

    rcx_step_copy(b, rcx_span_sub(dst, 0, head),
                  rcx_span_sub(in, (size_t)first * block, head));
    rcx_step_copy(b, rcx_span_sub(dst, head, (size_t)over * block),
                  rcx_span_sub(in, 0, (size_t)over * block));
}
