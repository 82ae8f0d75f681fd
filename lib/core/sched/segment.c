/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Cuts an operation into rows of equal segments, and builds the schedule of a
 * row. If a segment is only a part of its blocks, or blocks have places, a
 * frame translates contiguous blocks to their places.
 */
#include "core/sched/segment.h"

#include <stdlib.h>

#include "core/sched/phase.h"

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

rcx_status_t rcx_cutter_open(struct rcx_cutter *c, struct rcx_heap *heap,
                             const struct rcx_shape *whole, size_t limit)
{
    const struct rcx_blocks blocks = rcx_blocks_of(whole);
    const size_t n = (size_t)whole->size;

    *c = (struct rcx_cutter){.heap = heap,
                             .n = 1,
                             .times = 1,
                             .limit = limit ? limit : SIZE_MAX,
                             .largest = whole->count};
    if (rcx_coll_has_blocks(whole->coll)) {
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

/* Return the end of a segment of at most limit elements that starts at done, as
 * an offset in blocks. i: the shortest block that is longer than done. */
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
    if (i == c->n) /* an empty operation has one segment, of width 0 */
        return true;
    end = reach(c, i);
    row->width = end > c->done ? end - c->done : 1;
    if (c->done + row->width <= c->ends[i]) /* equal segments, until a block
                                               ends */
        row->segments = (c->ends[i] - c->done) / row->width;
    c->done += row->segments * row->width;
    return true;
}

static size_t share(const struct rcx_row *row, size_t length)
{
    return length > row->first ? least(length - row->first, row->width) : 0;
}

/* Number of elements of a segment, all blocks together. */
static size_t share_of_all(const struct rcx_row *row,
                           const struct rcx_blocks *blocks)
{
    const struct rcx_span vector = {.count = blocks->count};
    size_t sum = 0;

    for (int i = 0; i < blocks->n; i++)
        sum += share(row, rcx_block(blocks, vector, i).count);
    return sum;
}

size_t rcx_row_out_count(const struct rcx_row *row,
                         const struct rcx_shape *whole)
{
    const struct rcx_blocks blocks = rcx_blocks_in(whole, RCX_BUFFER_OUT);
    const size_t count = rcx_shape_out_count(whole);

    return count > 0 && rcx_coll_out_is_blocks(whole->coll)
               ? share_of_all(row, &blocks)
               : share(row, count);
}

/* ---- Building ------------------------------------------------------------ */

/* Return the starts of a segment's blocks. NULL: blocks are equal, or there is
 * no memory, and the builder has failed. */
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

/* Whether a frame is needed: a segment's blocks are not contiguous. */
static bool is_spread(const struct rcx_shape *whole, const struct rcx_row *row)
{
    const struct rcx_blocks blocks = rcx_blocks_of(whole);

    return whole->in_places.starts || whole->out_places.starts ||
           row->first > 0 || row->width < rcx_blocks_largest(&blocks);
}

/*
 * Build through a frame: the algorithm sees contiguous blocks, and the frame
 * translates each to its place. With irregular blocks and OUT at the start of
 * IN, a result of one block overlaps other blocks than the algorithm assumes.
 * It is computed in scratch then, and copied at the end.
 */
static void build_spread(struct rcx_builder *b, const struct rcx_algo *algo,
                         const struct rcx_shape *whole,
                         const struct rcx_row *row)
{
    size_t *const displs = displs_of(b, whole, row);
    const bool moves = displs && whole->alias == RCX_ALIAS_SAME &&
                       !rcx_coll_out_is_blocks(whole->coll);
    const struct rcx_group all = rcx_group_all(whole);
    const struct rcx_blocks blocks = rcx_blocks_of(whole);
    const size_t got = rcx_row_out_count(row, whole);
    const struct rcx_span out = {.buffer = RCX_BUFFER_OUT, .count = got};
    struct rcx_frame frame = {
        .group = &all,
        .in = {.buffer = RCX_BUFFER_IN, .count = rcx_shape_in_reach(whole)},
        .out = {.buffer = RCX_BUFFER_OUT, .count = rcx_shape_out_reach(whole)},
        .in_blocks = rcx_coll_in_is_blocks(whole->coll),
        .out_blocks = rcx_coll_out_is_blocks(whole->coll)};
    struct rcx_shape part = *whole;

    part.displs = displs;
    part.count = share_of_all(row, &blocks);
    part.in_places = part.out_places = (struct rcx_places){0};
    if (moves)
        frame.out = rcx_span_scratch(b, got);
    rcx_phase_build(b, algo, &part, &frame);
    if (moves)
        rcx_step_copy(b, out, frame.out);
    rcx_heap_free(b->heap, displs);
}

void rcx_row_build(struct rcx_builder *b, const struct rcx_algo *algo,
                   const struct rcx_shape *whole, const struct rcx_row *row)
{
    struct rcx_shape part = *whole;

    rcx_builder_begin(b, whole);
    if (rcx_coll_has_blocks(whole->coll) && is_spread(whole, row)) {
        build_spread(b, algo, whole, row);
        return;
    }
    if (!rcx_coll_has_blocks(whole->coll))
        part.count = row->width;
    b->shape = &part;
    algo->build(b, &part);
    b->shape = whole;
}
