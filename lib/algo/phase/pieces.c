/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Bruck's exchange of equal or unequal blocks, as a phase of alltoall and
 * alltoallv: which blocks each message has, where received blocks lie in
 * scratch, and their number, for costs. pieces.h describes the exchange.
 */
#include "algo/phase/pieces.h"

int rcx_pieces_radix(const struct rcx_shape *s, int64_t wanted)
{
    const int most = s->size > 2 ? s->size : 2;

    return wanted < most ? (int)wanted : most;
}

/* Return the largest power of radix below size; 0: size is 1. */
static int first_weight(int size, int radix)
{
    int weight = size > 1;

    while (weight > 0 && weight <= (size - 1) / radix)
        weight *= radix;
    return weight;
}

/* Return the largest digit of a weight, in numbers up to size - 1. */
static int digits_of(int size, int radix, int weight)
{
    const int most = (size - 1) / weight;

    return most < radix - 1 ? most : radix - 1;
}

int rcx_pieces_rounds(int size, int radix)
{
    int rounds = 0;

    for (int weight = first_weight(size, radix); weight > 0; weight /= radix)
        rounds += digits_of(size, radix, weight);
    return rounds;
}

size_t rcx_pieces_count(int size, int radix)
{
    const int64_t p = size;
    size_t count = 0;

    for (int64_t weight = first_weight(size, radix); weight > 0;
         weight /= radix) {
        const int64_t whole = weight * radix, rest = p % whole;

        count +=
            (size_t)(p - p / whole * weight - (rest < weight ? rest : weight));
    }
    return count;
}

/* ---- Pieces -------------------------------------------------------------- */

struct exchange {
    struct rcx_builder *b;
    const struct rcx_shape *s;
    size_t limit;
    size_t *firsts; /* of pieces from 1 on: index of the first block among the
                       received ones */
    size_t *starts; /* of received blocks, and the end; NULL: equal blocks */
    struct rcx_span came; /* all received blocks */
};

static size_t start_of(const struct exchange *x, size_t k)
{
    return x->starts ? x->starts[k] : k * (x->s->count / (size_t)x->s->size);
}

/* Return the span of received blocks k to k + n - 1. */
static struct rcx_span blocks_at(const struct exchange *x, size_t k, int n)
{
    const size_t start = start_of(x, k);

    return rcx_span_sub(x->came, start, start_of(x, k + (size_t)n) - start);
}

/* Return the operand's block for the rank that far ahead; empty: it is longer
 * than limit. */
static struct rcx_span own_block(const struct exchange *x, int ahead)
{
    const struct rcx_shape *s = x->s;
    const struct rcx_blocks blocks = rcx_blocks_in(s, RCX_BUFFER_IN);
    struct rcx_span block =
        rcx_block(&blocks, rcx_span_in(s), (s->rank + ahead) % s->size);

    if (block.count > x->limit)
        block.count = 0;
    return block;
}

/* Return how many blocks of piece g go to the rank far ahead. */
static int going(const struct exchange *x, int g, int weight, int far)
{
    const int behind = x->s->size - g - far;

    return behind < weight ? behind : weight;
}

/* ---- Messages ------------------------------------------------------------ */

/* A message that is put together. It is packed only if its blocks are not
 * contiguous. */
struct parcel {
    struct rcx_builder *b;
    struct rcx_span last;   /* contiguous blocks, not packed yet */
    struct rcx_span packed; /* all blocks before last */
};

static void pack_last(struct parcel *m)
{
    const struct rcx_span to = rcx_span_scratch(m->b, m->last.count);

    rcx_step_copy(m->b, to, m->last);
    if (m->packed.count == 0)
        m->packed = to;
    else
        m->packed.count += to.count; /* fresh scratch follows packed */
}

static void add(struct parcel *m, struct rcx_span span)
{
    if (span.count == 0)
        return;
    if (m->last.count > 0 && span.buffer == m->last.buffer &&
        span.offset == m->last.offset + m->last.count) {
        m->last.count += span.count;
        return;
    }
    if (m->last.count > 0)
        pack_last(m);
    m->last = span;
}

