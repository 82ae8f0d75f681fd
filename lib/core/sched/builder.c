/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The builder: functions that append a step, and checks that keep a wrong
 * algorithm from accessing memory outside of its buffers. A step of an
 * algorithm in a frame is translated to the outer schedule, and checked there
 * again.
 */
#include <string.h>

#include "core/sched/algo.h"
#include "core/sched/frame.h"

enum { FIRST_CAPACITY = 64 };

void rcx_builder_init(struct rcx_builder *b, struct rcx_heap *heap,
                      const struct rcx_log *log)
{
    *b = (struct rcx_builder){.heap = heap, .log = log};
}

void rcx_builder_free(struct rcx_builder *b)
{
    rcx_heap_free(b->heap, b->steps);
    rcx_heap_free(b->heap, b->work);
    rcx_builder_init(b, b->heap, b->log);
}

void rcx_builder_begin(struct rcx_builder *b, const struct rcx_shape *shape)
{
    b->shape = shape;
    b->frame = NULL;
    b->step_count = 0;
    b->scratch = 0;
    b->pair = b->pair_window = 0;
    b->status = RCX_OK;
}

void rcx_builder_fail(struct rcx_builder *b, rcx_status_t status)
{
    if (b->status == RCX_OK)
        b->status = status;
}

void *rcx_builder_work(struct rcx_builder *b, size_t bytes)
{
    if (bytes > b->work_bytes) {
        rcx_heap_free(b->heap, b->work);
        b->work = rcx_heap_alloc(b->heap, bytes);
        b->work_bytes = b->work ? bytes : 0;
    }
    return b->work;
}

static bool has_room(struct rcx_builder *b)
{
    if (b->step_count < b->step_capacity)
        return true;

    const uint32_t capacity =
        b->step_capacity ? 2 * b->step_capacity : FIRST_CAPACITY;
    struct rcx_step *steps =
        rcx_heap_grow(b->heap, b->steps, b->step_count * sizeof *steps,
                      capacity * sizeof *steps);

    if (!steps) {
        rcx_builder_fail(b, RCX_ERR_NOMEM);
        return false;
    }
    b->steps = steps;
    b->step_capacity = capacity;
    return true;
}

void rcx_builder_refuse(struct rcx_builder *b, const char *why)
{
    if (b->status == RCX_OK)
        b->status = rcx_fail(b->log, RCX_ERR_INTERNAL, "%s, step %u: %s",
                             rcx_coll_name(b->shape->coll), b->step_count, why);
}

static size_t reach_of(const struct rcx_builder *b, enum rcx_buffer buffer)
{
    if (buffer == RCX_BUFFER_TMP)
        return b->scratch;
    return buffer == RCX_BUFFER_IN ? rcx_shape_in_reach(b->shape)
                                   : rcx_shape_out_reach(b->shape);
}

static bool inside(const struct rcx_builder *b, struct rcx_span span)
{
    const size_t reach = reach_of(b, span.buffer);

    return span.offset <= reach && span.count <= reach - span.offset;
}

static bool is_peer(const struct rcx_builder *b, int peer)
{
    return peer >= 0 && peer < b->shape->size && peer != b->shape->rank;
}

struct rcx_span rcx_span_scratch(struct rcx_builder *b, size_t count)
{
    const struct rcx_span span = {
        .buffer = RCX_BUFFER_TMP, .offset = b->scratch, .count = count};

    if (__builtin_add_overflow(b->scratch, count, &b->scratch))
        rcx_builder_fail(b, RCX_ERR_NOMEM);
    return span;
}

/* ---- Steps --------------------------------------------------------------- */

enum { DST, LEFT, RIGHT, SPANS };

static const bool has[RCX_STEP_KINDS][SPANS] = {
    [RCX_STEP_SEND] = {[LEFT] = true},
    [RCX_STEP_RECV] = {[DST] = true},
    [RCX_STEP_COPY] = {[DST] = true, [LEFT] = true},
    [RCX_STEP_REDUCE] = {[DST] = true, [LEFT] = true, [RIGHT] = true}};

/* A step that is being appended. */
struct move {
    enum rcx_step_kind kind;
    int peer; /* of a message; otherwise unused */
    struct rcx_span span[SPANS];
};

static size_t length_of(const struct move *m)
{
    return m->span[has[m->kind][DST] ? DST : LEFT].count;
}

/* Return why the step is not valid; NULL: it is valid. */
static const char *fault_of(const struct rcx_builder *b, const struct move *m)
{
    const struct rcx_span dst = m->span[DST];

    if (rcx_step_is_message(m->kind) && !is_peer(b, m->peer))
        return "no such peer";
    for (int i = 0; i < SPANS; i++) {
        if (!has[m->kind][i])
            continue;
        if (i == DST && dst.buffer == RCX_BUFFER_IN)
            return "writes the operand";
        if (!inside(b, m->span[i]))
            return i == DST ? "writes outside of its buffer"
                            : "reads outside of its buffer";
        if (i == DST || !has[m->kind][DST])
            continue;
        if (m->span[i].count != dst.count)
            return "spans of different lengths";
        if (rcx_span_clash(b->shape, dst, m->span[i]))
            return "the result overlaps an operand";
    }
    return NULL;
}

