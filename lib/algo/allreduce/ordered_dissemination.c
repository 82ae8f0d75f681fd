/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Allreduce by ordered dissemination (RCX; the open problem of Rabenseifner,
 * Traeff 2004): ceil(lg p) rounds for every p, although all ranks combine by
 * the fixed tree.
 *
 *   scratch  (v + 2 c) n at most, of v vectors sent and c combined
 *   order    CANONICAL
 *
 * Let m = ceil(lg p). Before round k the window of rank i is i .. i+s-1
 * (cyclic), s = ceil(p / 2^(m-k)). Rank i holds its own operand, and apart from
 * it the other operands of its window, combined as far as the tree allows. The
 * next window has 2 s ranks or 2 s - 1. For 2 s, rank i receives the window of
 * rank i+s, which begins where its own one ends. For 2 s - 1, it receives the
 * window of rank i+s-1 without that rank's own operand, which is kept apart for
 * this reason.
 *
 * No operand is combined twice: a rank combines as many vectors as it receives.
 * It receives into fresh scratch and never overwrites what it has sent, so
 * steps wait only for data that they need.
 */
#include "algo/phase/tree.h"

enum { NODES = 64 }; /* of a window: two of each length below 2^31 */

struct node {
    struct rcx_interval ranks;
    struct rcx_span span;
};

/* Adjacent nodes of the fixed tree in rank order; rank 0 follows rank p - 1. */
struct window {
    struct node nodes[NODES];
    int count;
};

struct round {
    int size;   /* ranks of the window before the round */
    int next;   /* ranks of the window after the round */
    int dist;   /* rank i receives from i + dist and sends to i - dist */
    bool whole; /* the message includes the own operand */
};

static struct round round_of(int p, int k)
{
    const int later = rcx_log2_ceil(p) - k - 1;
    const int size = ((p - 1) >> later >> 1) + 1;
    const int next = ((p - 1) >> later) + 1;

    return (struct round){.size = size,
                          .next = next,
                          .dist = next / 2,
                          .whole = next == 2 * size};
}

/* ---- The cost: messages are of irregular lengths ------------------------- */

/*
 * Up to so many ranks, the cost follows each rank. For more ranks, it sums up
 * the largest message of each round, as if one rank sent them all. That counts
 * 5 % too many vectors sent on average (up to 17 %), and 20 % too many combined
 * (up to 40 %).
 */
enum { EXACT = 256 };

static int ones(int x)
{
    return __builtin_popcount((unsigned)x);
}

/* Return how many nodes cover length < p ranks from lo on. */
static int cover(int p, int lo, int length)
{
    const int hi = lo + length, cube = 1 << rcx_log2_ceil(p);
    int level, mid;

    if (length == 0)
        return 0;
    if (hi > p) /* the rest continues from rank 0 */
        return cover(p, lo, p - lo) + ones(hi - p);
    if (hi == p) { /* up to the first node that is truncated at p */
        level = rcx_log2_floor((cube - lo) ^ (cube - p));
        return ones((cube - lo) & ((2 << level) - 1));
    }
    level = rcx_log2_floor(lo ^ hi);
    mid = hi >> level << level;
    return ones(mid - lo) + ones(hi - mid);
}

struct progress {
    uint16_t others;   /* nodes of the window without the own operand */
    uint16_t pieces;   /* vectors held that are yet to be combined */
    uint16_t combined; /* when the last combine ended */
};

/* A message: its length, and when it ends if only sending takes time (volume),
 * or only combining (combines), in vectors. */
struct message {
    uint16_t vectors, volume, combines;
};

static void wait_for(struct message *m, const struct message *other)
{
    if (m->volume < other->volume)
        m->volume = other->volume;
    if (m->combines < other->combines)
        m->combines = other->combines;
}

/* Return what rank i sends in round r. last: the messages of the round before,
 * over distance last_dist. */
static struct message send_of(struct progress *at, int p, int i,
                              const struct round *r, int last_dist,
                              const struct message last[])
{
    struct message m = {.vectors = at->others};

    if (r->whole) {
        m.vectors = (uint16_t)cover(p, i, r->size);
        at->combined += at->pieces - m.vectors;
        at->pieces = m.vectors;
    }
    m.combines = at->combined;
    wait_for(&m, &last[i]); /* own send, own receive, the peer's receive */
    wait_for(&m, &last[(i + last_dist) % p]);
    wait_for(&m, &last[(i + p - r->dist + last_dist) % p]);
    m.volume += m.vectors;
    return m;
}

