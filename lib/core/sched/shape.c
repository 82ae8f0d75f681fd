/* SPDX-License-Identifier: BSD-3-Clause */
/* What a shape says of its buffers, blocks and groups of ranks. */
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

struct rcx_span rcx_shape_block(const struct rcx_shape *s, int i)
{
    const struct rcx_blocks blocks = rcx_blocks_of(s);
    const struct rcx_span vector = {RCX_BUFFER_IN, 0, s->count};

    return rcx_block(&blocks, vector, i);
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
    return (struct rcx_span){RCX_BUFFER_IN, 0, rcx_shape_in_count(s)};
}

struct rcx_span rcx_span_out(const struct rcx_shape *s)
{
    return (struct rcx_span){RCX_BUFFER_OUT, 0, rcx_shape_out_count(s)};
}

struct rcx_span rcx_span_part(struct rcx_span span, int n, int i)
{
    const size_t parts = (size_t)n, at = (size_t)i;
    const size_t quotient = span.count / parts, rest = span.count % parts;

    return rcx_span_sub(span, at * quotient + (at < rest ? at : rest),
                        quotient + (at < rest));
}

struct rcx_blocks rcx_blocks_of(const struct rcx_shape *s)
{
    return (struct rcx_blocks){s->displs, s->count, s->size};
}

struct rcx_span rcx_block(const struct rcx_blocks *blocks, struct rcx_span span,
                          int i)
{
    if (!blocks->displs)
        return rcx_span_part(span, blocks->n, i);
    return rcx_span_sub(span, blocks->displs[i],
                        blocks->displs[i + 1] - blocks->displs[i]);
}

struct rcx_span rcx_block_range(const struct rcx_blocks *blocks,
                                struct rcx_span span, int lo, int hi)
{
    const struct rcx_span first = rcx_block(blocks, span, lo);
    const struct rcx_span last = rcx_block(blocks, span, hi - 1);

    return rcx_span_sub(first, 0, last.offset + last.count - first.offset);
}

int rcx_block_at(const struct rcx_blocks *blocks, size_t element)
{
    const struct rcx_span vector = {RCX_BUFFER_IN, 0, blocks->count};
    int lo = 0, hi = blocks->n - 1;

    while (lo < hi) {
        const int middle = lo + (hi - lo) / 2;
        const struct rcx_span block = rcx_block(blocks, vector, middle);

        if (block.offset + block.count > element)
            hi = middle;
        else
            lo = middle + 1;
    }
    return lo;
}

size_t rcx_blocks_largest(const struct rcx_blocks *blocks)
{
    const size_t n = (size_t)blocks->n;
    size_t largest = 0;

    if (!blocks->displs)
        return blocks->count / n + (blocks->count % n != 0);
    for (size_t i = 0; i < n; i++) {
        const size_t count = blocks->displs[i + 1] - blocks->displs[i];

        largest = count > largest ? count : largest;
    }
    return largest;
}

static int strided_member(const struct rcx_group *g, int i)
{
    return g->a + i * g->b;
}

static int folded_member(const struct rcx_group *g, int i)
{
    return i < g->a ? 2 * i + 1 : i + g->a;
}

static int listed_member(const struct rcx_group *g, int i)
{
    return g->list[i];
}

struct rcx_group rcx_group_strided(const struct rcx_shape *s, int first,
                                   int stride, int size)
{
    const int distance = s->rank - first;
    const bool member =
        distance >= 0 && distance % stride == 0 && distance / stride < size;

    return (struct rcx_group){.size = size,
                              .rank = member ? distance / stride : -1,
                              .member = strided_member,
                              .a = first,
                              .b = stride};
}

struct rcx_group rcx_group_all(const struct rcx_shape *s)
{
    return rcx_group_strided(s, 0, 1, s->size);
}

struct rcx_group rcx_group_folded(const struct rcx_shape *s, int r)
{
    int rank = s->rank - r;

    if (s->rank < 2 * r)
        rank = s->rank % 2 ? s->rank / 2 : -1;
    return (struct rcx_group){
        .size = s->size - r, .rank = rank, .member = folded_member, .a = r};
}

struct rcx_group rcx_group_listed(const struct rcx_shape *s, const int *list,
                                  int size)
{
    struct rcx_group g = {
        .size = size, .rank = -1, .member = listed_member, .list = list};

    for (int i = 0; i < size; i++)
        if (list[i] == s->rank)
            g.rank = i;
    return g;
}
