/* SPDX-License-Identifier: BSD-3-Clause */
#include "core/sched/frame.h"

struct rcx_span rcx_frame_piece(const struct rcx_frame *f,
                                const struct rcx_shape *s, struct rcx_span span)
{
    struct rcx_blocks blocks;
    struct rcx_span from, to;
    size_t at, left;
    int i;

    if (span.buffer == RCX_BUFFER_TMP)
        return span;
    if (span.buffer == RCX_BUFFER_OUT)
        return rcx_span_sub(f->out, span.offset, span.count);
    if (!f->places)
        return rcx_span_sub(f->in, span.offset, span.count);
    blocks = rcx_blocks_of(s);
    i = rcx_block_at(&blocks, span.offset);
    from = rcx_block(&blocks, rcx_span_in(s), i);
    to = rcx_block(f->places, f->in, i);
    at = span.offset - from.offset;
    left = from.count - at;
    return rcx_span_sub(to, at, span.count < left ? span.count : left);
}

/* Where the first piece of a span of IN lies once the outer ones are one. */
static struct rcx_span place_of(const struct rcx_frame *f,
                                const struct rcx_shape *s, struct rcx_span span)
{
    return rcx_shape_resolve(f->shape, rcx_frame_piece(f, s, span));
}

static bool is_equal(struct rcx_span a, struct rcx_span b)
{
    return a.buffer == b.buffer && a.offset == b.offset && a.count == b.count;
}

static bool overlaps(const struct rcx_frame *f, const struct rcx_shape *s,
                     struct rcx_span out)
{
    struct rcx_span rest = rcx_span_in(s);

    if (rcx_shape_resolve(f->shape, f->in).buffer != out.buffer)
        return false;
    while (rest.count > 0) {
        const struct rcx_span piece = place_of(f, s, rest);

        if (piece.offset < out.offset + out.count &&
            out.offset < piece.offset + piece.count)
            return true;
        rest = rcx_span_sub(rest, piece.count, rest.count - piece.count);
    }
    return false;
}

bool rcx_frame_find_alias(const struct rcx_frame *f, struct rcx_shape *s)
{
    const struct rcx_span out = rcx_shape_resolve(f->shape, f->out);
    const struct rcx_span start = {.buffer = RCX_BUFFER_IN, .count = out.count};

    s->alias = RCX_ALIAS_NONE;
    if (out.count == 0 || !overlaps(f, s, out))
        return true;
    if (is_equal(out, place_of(f, s, start)))
        s->alias = RCX_ALIAS_SAME;
    else if (rcx_coll_allows(s->coll, RCX_ALIAS_BLOCK) &&
             is_equal(out, place_of(f, s, rcx_shape_block(s, s->rank))))
        s->alias = RCX_ALIAS_BLOCK;
    return s->alias != RCX_ALIAS_NONE;
}
