/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Reduce-scatter by butterfly steps, small rings and one elimination
 * (Rabenseifner, Traeff 2004, 2 and 3.6), and one exchange that takes blocks to
 * their ranks.
 *
 *   scratch  2 n
 *   order    UNIFORM; CANONICAL when p is 2^k, or 2^k times one ring
 *
 * All steps split the vector. In the end l active ranks have a part each, in
 * the order of their lanes with the digits reversed, and send the blocks to
 * their ranks. (Steps on whole vectors would save no round, and compute parts
 * that no rank needs.)
 *
 * Parts and blocks divide the vector differently, so a block may lie in several
 * parts. The holder of a part first sends its piece of a block that begins in
 * the part and continues in the next one. Then it sends its piece of a block
 * that began before the part. So blocks in two parts do not delay each other
 * from part to part. Blocks within the part come last.
 */
#include "algo/phase/factorized.h"

enum { RING_MAX, RADIX }; /* parameters */

static struct rcx_factorized setting(const struct rcx_shape *s)
{
    return (struct rcx_factorized){
        .group = rcx_group_all(s),
        .b = RCX_FACTORIZED_ALWAYS,
        .how = rcx_factorized_how(s->params[RING_MAX], s->params[RADIX])};
}

/* ---- The part of each rank ----------------------------------------------- */

/* How the steps have split the vector. */
struct split {
    const struct rcx_shape *s;
    struct rcx_blocks blocks;
    struct rcx_span vector;
    int ways[RCX_ROUNDS_MAX];
    int depth;
    int parts;
    struct rcx_rounds rounds; /* state after all steps */
};

/* A rank after all steps. */
struct holder {
    int rank;
    int part; /* its number; -1: the rank has been eliminated */
};

static struct holder walk(const struct rcx_shape *s, int rank,
                          struct split *split)
{
    const struct rcx_factorized f = setting(s);
    struct holder h = {.rank = rank};
    struct rcx_rounds r;
    struct rcx_meeting m;

    split->s = s;
    split->blocks = rcx_blocks_of(s);
    split->vector =
        (struct rcx_span){.buffer = RCX_BUFFER_TMP, .count = s->count};
    split->depth = 0;
    split->parts = 1;
    rcx_rounds_begin(&r, s->size, rank, &f.how);
    while (rcx_rounds_next(&r, &m)) {
        const int ways = rcx_factorized_ways(&f, s, &m, split->parts);
        const bool leaves = rcx_meeting_eliminates(&m, m.place);

        if (ways > 1)
            split->ways[split->depth++] = ways;
        split->parts *= ways;
        h.part = leaves || h.part < 0 ? -1 : h.part * ways + m.place;
    }
    split->rounds = r;
    return h;
}

/* Return the rank that has a part of this number. */
static int rank_with(const struct split *split, int part)
{
    int lane = 0;

    for (int i = split->depth - 1; i >= 0; i--) {
        lane = lane * split->ways[i] + part % split->ways[i];
        part /= split->ways[i];
    }
    return rcx_rounds_rank(&split->rounds, 0, lane);
}

static struct rcx_span part_at(const struct split *split, int part)
{
    struct rcx_span span = split->vector;
    int parts = split->parts;

    for (int i = 0; i < split->depth; i++) {
        parts /= split->ways[i];
        span = rcx_span_part(span, split->ways[i], part / parts);
        part %= parts;
    }
    return span;
}

static size_t end_of(struct rcx_span span)
{
    return span.offset + span.count;
}

/* Return the first part that ends behind an element. */
static int part_with(const struct split *split, size_t element)
{
    struct rcx_span span = split->vector;
    int part = 0;

    for (int i = 0; i < split->depth; i++) {
        int k = 0;

        while (k < split->ways[i] - 1 &&
               end_of(rcx_span_part(span, split->ways[i], k)) <= element)
            k++;
        span = rcx_span_part(span, split->ways[i], k);
        part = part * split->ways[i] + k;
    }
    return part;
}

static struct rcx_span block_of(const struct split *split, int rank)
{
    return rcx_block(&split->blocks, split->vector, rank);
}

