/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Circulant reduce-scatter and allgather over a group, with their costs, as
 * phases of circulant and generalized algorithms. circulant.h describes slots,
 * rounds and width.
 */
#include "algo/phase/circulant.h"

struct circulant {
    struct rcx_builder *b;
    const struct rcx_group *g;
    const struct rcx_blocks *blocks;
};

/*
 * Slots one after another from first on; after p of them it starts again. A
 * vector in its natural order starts with slot -rank. A range of p slots or
 * more is the whole vector.
 */
struct vector {
    struct rcx_span span;
    int first;
};

/* ---- Slots --------------------------------------------------------------- */

/* Return the communicator's rank of the member at a distance of less than p. */
static int peer_at(const struct circulant *c, int distance)
{
    const int p = c->g->size;

    return rcx_group_member(c->g, (c->g->rank + distance + p) % p);
}

/* Return the elements from block 0 to slot k, as if the vector were repeated
 * without end. */
static size_t before(const struct circulant *c, int k)
{
    const struct rcx_span vector = {.count = c->blocks->count};
    const int p = c->g->size, block = c->g->rank + k;

    return (size_t)(block / p) * vector.count +
           rcx_block(c->blocks, vector, block % p).offset;
}

static size_t elements(const struct circulant *c, int from, int to)
{
    return to - from >= c->g->size ? c->blocks->count
                                   : before(c, to) - before(c, from);
}

static struct vector natural(const struct circulant *c, struct rcx_span span)
{
    return (struct vector){.span = span, .first = -c->g->rank};
}

static struct vector scratch(const struct circulant *c, int from, int to)
{
    return (struct vector){
        .span = rcx_span_scratch(c->b, elements(c, from, to)), .first = from};
}

/* Return where in [from, to) the vector starts again; to: nowhere. */
static int cut_of(const struct circulant *c, const struct vector *v, int from,
                  int to)
{
    const int p = c->g->size, end = from + p - (from - v->first) % p;

    return to - from < p && end < to ? end : to;
}

/* Return slots [from, to), between which the vector does not start again. */
static struct rcx_span slots_of(const struct circulant *c,
                                const struct vector *v, int from, int to)
{
    const size_t count = elements(c, from, to), n = c->blocks->count;

    if (count == 0 || to - from >= c->g->size)
        return rcx_span_sub(v->span, 0, count);
    return rcx_span_sub(v->span, (before(c, from) - before(c, v->first)) % n,
                        count);
}

/* Copy slots [from, to). One of the two vectors may start again between
 * them. */
static void copy(const struct circulant *c, const struct vector *dst,
                 const struct vector *src, int from, int to)
{
    const int cut = cut_of(c, dst, from, cut_of(c, src, from, to));

    rcx_step_copy(c->b, slots_of(c, dst, from, cut),
                  slots_of(c, src, from, cut));
    rcx_step_copy(c->b, slots_of(c, dst, cut, to), slots_of(c, src, cut, to));
}

static void send(const struct circulant *c, int distance,
                 const struct vector *v, int from, int to)
{
    struct vector message = *v;

    if (cut_of(c, v, from, to) < to) {
        message = scratch(c, from, to);
        copy(c, &message, v, from, to);
    }
    rcx_step_send(c->b, peer_at(c, distance), slots_of(c, &message, from, to));
}

/* dst = theirs op own, in slots [from, to). own may start again between
 * them. */
static void combine(const struct circulant *c, const struct vector *dst,
                    const struct vector *theirs, const struct vector *own,
                    int from, int to)
{
    const int cut = cut_of(c, own, from, to);

    rcx_step_reduce(c->b, slots_of(c, dst, from, cut),
                    slots_of(c, theirs, from, cut),
                    slots_of(c, own, from, cut));
    rcx_step_reduce(c->b, slots_of(c, dst, cut, to),
                    slots_of(c, theirs, cut, to), slots_of(c, own, cut, to));
}

/* ---- Phases -------------------------------------------------------------- */

/*
 * A round with an odd number of vectors leaves the first of them out. From then
 * on the first vectors, one for each of the width results, are sums of fewer
 * operands than the other vectors at their slots. So they are kept apart, as
 * firsts. As long as they do not differ, firsts are simply among the others.
 */
