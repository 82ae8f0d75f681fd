/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * An algorithm writes the schedule of a segment as if its blocks lay side by
 * side. In reduce_scatter they do not: spread() moves every span to where its
 * blocks are, and cuts what crosses from one block into the next.
 */
#include "core/sched/segment.h"

#include <stdlib.h>
#include <string.h>

static size_t least(size_t a, size_t b)
{
    return a < b ? a : b;
}

/* ---- Cutting ------------------------------------------------------------- */

static int by_length(const void *a, const void *b)
{
    const size_t x = *(const size_t *)a, y = *(const size_t *)b;

    return x < y ? -1 : x > y;
}

static bool scatters(const struct rcx_shape *s)
{
    return s->coll == RCX_COLL_REDUCE_SCATTER;
}

rcx_status_t rcx_cutter_open(struct rcx_cutter *c, struct rcx_heap *heap,
                             const struct rcx_shape *whole, size_t limit)
{
    const struct rcx_blocks blocks = rcx_blocks_of(whole);
    const size_t n = (size_t)whole->size;

    *c = (struct rcx_cutter){.heap = heap, .n = 1, .times = 1,
                             .limit = limit ? limit : SIZE_MAX,
                             .largest = whole->count};
    if (scatters(whole)) {
        c->largest = rcx_blocks_largest(&blocks);
        c->times = n;
    }
    if (!limit || !whole->displs) {
        c->ends = &c->largest;
        return RCX_OK;
    }
    c->n = n;
    c->times = 1;
    c->ends = rcx_heap_alloc(heap, n * sizeof *c->ends);
    if (!c->ends)
        return RCX_ERR_NOMEM;
    for (size_t i = 0; i < n; i++)
        c->ends[i] = whole->displs[i + 1] - whole->displs[i];
    qsort(c->ends, n, sizeof *c->ends, by_length);
    return RCX_OK;
}

void rcx_cutter_close(struct rcx_cutter *c)
{
    if (c->ends != &c->largest)
        rcx_heap_free(c->heap, c->ends);
}

void rcx_cutter_rewind(struct rcx_cutter *c)
{
    c->done = 0;
    c->begun = false;
}

/* How far a segment from done on comes before it has limit elements; i: the
 * first block that goes on. */
static size_t reach(const struct rcx_cutter *c, size_t i)
{
    size_t at = c->done, room = c->limit;

    for (; i < c->n; i++) {
        const size_t width = room / ((c->n - i) * c->times);

        if (width < c->ends[i] - at)
            return at + width;
        room -= (c->ends[i] - at) * (c->n - i) * c->times;
        at = c->ends[i];
    }
    return at;
}

bool rcx_cutter_next(struct rcx_cutter *c, struct rcx_row *row)
{
    size_t i = 0, end;

    while (i < c->n && c->ends[i] <= c->done)
        i++;
    if (i == c->n && c->begun)
        return false;
    c->begun = true;
    *row = (struct rcx_row){.first = c->done, .segments = 1};
    if (i == c->n) /* nothing to do, but that has to be done */
        return true;
    end = reach(c, i);
    row->width = end > c->done ? end - c->done : 1;
    if (c->done + row->width <= c->ends[i]) /* while no block ends */
        row->segments = (c->ends[i] - c->done) / row->width;
    c->done += row->segments * row->width;
    return true;
}

static size_t share(const struct rcx_row *row, size_t length)
{
    return length > row->first ? least(length - row->first, row->width) : 0;
}

size_t rcx_row_out_count(const struct rcx_row *row,
                         const struct rcx_shape *whole)
{
    return share(row, rcx_shape_out_count(whole));
}

/* ---- Spreading ----------------------------------------------------------- */

struct spread {
    struct rcx_builder *b;
    struct rcx_blocks from; /* of the segment, side by side */
    struct rcx_blocks to;   /* of the vector */
    struct rcx_span out;    /* stands for OUT */
};

static struct rcx_span block(const struct rcx_blocks *blocks, int i)
{
    return rcx_block(blocks,
                     (struct rcx_span){RCX_BUFFER_IN, 0, blocks->count}, i);
}

/* Where the first part of span lies that stays in one piece. */
static struct rcx_span first_piece(const struct spread *s,
                                   struct rcx_span span)
{
    if (span.buffer == RCX_BUFFER_OUT)
        return rcx_span_sub(s->out, span.offset, span.count);
    if (span.buffer == RCX_BUFFER_TMP)
        return span;

    const int i = rcx_block_at(&s->from, span.offset);
    const struct rcx_span from = block(&s->from, i), to = block(&s->to, i);
    const size_t at = span.offset - from.offset;

    return rcx_span_sub(to, at, least(span.count, from.count - at));
}

static struct rcx_span rest_of(struct rcx_span span, size_t count)
{
    return rcx_span_sub(span, count, span.count - count);
}

static void copy(const struct spread *s, struct rcx_span dst,
                 struct rcx_span src)
{
    while (src.count > 0) {
        const struct rcx_span piece = first_piece(s, src);

        rcx_step_copy(s->b, rcx_span_sub(dst, 0, piece.count), piece);
        dst = rest_of(dst, piece.count);
        src = rest_of(src, piece.count);
    }
}