static struct rcx_span overlap(struct rcx_span a, struct rcx_span b)
{
    const size_t start = a.offset > b.offset ? a.offset : b.offset;
    const size_t end = end_of(a) < end_of(b) ? end_of(a) : end_of(b);

    return (struct rcx_span){.buffer = a.buffer,
                             .offset = start,
                             .count = end > start ? end - start : 0};
}

/* The order in which the holder of a part sends its pieces of blocks. */
enum turn { GOES_ON, BEGAN_BEFORE, LIES_WITHIN, TURNS };

static enum turn turn_of(struct rcx_span part, struct rcx_span block)
{
    return block.offset < part.offset     ? BEGAN_BEFORE
           : end_of(block) > end_of(part) ? GOES_ON
                                          : LIES_WITHIN;
}

/* ---- Costs --------------------------------------------------------------- */

/* Up to this many ranks, all messages of the exchange are counted; beyond, the
 * cost is an upper bound. The limit is lower for equal blocks, for which the
 * choice of a method asks. */
enum { COUNTED = 64, COUNTED_UNEQUAL = 4096 };

enum measure { VOLUME, ROUNDS, MEASURES };

/* When messages of the exchange end. A message takes as long as it has elements
 * (VOLUME), or 1 (ROUNDS). */
struct clock {
    const struct split *split;
    double before[MEASURES]; /* when the previous piece of a block arrived */
    double last[MEASURES];
};

static double later(double a, double b)
{
    return a > b ? a : b;
}

/* Account for the messages of a part's holder, which is rank: pieces of the
 * blocks from first on. */
static void send_part(struct clock *c, int rank, struct rcx_span part,
                      int first)
{
    double now[MEASURES] = {0}, before[MEASURES] = {0};

    for (int turn = 0; turn < TURNS; turn++) {
        for (int i = first; i < c->split->s->size; i++) {
            const struct rcx_span block = block_of(c->split, i);
            const struct rcx_span piece = overlap(part, block);
            const double length[MEASURES] = {(double)piece.count, 1};

            if (block.offset >= end_of(part))
                break;
            if (piece.count == 0 || (int)turn_of(part, block) != turn)
                continue;
            for (int k = 0; k < MEASURES; k++) {
                double got = turn == BEGAN_BEFORE ? c->before[k] : 0;

                if (i != rank)
                    got = now[k] = later(now[k], got) + length[k];
                if (end_of(block) > end_of(part))
                    before[k] = got;
            }
        }
    }
    for (int k = 0; k < MEASURES; k++) {
        c->before[k] = before[k];
        c->last[k] = later(c->last[k], now[k]);
    }
}

/* Return when the last message has arrived, if all holders begin at once. */
static struct rcx_cost exchange(const struct split *split)
{
    struct clock c = {.split = split};
    int first = 0;

    for (int i = 0; i < split->parts && split->vector.count > 0; i++) {
        const struct rcx_span part = part_at(split, i);

        if (part.count == 0)
            continue;
        while (first < split->s->size - 1 &&
               end_of(block_of(split, first)) <= part.offset)
            first++;
        send_part(&c, rank_with(split, i), part, first);
    }
    return (struct rcx_cost){.rounds = c.last[ROUNDS],
                             .volume = c.last[VOLUME]};
}

/* ---- The algorithm ------------------------------------------------------- */

static rcx_order_t order(const struct rcx_shape *s)
{
    const struct rcx_factorized f = setting(s);

    return rcx_factorized_order(&f);
}

/* Whether each part is exactly one block. With at most one digit to reverse,
 * each is at its rank. */
static bool parts_are_blocks(const struct split *split)
{
    const struct rcx_shape *s = split->s;

    return !s->displs && split->parts == s->size &&
           s->count % (size_t)s->size == 0;
}

static struct rcx_cost cost(const struct rcx_shape *s)
{
    const struct rcx_factorized f = setting(s);
    struct rcx_cost c = rcx_factorized_cost(&f, s, RCX_FACTORIZED_PARTS);
    struct split split;

