/* SPDX-License-Identifier: BSD-3-Clause */
/* Shapes: the lengths of a collective's IN and OUT on this rank, the places of
 * their blocks, and their overlap. */
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
    if (!rcx_coll_gets(s->coll, s->rank, s->root))
        return 0;
    return s->gotten ? s->gotten[s->size]
                     : count_of(s, rcx_colls[s->coll].gets);
}

static size_t reach_of(const size_t edges[], size_t numbers)
{
    size_t reach = 0;

    for (size_t i = 0; i < numbers; i += RCX_EDGE_NUMBERS) {
        const size_t end =
            edges[i + RCX_EDGE_START] + edges[i + RCX_EDGE_COUNT];

        reach = end > reach ? end : reach;
    }
    return reach;
}

struct rcx_neighbors rcx_neighbors_of(const size_t to[], size_t to_numbers,
                                      const size_t from[], size_t from_numbers)
{
    return (struct rcx_neighbors){.to = to,
                                  .from = from,
                                  .tos = to_numbers / RCX_EDGE_NUMBERS,
                                  .froms = from_numbers / RCX_EDGE_NUMBERS,
                                  .in_reach = reach_of(to, to_numbers),
                                  .out_reach = reach_of(from, from_numbers)};
}

size_t rcx_shape_in_reach(const struct rcx_shape *s)
{
    if (s->neighbors)
        return s->neighbors->in_reach;
    return s->in_places.starts ? s->in_places.reach : rcx_shape_in_count(s);
}

size_t rcx_shape_out_reach(const struct rcx_shape *s)
{
    if (s->neighbors)
        return s->neighbors->out_reach;
    return s->out_places.starts ? s->out_places.reach : rcx_shape_out_count(s);
}

size_t rcx_shape_place(const struct rcx_shape *s, enum rcx_buffer buffer, int i)
{
    const struct rcx_places *places =
        buffer == RCX_BUFFER_IN ? &s->in_places : &s->out_places;
    const struct rcx_blocks blocks = rcx_blocks_in(s, buffer);
    const struct rcx_span vector = {.count = blocks.count};

    return places->starts ? places->starts[i]
                          : rcx_block(&blocks, vector, i).offset;
}

struct rcx_span rcx_shape_resolve(const struct rcx_shape *s,
                                  struct rcx_span span)
{
    const enum rcx_buffer moved =
        s->alias == RCX_ALIAS_OWN ? RCX_BUFFER_IN : RCX_BUFFER_OUT;
    const enum rcx_buffer to =
        moved == RCX_BUFFER_IN ? RCX_BUFFER_OUT : RCX_BUFFER_IN;

    if (span.buffer != moved || s->alias == RCX_ALIAS_NONE)
        return span;
    if (s->alias != RCX_ALIAS_SAME)
        span.offset += rcx_shape_place(s, to, s->rank);
    span.buffer = to;
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

struct rcx_span rcx_span_vector(const struct rcx_shape *s)
{
    return rcx_coll_gives(s->coll, s->rank, s->root) ? rcx_span_in(s)
                                                     : rcx_span_out(s);
}

bool rcx_span_clash(const struct rcx_shape *s, struct rcx_span dst,
                    struct rcx_span src)
{
    dst = rcx_shape_resolve(s, dst);
    src = rcx_shape_resolve(s, src);
    return dst.offset != src.offset && rcx_span_meets(dst, src);
}