static void reduce(const struct spread *s, struct rcx_span dst,
                   struct rcx_span left, struct rcx_span right)
{
    while (dst.count > 0) {
        const struct rcx_span l = first_piece(s, left);
        const struct rcx_span r = first_piece(s, right);
        const size_t count = least(l.count, r.count);

        rcx_step_reduce(s->b, rcx_span_sub(dst, 0, count),
                        rcx_span_sub(l, 0, count), rcx_span_sub(r, 0, count));
        dst = rest_of(dst, count);
        left = rest_of(left, count);
        right = rest_of(right, count);
    }
}

/* A message goes from one place: pieces are brought together before. */
static void send(const struct spread *s, int peer, struct rcx_span src)
{
    struct rcx_span piece = first_piece(s, src);

    if (piece.count < src.count) {
        piece = rcx_span_scratch(s->b, src.count);
        copy(s, piece, src);
    }
    rcx_step_send(s->b, peer, piece);
}

static void spread_step(const struct spread *s, const struct rcx_step *step)
{
    const struct rcx_span left = {step->left, step->left_at, step->count};
    const struct rcx_span right = {step->right, step->right_at, step->count};
    struct rcx_span dst = {step->dst, step->dst_at, step->count};

    if (step->kind != RCX_STEP_SEND)
        dst = first_piece(s, dst); /* not of IN, so in one piece */
    switch (step->kind) {
    case RCX_STEP_SEND:
        send(s, step->peer, left);
        break;
    case RCX_STEP_RECV:
        rcx_step_recv(s->b, step->peer, dst);
        break;
    case RCX_STEP_COPY:
        copy(s, dst, left);
        break;
    default:
        reduce(s, dst, left, right);
    }
}

static void spread(struct rcx_builder *b, const struct rcx_shape *part,
                   const struct rcx_shape *whole)
{
    const uint32_t n = b->step_count;
    const size_t bytes = n * sizeof *b->steps;
    struct spread s = {.b = b, .from = rcx_blocks_of(part),
                       .to = rcx_blocks_of(whole),
                       .out = rcx_span_out(whole)};
    struct rcx_step *steps = rcx_heap_alloc(b->heap, bytes + 1);

    if (!steps) {
        rcx_builder_fail(b, RCX_ERR_NOMEM);
        return;
    }
    if (n > 0)
        memcpy(steps, b->steps, bytes);
    b->step_count = 0;
    b->shape = whole;
    if (part->alias != whole->alias)
        s.out = rcx_span_scratch(b, rcx_shape_out_count(part));
    for (uint32_t i = 0; i < n; i++)
        spread_step(&s, &steps[i]);
    if (part->alias != whole->alias)
        rcx_step_copy(b, rcx_span_sub(rcx_span_out(whole), 0, s.out.count),
                      s.out);
    rcx_heap_free(b->heap, steps);
}

/* ---- Building ------------------------------------------------------------ */

/* The segment's blocks; NULL where they are equal, or there is no memory. */
static size_t *displs_of(struct rcx_builder *b, const struct rcx_shape *whole,
                         const struct rcx_row *row)
{
    const size_t n = (size_t)whole->size;
    size_t *displs;

    if (!whole->displs)
        return NULL;
    displs = rcx_heap_alloc(b->heap, (n + 1) * sizeof *displs);
    if (!displs) {
        rcx_builder_fail(b, RCX_ERR_NOMEM);
        return NULL;
    }
    displs[0] = 0;
    for (size_t i = 0; i < n; i++)
        displs[i + 1] =
            displs[i] + share(row, whole->displs[i + 1] - whole->displs[i]);
    return displs;
}

static bool is_cut(const struct rcx_shape *whole, const struct rcx_row *row)
{
    const struct rcx_blocks blocks = rcx_blocks_of(whole);

    return row->first > 0 || row->width < rcx_blocks_largest(&blocks);
}

static void build_spread(struct rcx_builder *b, const struct rcx_algo *algo,
                         const struct rcx_shape *whole,
                         const struct rcx_row *row)
{
    struct rcx_shape part = *whole;
    size_t *const displs = displs_of(b, whole, row);

    part.displs = displs;
    part.count = displs ? displs[whole->size]
                        : row->width * (size_t)whole->size;
    /*
     * Over the start of IN, the result of a segment covers other blocks than
     * the algorithm would think. It is moved there at the end.
     */
    if (displs && whole->alias == RCX_ALIAS_SAME)
        part.alias = RCX_ALIAS_NONE;
    b->shape = &part;
    if (b->status == RCX_OK)
        algo->build(b, &part);
    if (b->status == RCX_OK)
        spread(b, &part, whole);
    b->shape = whole;
    rcx_heap_free(b->heap, displs);
}

void rcx_row_build(struct rcx_builder *b, const struct rcx_algo *algo,
                   const struct rcx_shape *whole, const struct rcx_row *row)
{
    struct rcx_shape part = *whole;

    rcx_builder_begin(b, whole);
    if (scatters(whole) && is_cut(whole, row)) {
        build_spread(b, algo, whole, row);
        return;
    }
    if (!scatters(whole))
        part.count = row->width;
    b->shape = &part;
    algo->build(b, &part);
    b->shape = whole;
}