    walk(s, 0, &split);
    if (parts_are_blocks(&split)) {
        c.rounds += split.depth > 1;
        c.volume += split.depth > 1 ? (double)(s->count / (size_t)s->size) : 0;
        return c;
    }
    if (s->size > (s->displs ? COUNTED_UNEQUAL : COUNTED)) {
        const double most = split.parts == s->size ? 1 : 2;

        c.rounds += 2 * most - 1;
        c.volume += most * (double)rcx_blocks_largest(&split.blocks);
        return c;
    }
    return rcx_cost_sum(c, exchange(&split));
}

/* Return where a span of the vector lies, if the vector begins at result. */
static struct rcx_span lies(struct rcx_span result, struct rcx_span span)
{
    return rcx_span_sub(result, span.offset, span.count);
}

static void send_pieces(struct rcx_builder *b, const struct split *split,
                        const struct holder *h, struct rcx_span result)
{
    const struct rcx_span part = part_at(split, h->part);
    const int first = rcx_block_at(&split->blocks, part.offset);

    for (int turn = 0; turn < TURNS; turn++) {
        for (int i = first; i < split->s->size; i++) {
            const struct rcx_span block = block_of(split, i);
            const struct rcx_span piece = overlap(part, block);

            if (block.offset >= end_of(part))
                break;
            if (i != h->rank && piece.count > 0 &&
                (int)turn_of(part, block) == turn)
                rcx_step_send(b, i, lies(result, piece));
        }
    }
}

static void receive_pieces(struct rcx_builder *b, const struct split *split,
                           const struct holder *h, struct rcx_span result)
{
    const struct rcx_span block = block_of(split, h->rank);
    const struct rcx_span out = rcx_span_out(split->s);

    if (block.count == 0)
        return;
    for (int i = part_with(split, block.offset); i < split->parts; i++) {
        const struct rcx_span part = part_at(split, i);
        const struct rcx_span piece = overlap(part, block);
        const struct rcx_span mine =
            rcx_span_sub(out, piece.offset - block.offset, piece.count);

        if (part.offset >= end_of(block))
            break;
        if (piece.count == 0)
            continue;
        if (i == h->part)
            rcx_step_copy(b, mine, lies(result, piece));
        else
            rcx_step_recv(b, rank_with(split, i), mine);
    }
}

static void build(struct rcx_builder *b, const struct rcx_shape *s)
{
    const struct rcx_factorized f = setting(s);
    const struct rcx_span result = rcx_span_scratch(b, s->count);
    struct rcx_factorized_stack stack;
    struct split split;
    const struct holder h = walk(s, s->rank, &split);

    rcx_factorized_reduce(b, &f, RCX_FACTORIZED_ALL, rcx_span_in(s), result,
                          &stack);
    if (h.part >= 0)
        send_pieces(b, &split, &h, result);
    receive_pieces(b, &split, &h, result);
}

static const struct rcx_param params[] = {
    [RING_MAX] = RCX_FACTORIZED_RING_MAX, [RADIX] = RCX_FACTORIZED_RADIX, {0}};

const struct rcx_algo rcx_reduce_scatter_factorized = {
    .name = "factorized",
    .coll = RCX_COLL_REDUCE_SCATTER,
    .formula = "radix = 2, p = 2^k: (k + e) a + n (p-1+e)/p b + n (p-1)/p "
               "g, k = floor(lg p), e = [p > 2]; p = 2^k r1 ... rh q, q no "
               "product of primes up to ring_max; m = n, less after each "
               "step: a + m/2 (b + g) for each 2; (r-1) a + m (1-1/r) (b + "
               "g) for each r; (l+1) a + m (3/2 - 1/2^l) (b + g) for q > 1, "
               "l = floor(lg q); and a + n/p b if q = 1, else up to 3 a + 2 "
               "n/p b; products of factors up to radix as each r",
    .needs = RCX_FACTORIZED_NEEDS,
    .source = "Rabenseifner, Traeff 2004, 2 and 3.6; exchange: design",
    .params = params,
    .fits = rcx_factorized_fits,
    .order = order,
    .cost = cost,
    .build = build,
};
