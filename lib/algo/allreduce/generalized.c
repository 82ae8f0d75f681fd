/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Allreduce in any number of rounds between ceil(lg p) and 2 ceil(lg p), for
 * every p (Kolmakov, Zhang 2020).
 *
 *   scratch  r rounds removed of 2 k, k = ceil(lg p);
 *            cyclic: 11/4 n for r = 0, 3 n for r = k, at most 19/4 n between;
 *            xor: 3/4 n for r = 0, at most 2 n
 *   order    cyclic: SAME for r = 0 or p = 2^k, else LOOSE; xor: CANONICAL
 *
 * The paper describes communication by a group of permutations that takes each
 * rank to each other one. For the cyclic group see circulant.h. In the xor
 * group of a cube each move is its own inverse. Blocks are halved by the
 * highest bit of their numbers first, so that a rank keeps adjacent blocks.
 * Ranks exchange along their lowest bit first; the two orders may differ, as
 * block i need not end at rank i. Thus operands are combined in rank order for
 * every r: from recursive halving and doubling, r = 0, to recursive doubling, r
 * = k.
 */
#include "algo/phase/circulant.h"

enum { REMOVED, GROUP }; /* parameters */
enum { CYCLIC, XOR };

static int64_t removed_candidate(const struct rcx_shape *s, int i)
{
    return i <= rcx_log2_ceil(s->size) ? i : RCX_PARAM_END;
}

static const char *const groups[] = {[CYCLIC] = "cyclic", [XOR] = "xor", NULL};
static const int64_t removed_proved[] = {
    0, 1, 2, 3, 4, 5, 6, RCX_PARAM_AUTO, RCX_PARAM_END};
static const struct rcx_param params[] = {
    [REMOVED] = {.name = "removed",
                 .doc = "rounds less than 2 ceil(lg p); at most half",
                 .least = 0,
                 .most = 31,
                 .usual = 0,
                 .proved = removed_proved,
                 .candidate = removed_candidate},
    [GROUP] = {.name = "group",
               .doc = "how ranks pair up",
               .names = groups,
               .usual = CYCLIC},
    {0}};

static int removed(const struct rcx_shape *s)
{
    const int most = rcx_log2_ceil(s->size);

    return s->params[REMOVED] < most ? (int)s->params[REMOVED] : most;
}

static bool is_xor(const struct rcx_shape *s)
{
    return s->params[GROUP] == XOR;
}

static bool is_power(const struct rcx_shape *s)
{
    return s->size == rcx_pow2_floor(s->size);
}

/* ---- Group xor ----------------------------------------------------------- */

/* Return how many blocks ranks exchange in a round of the first phase. */
static int exchanged(const struct rcx_shape *s, int round)
{
    const int half = s->size >> (round + 1), width = 1 << removed(s);

    return half > width ? half : width;
}

static struct rcx_cost xor_cost(const struct rcx_shape *s)
{
    const struct rcx_blocks blocks = rcx_blocks_of(s);
    const double n = (double)s->count;
    const double largest = (double)rcx_blocks_largest(&blocks);
    const int rounds = rcx_log2_ceil(s->size), r = removed(s);
    struct rcx_cost cost = {.rounds = 2 * rounds - r};

    for (int i = 0; i < rounds; i++) {
        const double part = exchanged(s, i) * largest;
        const double count = part < n ? part : n;

        cost.combines += count;
        cost.volume += i < rounds - r ? 2 * count : count;
    }
    return cost;
}

/* Return the span of blocks [first, first + count) of vector. */
static struct rcx_span range(const struct rcx_blocks *blocks,
                             struct rcx_span vector, int first, int count)
{
    const struct rcx_span low = rcx_block(blocks, vector, first);
    const struct rcx_span high = rcx_block(blocks, vector, first + count - 1);

    return (struct rcx_span){.buffer = vector.buffer,
                             .offset = low.offset,
                             .count = high.offset + high.count - low.offset};
}

static struct rcx_span scratch_for(struct rcx_builder *b,
                                   const struct rcx_blocks *blocks, int count)
{
    const size_t most = (size_t)count * rcx_blocks_largest(blocks);

    return rcx_span_scratch(b, most < blocks->count ? most : blocks->count);
}

