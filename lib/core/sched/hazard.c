/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Finds the dependencies between steps, from overlapping spans.
 *
 * The starts and ends of all spans cut the buffers into cells that no span
 * crosses. There are few: an algorithm that halves has O(log p), a ring p. Each
 * cell remembers the step that wrote it last, and the steps that have read it
 * since. Steps are visited in program order. A step that reads a cell waits for
 * its writer. A step that writes a cell waits for its readers, or for its
 * writer if there are none.
 */
#include <stdlib.h>
#include <string.h>

#include "core/sched/schedule.h"

enum { NONE = 0 }; /* cells and lists of readers count steps from 1 */

struct cell {
    uint32_t writer;
    uint32_t readers; /* head of a list in space->readers, plus one */
};

struct reader {
    uint32_t step;
    uint32_t next;
};

/* A map from a cell's start to its index, with open addressing. */
struct slot {
    uint64_t start; /* the start plus one; 0: empty */
    uint32_t index;
};

struct start {
    uint64_t position;
    uint32_t slot;
};

/* A span that a step reads or writes. */
struct touch {
    uint32_t step;
    uint32_t from, to; /* slots of its start and end */
    bool writes;
};

struct space {
    const struct rcx_shape *shape;
    struct slot *slots;
    uint64_t mask;
    struct touch *touches; /* in program order */
    uint32_t touch_count;
    struct start *starts; /* starts of cells */
    uint32_t start_count;
    struct cell *cells;
    struct reader *readers; /* grows, since a step may read many cells */
    uint32_t reader_count;
    uint32_t reader_capacity;
    struct rcx_heap *heap;
    bool failed;
};

void rcx_edge_add(struct rcx_edges *edges, uint32_t from, uint32_t to)
{
    if (edges->last_to[from] == to + 1)
        return;
    edges->last_to[from] = to + 1;
    if (edges->count == edges->capacity) {
        const size_t capacity = 2 * edges->capacity;
        struct rcx_edge *grown = rcx_heap_grow(edges->heap, edges->list,
                                               edges->count * sizeof *grown,
                                               capacity * sizeof *grown);

        if (!grown) {
            edges->failed = true;
            return;
        }
        edges->list = grown;
        edges->capacity = capacity;
    }
    edges->list[edges->count++] = (struct rcx_edge){.from = from, .to = to};
}

/* Map an element to a position: all buffers are far apart on one axis. */
static uint64_t position(enum rcx_buffer buffer, size_t offset)
{
    return ((uint64_t)buffer << 61) + offset;
}

/* Return the slot of start; add it if it is new. */
static uint32_t add_start(struct space *space, uint64_t start)
{
    uint64_t at = (start * UINT64_C(0x9E3779B97F4A7C15)) >> 20 & space->mask;

    while (space->slots[at].start != start + 1 && space->slots[at].start != 0)
        at = (at + 1) & space->mask;
    if (space->slots[at].start == 0) {
        space->slots[at].start = start + 1;
        space->starts[space->start_count++] =
            (struct start){start, (uint32_t)at};
    }
    return (uint32_t)at;
}

static void add_touch(struct space *space, uint32_t step, struct rcx_span span,
                      bool writes)
{
    const struct rcx_span at = rcx_shape_resolve(space->shape, span);
    const uint64_t start = position(at.buffer, at.offset);

    space->touches[space->touch_count++] =
        (struct touch){.step = step,
                       .from = add_start(space, start),
                       .to = add_start(space, start + at.count),
                       .writes = writes};
}

/* Add the spans of step i: those it reads before the one it writes. */
static void add_step(struct space *space, uint32_t i,
                     const struct rcx_step *step)
{
    if (step->count == 0)
        return;
    if (step->kind != RCX_STEP_RECV)
        add_touch(space, i, rcx_step_left(step), false);
    if (step->kind == RCX_STEP_REDUCE)
        add_touch(space, i, rcx_step_right(step), false);
    if (step->kind != RCX_STEP_SEND)
        add_touch(space, i, rcx_step_dst(step), true);
}