static void append(struct rcx_builder *b, const struct move *m)
{
    const struct rcx_span *const span = m->span;

    if (has_room(b))
        b->steps[b->step_count++] = (struct rcx_step){
            .kind = (uint8_t)m->kind,
            .peer = rcx_step_is_message(m->kind) ? m->peer : -1,
            .dst = (uint8_t)span[DST].buffer,
            .dst_at = span[DST].offset,
            .left = (uint8_t)span[LEFT].buffer,
            .left_at = span[LEFT].offset,
            .right = (uint8_t)span[RIGHT].buffer,
            .right_at = span[RIGHT].offset,
            .count = length_of(m),
            .pair = b->pair};
}

static void cross(struct rcx_builder *b, const struct move *m);

static void write(struct rcx_builder *b, const struct move *m)
{
    const char *fault;

    if (b->status != RCX_OK)
        return;
    fault = fault_of(b, m);
    if (fault)
        rcx_builder_refuse(b, fault);
    else if (length_of(m) == 0) /* the receiver skips it, too: lengths are
                                   equal */
        return;
    else if (b->frame)
        cross(b, m);
    else
        append(b, m);
}

/* ---- Leaving a frame ----------------------------------------------------- */

/* Set piece to the part of step m, from element from on, whose spans are each
 * contiguous in the outer schedule. m is a step within frame f, of shape s. */
static void set_piece(struct move *piece, const struct rcx_frame *f,
                      const struct rcx_shape *s, const struct move *m,
                      size_t from)
{
    const size_t left = length_of(m) - from;
    size_t count = left;

    for (int i = 0; i < SPANS; i++) {
        if (!has[m->kind][i])
            continue;
        piece->span[i] =
            rcx_frame_piece(f, s, rcx_span_sub(m->span[i], from, left));
        if (piece->span[i].count < count)
            count = piece->span[i].count;
    }
    for (int i = 0; i < SPANS; i++)
        piece->span[i].count = count;
}

static bool is_in_one_place(const struct rcx_builder *b, struct rcx_span span)
{
    return rcx_frame_piece(b->frame, b->shape, span).count == span.count;
}

/* Append step m of the current frame to the outer schedule, in pieces. */
static void leave_frame(struct rcx_builder *b, const struct move *m)
{
    const struct rcx_frame *const f = b->frame;
    const struct rcx_shape *const s = b->shape;
    const size_t length = length_of(m);
    struct move piece = {.kind = m->kind, .peer = m->peer};

    if (rcx_step_is_message(m->kind))
        piece.peer = rcx_group_member(f->group, m->peer);
    b->frame = f->outer;
    b->shape = f->shape;
    for (size_t from = 0; from < length; from += length_of(&piece)) {
        set_piece(&piece, f, s, m, from);
        write(b, &piece);
    }
    b->frame = f;
    b->shape = s;
}

/* Translate step m out of the frame. A message must be contiguous outside. If
 * it is not, it is sent from scratch after a copy, or received in scratch and
 * copied. */
static void cross(struct rcx_builder *b, const struct move *m)
{
    const int end = m->kind == RCX_STEP_SEND ? LEFT : DST;
    struct move whole;

    if (!rcx_step_is_message(m->kind) || is_in_one_place(b, m->span[end])) {
        leave_frame(b, m);
        return;
    }
    whole = *m;
    whole.span[end] = rcx_span_scratch(b, length_of(m));
    if (m->kind == RCX_STEP_SEND)
        rcx_step_copy(b, whole.span[end], m->span[end]);
    leave_frame(b, &whole);
    if (m->kind == RCX_STEP_RECV)
        rcx_step_copy(b, m->span[end], whole.span[end]);
}

/* ---- Functions that append a step ---------------------------------------- */

void rcx_step_send(struct rcx_builder *b, int peer, struct rcx_span src)
{
    write(b, &(struct move){
                 .kind = RCX_STEP_SEND, .peer = peer, .span[LEFT] = src});
}

void rcx_step_recv(struct rcx_builder *b, int peer, struct rcx_span dst)
{
    write(b, &(struct move){
                 .kind = RCX_STEP_RECV, .peer = peer, .span[DST] = dst});
}

void rcx_step_reduce(struct rcx_builder *b, struct rcx_span dst,
                     struct rcx_span left, struct rcx_span right)
{
    write(b, &(struct move){.kind = RCX_STEP_REDUCE,
                            .span[DST] = dst,
                            .span[LEFT] = left,
                            .span[RIGHT] = right});
}

void rcx_step_copy(struct rcx_builder *b, struct rcx_span dst,
                   struct rcx_span src)
{
    const struct rcx_span to = rcx_shape_resolve(b->shape, dst);
    const struct rcx_span from = rcx_shape_resolve(b->shape, src);

    if (to.buffer == from.buffer && to.offset == from.offset && inside(b, src))
        return;
    write(b, &(struct move){
                 .kind = RCX_STEP_COPY, .span[DST] = dst, .span[LEFT] = src});
}

void rcx_step_pair(struct rcx_builder *b, int window)
{
    b->pair++;
    b->pair_window = (uint32_t)window;
}

void rcx_step_ack(struct rcx_builder *b, enum rcx_step_kind kind, int peer)
{
    b->pair = 0;
    append(b, &(struct move){.kind = kind, .peer = peer});
}