static void join(struct progress *at, int p, int i, const struct round *r,
                 const struct message *m)
{
    const int others = cover(p, (i + 1) % p, r->next - 1);
    const int combines = at->others + m->vectors - others;

    if (at->combined < m->combines)
        at->combined = m->combines;
    at->combined += combines;
    at->pieces += m->vectors - combines;
    at->others = (uint16_t)others;
}

static struct message slowest(int p)
{
    struct message messages[2][EXACT] = {0}, most = {0};
    struct progress at[EXACT];
    int last_dist = 0;

    for (int i = 0; i < p; i++)
        at[i] = (struct progress){.pieces = 1};
    for (int k = 0; k < rcx_log2_ceil(p); k++) {
        const struct round r = round_of(p, k);
        struct message *now = messages[k % 2], *last = messages[(k + 1) % 2];

        for (int i = 0; i < p; i++)
            now[i] = send_of(&at[i], p, i, &r, last_dist, last);
        for (int i = 0; i < p; i++) {
            join(&at[i], p, i, &r, &now[(i + r.dist) % p]);
            wait_for(&most, &now[i]);
        }
        last_dist = r.dist;
    }
    for (int i = 0; i < p; i++)
        if (most.combines < at[i].combined + at[i].pieces - 1)
            most.combines = (uint16_t)(at[i].combined + at[i].pieces - 1);
    return most;
}

/* Return the most ones that two binary numbers of sum x can have: one of them
 * is 2^k - 1. */
static int most_ones(int x)
{
    return rcx_log2_floor(x + 1) + ones(x + 1) - 1;
}

/* The same where one of the two numbers is below 2^level. */
static int most_ones_below(int x, int level)
{
    const int high = x >> level, low = x - (high << level);
    const int with_carry = ones(high - 1) + level + ones(low + 1);
    const int without = ones(high) + most_ones(low);

    if (high == 0)
        return most_ones(x);
    return low + 1 < 1 << level && with_carry > without ? with_carry : without;
}

/*
 * Return the most nodes that cover length ranks, over all first ranks. The tree
 * splits the ranks at one of them; each side takes as many nodes as its length
 * has binary ones. Across rank 0, the side that ends at p has a truncated node
 * of level i, and below it as many nodes as the rest of its length has ones.
 */
static int largest_cover(int p, int length)
{
    const int levels = rcx_log2_ceil(p), gap = (1 << levels) - p;
    int most = most_ones(length);

    for (int i = 0; i < levels; i++) {
        const int cut = (1 << i) - (gap & ((1 << i) - 1));

        if (gap >> i & 1 || cut > length)
            continue;
        if (most < 1 + most_ones_below(length - cut, i))
            most = 1 + most_ones_below(length - cut, i);
    }
    return most;
}

static struct rcx_cost cost(const struct rcx_shape *s)
{
    const int p = s->size, rounds = rcx_log2_ceil(p);
    struct message most = {0};

    if (p <= EXACT) {
        most = slowest(p);
    } else {
        for (int k = 0; k < rounds; k++)
            most.volume += (uint16_t)largest_cover(p, round_of(p, k).dist);
        most.combines = most.volume + (p != rcx_pow2_floor(p));
    }
    return (struct rcx_cost){.rounds = rounds,
                             .volume = most.volume * (double)s->count,
                             .combines = most.combines * (double)s->count};
}

/* ---- The schedule -------------------------------------------------------- */

/* Whether left and right are the two halves of a node. */
static bool are_halves(int p, struct rcx_interval left,
                       struct rcx_interval right)
{
    const int length = left.hi - left.lo;

    return right.lo == left.hi && left.lo % (2 * length) == 0 &&
           (right.hi == left.hi + length ||
            (right.hi == p && p < left.hi + length));
}

/* Return the longest node from lo on that has at most length ranks. */
static struct rcx_interval node_from(int p, int lo, int length)
{
    int step = lo == 0 ? rcx_pow2_floor(p) : lo & -lo;

    while (step > length && p - lo > length)
        step /= 2;
    return (struct rcx_interval){.lo = lo, .hi = step < p - lo ? lo + step : p};
}

/*
 * Append node to w, and combine it with the last nodes as far as possible. Sums
 * replace node if that is writable, else go to fresh scratch; the root of the
 * tree goes to OUT.
 */
static void append(struct rcx_builder *b, struct window *w, struct node node,
                   bool writable)
{
    const int p = b->shape->size;

    while (w->count > 0 &&
           are_halves(p, w->nodes[w->count - 1].ranks, node.ranks)) {
        const struct node left = w->nodes[--w->count];
        const struct node sum = {
            .ranks = {.lo = left.ranks.lo, .hi = node.ranks.hi},
            .span = node.ranks.hi - left.ranks.lo == p ? rcx_span_out(b->shape)
                    : writable                         ? node.span
                               : rcx_span_scratch(b, b->shape->count)};

        rcx_step_reduce(b, sum.span, left.span, node.span);
        node = sum;
    }
    w->nodes[w->count++] = node;
}