static void build_xor(struct rcx_builder *b, const struct rcx_shape *s)
{
    const struct rcx_blocks blocks = rcx_blocks_of(s);
    const struct rcx_span out = rcx_span_out(s);
    const struct rcx_span scratch[] = {
        scratch_for(b, &blocks, exchanged(s, 0)),
        scratch_for(b, &blocks, exchanged(s, 1))};
    const int me = s->rank, p = s->size, width = 1 << removed(s);
    struct rcx_span sums = rcx_span_in(s);
    int first = 0, have = p;

    if (p == 1)
        rcx_step_copy(b, out, sums);
    for (int i = 0; 1 << i < p; i++) {
        const int peer = me ^ 1 << i;
        int theirs = first;
        struct rcx_span received, kept;

        if (have > width) {
            have /= 2;
            *(peer < me ? &first : &theirs) += have;
        }
        kept = range(&blocks, sums, first, have);
        received = rcx_span_sub(scratch[i % 2], 0, kept.count);
        rcx_step_recv(b, peer, received);
        rcx_step_send(b, peer, range(&blocks, sums, theirs, have));
        sums = out;
        rcx_step_reduce(b, range(&blocks, sums, first, have),
                        peer < me ? received : kept,
                        peer < me ? kept : received);
    }
    for (int dist = p / width / 2; dist > 0; dist /= 2, have *= 2) {
        const int peer = me ^ dist;
        const int theirs = peer < me ? first - have : first + have;

        rcx_step_recv(b, peer, range(&blocks, out, theirs, have));
        rcx_step_send(b, peer, range(&blocks, out, first, have));
        first = theirs < first ? theirs : first;
    }
}

/* ---- Group cyclic -------------------------------------------------------- */

static struct rcx_cost cyclic_cost(const struct rcx_shape *s)
{
    const struct rcx_blocks blocks = rcx_blocks_of(s);

    return rcx_cost_sum(rcx_circulant_reduce_scatter_cost(&blocks, removed(s)),
                        rcx_circulant_allgather_cost(&blocks, removed(s)));
}

static void build_cyclic(struct rcx_builder *b, const struct rcx_shape *s)
{
    const struct rcx_group all = rcx_group_all(s);
    const struct rcx_blocks blocks = rcx_blocks_of(s);
    const struct rcx_span in = rcx_span_in(s), out = rcx_span_out(s);
    const int r = removed(s);

    if (rcx_circulant_width(s->size, r) == s->size) {
        rcx_circulant_reduce_scatter(b, &all, &blocks, in, r, out);
    } else {
        const struct rcx_span slots = rcx_span_scratch(b, s->count);

        rcx_circulant_reduce_scatter(b, &all, &blocks, in, r, slots);
        rcx_circulant_allgather(b, &all, &blocks, r, slots, out);
    }
}

/* ---- Both groups --------------------------------------------------------- */

static bool fits(const struct rcx_shape *s)
{
    return !is_xor(s) || is_power(s);
}

static rcx_order_t order(const struct rcx_shape *s)
{
    if (is_xor(s))
        return RCX_ORDER_CANONICAL;
    return removed(s) == 0 || is_power(s) ? RCX_ORDER_SAME : RCX_ORDER_LOOSE;
}

static struct rcx_cost cost(const struct rcx_shape *s)
{
    return is_xor(s) ? xor_cost(s) : cyclic_cost(s);
}

static void build(struct rcx_builder *b, const struct rcx_shape *s)
{
    if (is_xor(s))
        build_xor(b, s);
    else
        build_cyclic(b, s);
}

const struct rcx_algo rcx_allreduce_generalized = {
    .name = "generalized",
    .coll = RCX_COLL_ALLREDUCE,
    .formula = "removed = 0: 2 k a + n (p-1)/p (2 b + g), k = ceil(lg p); "
               "r rounds removed, w = ceil(p / 2^(k-r)): (2k-r) a + (2 "
               "(p-1) + (w-1)(k-1)) n/p b + at most (p-1 + 2 (w-1)(k-1)) "
               "n/p g; r = k: k a + k n b + at most 2 (k-1) n g; "
               "group=xor: less",
    .needs = "a power of two of ranks for group=xor",
    .source = "Kolmakov, Zhang 2020",
    .params = params,
    .fits = fits,
    .order = order,
    .cost = cost,
    .build = build,
};
