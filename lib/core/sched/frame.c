/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Frames: translates spans of an inner shape to the outer schedule, and finds
 * how the inner IN and OUT alias there. The builder translates steps.
 */
#include "core/sched/frame.h"

static struct rcx_span least(struct rcx_span span, size_t count)
{
    if (count < span.count)
        span.count = count;
    return span;
}

/* Return the outer place of the part of span that is in one block. */
static struct rcx_span in_block(const struct rcx_frame *f,
                                const struct rcx_shape *s, struct rcx_span span)
{
    const struct rcx_blocks blocks = rcx_blocks_in(s, span.buffer);
    const int i = rcx_block_at(&blocks, span.offset);
    const struct rcx_span block =
        rcx_block(&blocks, (struct rcx_span){.count = blocks.count}, i);
    const size_t at = span.offset - block.offset;

    span.offset = rcx_shape_place(f->shape, span.buffer, i) + at;
    return least(span, block.count - at);
}

struct rcx_span rcx_frame_piece(const struct rcx_frame *f,
                                const struct rcx_shape *s, struct rcx_span span)
{
    const bool is_in = span.buffer == RCX_BUFFER_IN;
    const struct rcx_span base = is_in ? f->in : f->out;
    struct rcx_span piece, next;

    if (span.buffer == RCX_BUFFER_TMP || span.count == 0)
        return span;
    if (!(is_in ? f->in_blocks : f->out_blocks))
        return rcx_span_sub(base, span.offset, span.count);
    piece = in_block(f, s, span);
    while (piece.count <
           span.count) { /* blocks that are adjacent outside, too */
        next = in_block(
            f, s, rcx_span_sub(span, piece.count, span.count - piece.count));
        if (next.offset != piece.offset + piece.count)
            break;
        piece.count += next.count;
    }
    return rcx_span_sub(base, piece.offset, piece.count);
}

/* Return the place of the first piece of span, where aliasing outer buffers
 * count as one. */
static struct rcx_span place_of(const struct rcx_frame *f,
                                const struct rcx_shape *s, struct rcx_span span)
{
    return rcx_shape_resolve(f->shape, rcx_frame_piece(f, s, span));
}

static struct rcx_span rest_of(struct rcx_span span, struct rcx_span piece)
{
    return rcx_span_sub(span, piece.count, span.count - piece.count);
}

/* Whether any piece of out overlaps one of in. */
static bool overlaps(const struct rcx_frame *f, const struct rcx_shape *s,
                     struct rcx_span out, struct rcx_span in)
{
    while (out.count > 0) {
        const struct rcx_span to = place_of(f, s, out);
        struct rcx_span rest = in;

        while (rest.count > 0) {
            const struct rcx_span from = place_of(f, s, rest);

            if (rcx_span_meets(to, from))
                return true;
            rest = rest_of(rest, from);
        }
        out = rest_of(out, to);
    }
    return false;
}

/* Whether two spans of the same length are the same memory. */
static bool is_same(const struct rcx_frame *f, const struct rcx_shape *s,
                    struct rcx_span out, struct rcx_span in)
{
    while (out.count > 0) {
        const struct rcx_span to = place_of(f, s, out);
        const struct rcx_span from = place_of(f, s, in);
        const struct rcx_span piece = least(to, from.count);

        if (to.buffer != from.buffer || to.offset != from.offset)
            return false;
        out = rest_of(out, piece);
        in = rest_of(in, piece);
    }
    return true;
}

/* Whether OUT overlaps IN as alias says. */
static bool lies(const struct rcx_frame *f, const struct rcx_shape *s,
                 enum rcx_alias alias)
{
    struct rcx_span out = rcx_span_out(s), in = rcx_span_in(s);
    const struct rcx_span own = rcx_shape_block(s, s->rank);

    if (!rcx_coll_allows(s->coll, alias))
        return false;
    if (alias == RCX_ALIAS_BLOCK)
        in = rcx_span_sub(in, own.offset, own.count);
    if (alias == RCX_ALIAS_OWN)
        out = rcx_span_sub(out, own.offset, own.count);
    if (alias == RCX_ALIAS_SAME)
        in = least(in, out.count);
    return in.count == out.count && is_same(f, s, out, in);
}

bool rcx_frame_find_alias(const struct rcx_frame *f, struct rcx_shape *s)
{
    const struct rcx_span in = rcx_span_in(s), out = rcx_span_out(s);

    s->alias = RCX_ALIAS_NONE;
    if (in.count == 0 || out.count == 0 ||
        place_of(f, s, in).buffer != place_of(f, s, out).buffer)
        return true;
    for (int alias = RCX_ALIAS_SAME; alias <= RCX_ALIAS_OWN; alias++) {
        if (lies(f, s, (enum rcx_alias)alias)) {
            s->alias = (enum rcx_alias)alias;
            return true;
        }
    }
    return !overlaps(f, s, out, in);
}
