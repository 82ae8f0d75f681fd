/* SPDX-License-Identifier: BSD-3-Clause */
/* Spans and blocks: arithmetic on parts of a vector, for algorithms and for
 * segments. It knows lengths only; shape.c knows buffers and aliasing. */
#include "core/sched/algo.h"

struct rcx_span rcx_span_part(struct rcx_span span, int n, int i)
{
    const size_t parts = (size_t)n, at = (size_t)i;
    const size_t quotient = span.count / parts, rest = span.count % parts;

    return rcx_span_sub(span, at * quotient + (at < rest ? at : rest),
                        quotient + (at < rest));
}

struct rcx_blocks rcx_blocks_of(const struct rcx_shape *s)
{
    return (struct rcx_blocks){
        .displs = s->displs, .count = s->count, .n = s->size};
}

struct rcx_blocks rcx_blocks_in(const struct rcx_shape *s,
                                enum rcx_buffer buffer)
{
    if (buffer == RCX_BUFFER_IN || !s->gotten)
        return rcx_blocks_of(s);
    return (struct rcx_blocks){
        .displs = s->gotten, .count = s->gotten[s->size], .n = s->size};
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
    const struct rcx_span vector = {.count = blocks->count};
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

struct rcx_span rcx_shape_block(const struct rcx_shape *s, int i)
{
    const struct rcx_blocks blocks = rcx_blocks_of(s);
    const struct rcx_span vector = {.count = s->count};

    return rcx_block(&blocks, vector, i);
}