void rcx_circulant_reduce_scatter(struct rcx_builder *b,
                                  const struct rcx_group *g,
                                  const struct rcx_blocks *blocks,
                                  struct rcx_span operand, int removed,
                                  struct rcx_span result)
{
    const struct circulant c = {.b = b, .g = g, .blocks = blocks};
    const int p = g->size, width = rcx_circulant_width(p, removed);
    const struct vector in = natural(&c, operand), out = {.span = result};
    const struct vector sums =
        scratch(&c, 0, rcx_circulant_left(p, 1) + width - 1);
    struct vector received[2], firsts = in, others = in;
    bool differ = false;

    if (p == 1)
        copy(&c, &out, &in, 0, 1);
    for (int j = 0, n = p; n > 1; j++, n -= n / 2) {
        const int h = n / 2, odd = n % 2, end = odd + h + width - 1;
        struct vector *theirs = &received[j % 2];

        if (j < 2)
            *theirs = scratch(&c, 0, end);
        rcx_step_recv(b, peer_at(&c, -h), slots_of(&c, theirs, odd, end));
        send(&c, h, &others, odd + h, end + h);
        if (odd && !differ && j > 0 && width > 1) {
            copy(&c, &out, &others, 0, width);
            firsts = out;
        }
        differ = differ || odd;
        if (n > 2)
            combine(&c, &sums, theirs, &others, differ, end);
        if (n == 2 || (differ && !odd)) {
            combine(&c, &out, theirs, &firsts, 0, width);
            firsts = out;
        }
        others = sums;
        if (!differ)
            firsts = sums;
    }
}

void rcx_circulant_allgather(struct rcx_builder *b, const struct rcx_group *g,
                             const struct rcx_blocks *blocks, int removed,
                             struct rcx_span slots, struct rcx_span vector)
{
    const struct circulant c = {.b = b, .g = g, .blocks = blocks};
    const struct vector rotated = {.span = slots}, out = natural(&c, vector);
    const int p = g->size;

    copy(&c, &out, &rotated, 0, rcx_circulant_width(p, removed));
    for (int j = rcx_log2_ceil(p) - removed - 1; j >= 0; j--) {
        const int n = rcx_circulant_left(p, j), h = n / 2, have = n - h;
        /* the last round's slots are not sent again, so they can skip the
         * scratch */
        const bool direct = j == 0 && cut_of(&c, &out, have, n) == n;
        const struct vector *theirs = direct ? &out : &rotated;

        rcx_step_recv(b, peer_at(&c, h), slots_of(&c, theirs, have, n));
        send(&c, -h, &rotated, have - h, have);
        copy(&c, &out, theirs, have, n);
    }
}

/* ---- Costs --------------------------------------------------------------- */

static double at_most(double limit, double value)
{
    return value < limit ? value : limit;
}

struct rcx_cost
rcx_circulant_reduce_scatter_cost(const struct rcx_blocks *blocks, int removed)
{
    const double all = (double)blocks->count;
    const double largest = (double)rcx_blocks_largest(blocks);
    const int width = rcx_circulant_width(blocks->n, removed);
    struct rcx_cost cost = {0};
    bool differ = false;

    for (int n = blocks->n; n > 1; n -= n / 2) {
        const bool odd = n % 2;
        const int moved = n / 2 + width - 1;

        cost.rounds++;
        cost.volume += at_most(all, moved * largest);
        if (differ && !odd) {
            cost.combines += at_most(all, width * largest);
            if (n > 2)
                cost.combines += at_most(all, (moved - 1) * largest);
        } else {
            cost.combines += at_most(all, moved * largest);
        }
        differ = differ || odd;
    }
    return cost;
}

struct rcx_cost rcx_circulant_allgather_cost(const struct rcx_blocks *blocks,
                                             int removed)
{
    const double all = (double)blocks->count;
    const double largest = (double)rcx_blocks_largest(blocks);
    struct rcx_cost cost = {0};

    for (int j = rcx_log2_ceil(blocks->n) - removed - 1; j >= 0; j--) {
        cost.rounds++;
        cost.volume +=
            at_most(all, rcx_circulant_left(blocks->n, j) / 2 * largest);
    }
    return cost;
}