static int by_position(const void *a, const void *b)
{
    const struct start *x = a, *y = b;

    return x->position < y->position ? -1 : x->position > y->position;
}

static void cut_into_cells(struct space *space, const struct rcx_step *steps,
                           uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        add_step(space, i, &steps[i]);
    qsort(space->starts, space->start_count, sizeof *space->starts,
          by_position);
    for (uint32_t i = 0; i < space->start_count; i++)
        space->slots[space->starts[i].slot].index = i;
}

static void add_reader(struct space *space, struct cell *cell, uint32_t step)
{
    if (space->reader_count == space->reader_capacity) {
        const uint32_t capacity = 2 * space->reader_capacity;
        struct reader *grown = rcx_heap_grow(
            space->heap, space->readers, space->reader_count * sizeof *grown,
            capacity * sizeof *grown);

        if (!grown) {
            space->failed = true;
            return;
        }
        space->readers = grown;
        space->reader_capacity = capacity;
    }
    space->readers[space->reader_count] =
        (struct reader){step + 1, cell->readers};
    cell->readers = ++space->reader_count;
}

static void read_cell(struct space *space, struct cell *cell, uint32_t step,
                      struct rcx_edges *edges)
{
    if (cell->writer != NONE)
        rcx_edge_add(edges, cell->writer - 1, step);
    add_reader(space, cell, step);
}

static void write_cell(struct space *space, struct cell *cell, uint32_t step,
                       struct rcx_edges *edges)
{
    if (cell->readers == NONE && cell->writer != NONE)
        rcx_edge_add(edges, cell->writer - 1, step);
    for (uint32_t at = cell->readers; at != NONE;) {
        const struct reader *reader = &space->readers[at - 1];

        if (reader->step - 1 != step)
            rcx_edge_add(edges, reader->step - 1, step);
        at = reader->next;
    }
    *cell = (struct cell){.writer = step + 1, .readers = NONE};
}

static void touch(struct space *space, const struct touch *t,
                  struct rcx_edges *edges)
{
    const uint32_t first = space->slots[t->from].index;
    const uint32_t last = space->slots[t->to].index;

    for (uint32_t i = first; i < last && !space->failed; i++) {
        if (t->writes)
            write_cell(space, &space->cells[i], t->step, edges);
        else
            read_cell(space, &space->cells[i], t->step, edges);
    }
}

static size_t slots_for(uint32_t steps)
{
    size_t slots = 64;

    while (slots < (size_t)steps * 2 * 6) /* six ends a step, at most half
                                             full */
        slots *= 2;
    return slots;
}

rcx_status_t rcx_hazards_find(struct rcx_builder *b, struct rcx_edges *edges)
{
    const uint32_t n = b->step_count;
    const size_t slots = slots_for(n), starts = 6 * (size_t)n + 1;
    const size_t touches = 3 * (size_t)n;
    struct space space = {.shape = b->shape,
                          .mask = slots - 1,
                          .reader_capacity = 4 * n + 1,
                          .heap = b->heap};
    char *work = rcx_builder_work(
        b, slots * sizeof *space.slots + starts * sizeof *space.starts +
               touches * sizeof *space.touches + starts * sizeof *space.cells);

    space.readers =
        rcx_heap_alloc(b->heap, space.reader_capacity * sizeof *space.readers);
    if (!work || !space.readers) {
        rcx_heap_free(b->heap, space.readers);
        return RCX_ERR_NOMEM;
    }
    space.slots = (void *)work;
    space.starts = (void *)(space.slots + slots);
    space.touches = (void *)(space.starts + starts);
    space.cells = (void *)(space.touches + touches);
    memset(space.slots, 0, slots * sizeof *space.slots);
    cut_into_cells(&space, b->steps, n);
    memset(space.cells, 0, space.start_count * sizeof *space.cells);

    for (uint32_t i = 0; i < space.touch_count && !space.failed; i++)
        touch(&space, &space.touches[i], edges);
    rcx_heap_free(b->heap, space.readers);
    return space.failed || edges->failed ? RCX_ERR_NOMEM : RCX_OK;
}