/* Return the span of the nodes from number i on that are contiguous. */
static struct rcx_span run_from(const struct window *w, int i)
{
    struct rcx_span run = w->nodes[i].span;

    while (++i < w->count && w->nodes[i].span.buffer == run.buffer &&
           w->nodes[i].span.offset == run.offset + run.count)
        run.count += w->nodes[i].span.count;
    return run;
}

/* Return a span with all nodes of w; pack them if they are not contiguous. */
static struct rcx_span together(struct rcx_builder *b, const struct window *w)
{
    const size_t n = b->shape->count;
    struct rcx_span run = run_from(w, 0), all;
    size_t at = 0;

    if (run.count == (size_t)w->count * n)
        return run;
    all = rcx_span_scratch(b, (size_t)w->count * n);
    while (at < all.count) {
        run = run_from(w, (int)(at / n));
        rcx_step_copy(b, rcx_span_sub(all, at, run.count), run);
        at += run.count;
    }
    return all;
}

/* Return the nodes that the rank r->dist above sends, in fresh scratch: from
 * the end of this rank's window on. */
static struct window expect(struct rcx_builder *b, const struct round *r)
{
    const struct rcx_shape *s = b->shape;
    int lo = (s->rank + r->size) % s->size, length = r->dist;
    struct window w = {.count = 0};

    while (length > 0) {
        struct node *node = &w.nodes[w.count++];

        node->ranks = node_from(s->size, lo, length);
        node->span = rcx_span_scratch(b, s->count);
        length -= node->ranks.hi - lo;
        lo = node->ranks.hi % s->size;
    }
    return w;
}

/* The vectors that a rank holds. */
struct hand {
    struct node own; /* own operand, combined with the first nodes of others */
    struct window others; /* the window without the own operand */
    int held;             /* nodes of others that own contains */
};

/* Return the whole window: own is combined with what follows as far as
 * possible. */
static struct window whole_of(struct rcx_builder *b, struct hand *hand)
{
    const struct window *others = &hand->others;
    struct window w = {.nodes = {hand->own}, .count = 1};

    for (int i = hand->held; i < others->count; i++)
        append(b, &w, others->nodes[i], false);
    hand->own = w.nodes[0];
    hand->held = others->count - (w.count - 1);
    return w;
}

/* Combine the operands of all ranks in rank order: those before this rank
 * first. */
static void combine_all(struct rcx_builder *b, const struct hand *hand)
{
    const struct node *nodes = hand->others.nodes;
    const int rank = b->shape->rank;
    struct window w = {.count = 0};

    for (int i = hand->held; i < hand->others.count; i++)
        if (nodes[i].ranks.lo < rank)
            append(b, &w, nodes[i], false);
    append(b, &w, hand->own, false);
    for (int i = hand->held; i < hand->others.count; i++)
        if (nodes[i].ranks.lo > rank)
            append(b, &w, nodes[i], false);
}

static void build(struct rcx_builder *b, const struct rcx_shape *s)
{
    const int p = s->size, me = s->rank;
    struct hand hand = {
        .own = {.ranks = {.lo = me, .hi = me + 1}, .span = rcx_span_in(s)}};

    for (int k = 0; k < rcx_log2_ceil(p); k++) {
        const struct round r = round_of(p, k);
        const struct window theirs = expect(b, &r);
        const struct window mine = r.whole ? whole_of(b, &hand) : hand.others;

        rcx_step_recv(b, (me + r.dist) % p, together(b, &theirs));
        rcx_step_send(b, (me + p - r.dist) % p, together(b, &mine));
        for (int i = 0; i < theirs.count; i++)
            append(b, &hand.others, theirs.nodes[i], true);
    }
    if (p == 1)
        rcx_step_copy(b, rcx_span_out(s), hand.own.span);
    else
        combine_all(b, &hand);
}

const struct rcx_algo rcx_allreduce_ordered_dissemination = {
    .name = "ordered_dissemination",
    .coll = RCX_COLL_ALLREDUCE,
    .formula = "p = 2^m: m a + m (m+1)/2 n (b + g), m = ceil(lg p); else "
               "about that, up to m^2 n (b + g)",
    .source = "RCX; the open problem of Rabenseifner, Traeff 2004",
    .level = RCX_ORDER_CANONICAL,
    .cost = cost,
    .build = build,
};