static struct rcx_span close(struct parcel *m)
{
    if (m->packed.count == 0)
        return m->last;
    pack_last(m);
    return m->packed;
}

/* Return a span with the blocks that go to the rank far ahead: those of pieces
 * 0, whole, 2 whole, ... */
static struct rcx_span collect(const struct exchange *x, int64_t whole,
                               int weight, int far)
{
    const int p = x->s->size;
    struct parcel m = {.b = x->b};

    for (int ahead = far; ahead < far + going(x, 0, weight, far); ahead++)
        add(&m, own_block(x, ahead));
    for (int64_t g = whole; g + far < p; g += whole)
        add(&m, blocks_at(x, x->firsts[g] + (size_t)far,
                          going(x, (int)g, weight, far)));
    return close(&m);
}

/* Write the message to the rank far ahead, and the receive of the one that
 * comes, whose first block is received block first. Returns the first of the
 * next message. */
static size_t move(const struct exchange *x, int64_t whole, int weight, int far,
                   size_t first)
{
    const int p = x->s->size, rank = x->s->rank;
    size_t end = first;

    for (int64_t g = 0; g + far < p; g += whole) {
        x->firsts[g + far] = end;
        end += (size_t)going(x, (int)g, weight, far);
    }
    rcx_step_recv(x->b, (rank + p - far) % p,
                  blocks_at(x, first, (int)(end - first)));
    rcx_step_send(x->b, (rank + far) % p, collect(x, whole, weight, far));
    return end;
}

static void move_all(const struct exchange *x, int radix)
{
    const int p = x->s->size;
    size_t first = 0;

    for (int weight = first_weight(p, radix); weight > 0; weight /= radix)
        for (int digit = 1; digit <= digits_of(p, radix, weight); digit++)
            first =
                move(x, (int64_t)weight * radix, weight, digit * weight, first);
}

/* Copy the one block that each piece has left to its place in OUT. */
static void put(const struct exchange *x)
{
    const struct rcx_shape *s = x->s;
    const struct rcx_blocks given = rcx_blocks_in(s, RCX_BUFFER_IN);
    const struct rcx_blocks gotten = rcx_blocks_in(s, RCX_BUFFER_OUT);
    const struct rcx_span out = rcx_span_out(s);

    rcx_step_copy(x->b, rcx_block(&gotten, out, s->rank),
                  rcx_block(&given, rcx_span_in(s), s->rank));
    for (int g = 1; g < s->size; g++) {
        const struct rcx_span block =
            rcx_block(&gotten, out, (s->rank + s->size - g) % s->size);

        if (block.count <= x->limit)
            rcx_step_copy(x->b, block, blocks_at(x, x->firsts[g], 1));
    }
}

static void fill_starts(struct exchange *x, size_t count)
{
    size_t at = 0;

    for (size_t k = 0; k < count; k++) {
        x->starts[k] = at;
        if (x->s->passing[k] <= x->limit)
            at += x->s->passing[k];
    }
    x->starts[count] = at;
}

void rcx_pieces_exchange(struct rcx_builder *b, const struct rcx_shape *s,
                         int radix, size_t limit)
{
    const size_t p = (size_t)s->size, count = rcx_pieces_count(s->size, radix);
    const size_t numbers = p + (s->passing ? count + 1 : 0);
    struct exchange x = {
        .b = b, .s = s, .limit = s->passing ? limit : SIZE_MAX};

    x.firsts = rcx_heap_alloc(b->heap, numbers * sizeof *x.firsts);
    if (!x.firsts) {
        rcx_builder_fail(b, RCX_ERR_NOMEM);
        return;
    }
    if (s->passing) {
        x.starts = x.firsts + p;
        fill_starts(&x, count);
    }
    x.came = rcx_span_scratch(b, start_of(&x, count));
    move_all(&x, radix);
    put(&x);
    rcx_heap_free(b->heap, x.firsts);
}
