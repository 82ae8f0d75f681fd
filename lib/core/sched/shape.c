/* SPDX-License-Identifier: BSD-3-Clause */
/* What a shape says of its buffers: what its collective gives and gets. */
#include "core/sched/algo.h"

static size_t count_of(const struct rcx_shape *s, enum rcx_extent extent)
{
    switch (extent) {
    case RCX_EXTENT_NONE: return 0;
    case RCX_EXTENT_BLOCK: return rcx_shape_block(s, s->rank).count;
    default: return s->count;
    }
}

size_t rcx_shape_in_count(const struct rcx_shape *s)
{
    return rcx_coll_gives(s->coll, s->rank, s->root)
               ? count_of(s, rcx_colls[s->coll].gives)
               : 0;
}

size_t rcx_shape_out_count(const struct rcx_shape *s)
{
    return rcx_coll_gets(s->coll, s->rank, s->root)
               ? count_of(s, rcx_colls[s->coll].gets)
               : 0;
}

struct rcx_span rcx_shape_resolve(const struct rcx_shape *s,
                                  struct rcx_span span)
{
    if (span.buffer != RCX_BUFFER_OUT || s->alias == RCX_ALIAS_NONE)
        return span;
    if (s->alias == RCX_ALIAS_BLOCK)
        span.offset += rcx_shape_block(s, s->rank).offset;
    span.buffer = RCX_BUFFER_IN;
    return span;
}

struct rcx_span rcx_span_in(const struct rcx_shape *s)
{
    return (struct rcx_span){.buffer = RCX_BUFFER_IN,
                             .count = rcx_shape_in_count(s)};
}

struct rcx_span rcx_span_out(const struct rcx_shape *s)
{
    return (struct rcx_span){.buffer = RCX_BUFFER_OUT,
                             .count = rcx_shape_out_count(s)};
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
