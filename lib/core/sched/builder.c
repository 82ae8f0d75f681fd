/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The builder: verbs that append a step, and checks that keep a wrong
 * algorithm from ever touching memory that is not its own.
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

static bool inside(const struct rcx_builder *b, struct rcx_span span)
{
    const size_t limit[RCX_BUFFER_COUNT] = {
        [RCX_BUFFER_IN] = rcx_shape_in_count(b->shape),
        [RCX_BUFFER_OUT] = rcx_shape_out_count(b->shape),
        [RCX_BUFFER_TMP] = b->scratch,
    };

    return span.offset <= limit[span.buffer] &&
           span.count <= limit[span.buffer] - span.offset;
}

static bool readable(struct rcx_builder *b, struct rcx_span span)
{
    if (inside(b, span))
        return true;
    rcx_builder_refuse(b, "reads outside of its buffer");
    return false;
}

static bool writable(struct rcx_builder *b, struct rcx_span span)
{
    if (span.buffer == RCX_BUFFER_IN)
        rcx_builder_refuse(b, "writes the operand");
    else if (!inside(b, span))
        rcx_builder_refuse(b, "writes outside of its buffer");
    else
        return true;
    return false;
}

static bool is_peer(struct rcx_builder *b, int peer)
{
    if (peer >= 0 && peer < b->shape->size && peer != b->shape->rank)
        return true;
    rcx_builder_refuse(b, "no such peer");
    return false;
}

static void append(struct rcx_builder *b, struct rcx_step step)
{
    if (b->frame)
        rcx_frame_step(b, &step);
    else if (has_room(b))
        b->steps[b->step_count++] = step;
}

void rcx_step_send(struct rcx_builder *b, int peer, struct rcx_span src)
{
    if (b->status != RCX_OK || !is_peer(b, peer) || !readable(b, src))
        return;
    if (src.count > 0) /* the receiver knows as well that nothing comes */
        append(b, (struct rcx_step){.kind = RCX_STEP_SEND,
                                    .peer = peer,
                                    .left = (uint8_t)src.buffer,
                                    .left_at = src.offset,
                                    .count = src.count});
}

void rcx_step_recv(struct rcx_builder *b, int peer, struct rcx_span dst)
{
    if (b->status != RCX_OK || !is_peer(b, peer) || !writable(b, dst))
        return;
    if (dst.count > 0)
        append(b, (struct rcx_step){.kind = RCX_STEP_RECV,
                                    .peer = peer,
                                    .dst = (uint8_t)dst.buffer,
                                    .dst_at = dst.offset,
                                    .count = dst.count});
}

bool rcx_span_clash(const struct rcx_shape *s, struct rcx_span dst,
                    struct rcx_span src)
{
    dst = rcx_shape_resolve(s, dst);
    src = rcx_shape_resolve(s, src);
    return dst.buffer == src.buffer && dst.offset != src.offset &&
           dst.offset < src.offset + src.count &&
           src.offset < dst.offset + dst.count;
}

void rcx_step_reduce(struct rcx_builder *b, struct rcx_span dst,
                     struct rcx_span left, struct rcx_span right)
{
    if (b->status != RCX_OK || !writable(b, dst) || !readable(b, left) ||
        !readable(b, right))
        return;
    if (left.count != dst.count || right.count != dst.count)
        rcx_builder_refuse(b, "operands of different lengths");
    else if (rcx_span_clash(b->shape, dst, left) ||
             rcx_span_clash(b->shape, dst, right))
        rcx_builder_refuse(b, "the result overlaps an operand");
    else if (dst.count > 0)
        append(b, (struct rcx_step){.kind = RCX_STEP_REDUCE,
                                    .peer = -1,
                                    .dst = (uint8_t)dst.buffer,
                                    .dst_at = dst.offset,
                                    .left = (uint8_t)left.buffer,
                                    .left_at = left.offset,
                                    .right = (uint8_t)right.buffer,
                                    .right_at = right.offset,
                                    .count = dst.count});
}

void rcx_step_copy(struct rcx_builder *b, struct rcx_span dst,
                   struct rcx_span src)
{
    if (b->status != RCX_OK || !readable(b, src))
        return;

    const struct rcx_span to = rcx_shape_resolve(b->shape, dst);
    const struct rcx_span from = rcx_shape_resolve(b->shape, src);

    if (to.buffer == from.buffer && to.offset == from.offset)
        return;
    if (!writable(b, dst))
        return;
    if (src.count != dst.count)
        rcx_builder_refuse(b, "copies between different lengths");
    else if (rcx_span_clash(b->shape, dst, src))
        rcx_builder_refuse(b, "copies between overlapping spans");
    else if (dst.count > 0)
        append(b, (struct rcx_step){.kind = RCX_STEP_COPY,
                                    .peer = -1,
                                    .dst = (uint8_t)dst.buffer,
                                    .dst_at = dst.offset,
                                    .left = (uint8_t)src.buffer,
                                    .left_at = src.offset,
                                    .count = dst.count});
}

void rcx_step_credit(struct rcx_builder *b, enum rcx_step_kind kind, int peer)
{
    append(b, (struct rcx_step){.kind = (uint8_t)kind, .peer = peer});
}

struct rcx_span rcx_span_scratch(struct rcx_builder *b, size_t count)
{
    const struct rcx_span span = {RCX_BUFFER_TMP, b->scratch, count};

    if (__builtin_add_overflow(b->scratch, count, &b->scratch))
        rcx_builder_fail(b, RCX_ERR_NOMEM);
    return span;
}
