/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The combiner: combines operands, which arrive in any order, by the fixed tree
 * of CANONICAL algorithms, and reuses scratch. It sends and receives nothing.
 * tree.h has the contracts.
 */
#include "algo/phase/tree.h"

#include <string.h>

/* Free slots that are kept, so that receives are posted early, and reductions
 * can be fused: an operand that is overwritten later cannot wait. */
enum { SPARE = RCX_FUSED_PARTS };

/* Return the parent of a node; the root is its own parent. Nodes are blocks of
 * 2^k ranks, truncated at size. A truncated block may be the same for several
 * k. */
static struct rcx_interval parent_of(int size, struct rcx_interval node)
{
    const int ranks = node.hi - node.lo;
    unsigned k = (unsigned)rcx_log2_ceil(ranks);
    struct rcx_interval up = node;

    while (up.hi - up.lo == ranks && ranks < size) {
        const int64_t width = INT64_C(1) << ++k;

        up.lo = (int)(node.lo & -width);
        up.hi = up.lo + width < size ? (int)(up.lo + width) : size;
    }
    return up;
}

void rcx_combiner_init(struct rcx_combiner *c, struct rcx_builder *b, int size,
                       struct rcx_span result)
{
    c->b = b;
    c->size = size;
    c->count = result.count;
    c->result = result;
    c->node_count = 0;
    c->slot_count = 0;
}

struct rcx_span rcx_combiner_slot(struct rcx_combiner *c)
{
    struct rcx_span slot;

    if (c->slot_count <= SPARE || c->b->shape->at_once)
        return rcx_span_scratch(c->b, c->count);
    slot = c->slots[0];
    c->slot_count--;
    memmove(&c->slots[0], &c->slots[1],
            (size_t)c->slot_count * sizeof c->slots[0]);
    return slot;
}

static void release(struct rcx_combiner *c, struct rcx_span span)
{
    if (span.buffer == RCX_BUFFER_TMP && c->slot_count < RCX_COMBINER_NODES)
        c->slots[c->slot_count++] = span;
}

/* Take the node of these ranks out of the nodes that wait; false: it does not
 * wait. */
static bool take(struct rcx_combiner *c, struct rcx_interval ranks,
                 struct rcx_span *span_p)
{
    for (int i = 0; i < c->node_count; i++) {
        if (c->nodes[i].ranks.lo == ranks.lo &&
            c->nodes[i].ranks.hi == ranks.hi) {
            *span_p = c->nodes[i].span;
            c->nodes[i] = c->nodes[--c->node_count];
            return true;
        }
    }
    return false;
}

static struct rcx_span place_of(const struct rcx_combiner *c,
                                struct rcx_interval ranks, struct rcx_span left,
                                struct rcx_span right)
{
    const struct rcx_shape *s = c->b->shape;

    if (ranks.lo == 0 && ranks.hi == c->size &&
        !rcx_span_clash(s, c->result, left) &&
        !rcx_span_clash(s, c->result, right))
        return c->result;
    if (left.buffer == RCX_BUFFER_TMP)
        return left;
    if (right.buffer == RCX_BUFFER_TMP)
        return right;
    return rcx_span_scratch(c->b, c->count);
}

/* An operand that the result overwrites in part is copied if all operands are
 * read together. */
static struct rcx_span saved(struct rcx_combiner *c, struct rcx_span span)
{
    struct rcx_span copy = span;

    if (c->b->shape->at_once && rcx_span_clash(c->b->shape, c->result, span)) {
        copy = rcx_span_scratch(c->b, c->count);
        rcx_step_copy(c->b, copy, span);
    }
    return copy;
}

void rcx_combiner_add(struct rcx_combiner *c, int rank, struct rcx_span span)
{
    struct rcx_interval ranks = {.lo = rank, .hi = rank + 1};

    span = saved(c, span);

    while (ranks.hi - ranks.lo < c->size) {
        const struct rcx_interval up = parent_of(c->size, ranks);
        const int mid = rcx_tree_split(up);
        const bool is_left = ranks.lo < mid;
        const struct rcx_interval sibling = {.lo = is_left ? mid : up.lo,
                                             .hi = is_left ? up.hi : mid};
        struct rcx_span other, sum;

        if (!take(c, sibling, &other)) {
            c->nodes[c->node_count].ranks = ranks;
            c->nodes[c->node_count++].span = span;
            return;
        }
        sum = place_of(c, up, is_left ? span : other, is_left ? other : span);
        rcx_step_reduce(c->b, sum, is_left ? span : other,
                        is_left ? other : span);
        if (sum.buffer != span.buffer || sum.offset != span.offset)
            release(c, span);
        if (sum.buffer != other.buffer || sum.offset != other.offset)
            release(c, other);
        span = sum;
        ranks = up;
    }
    /* needed for one operand, and in place if result clashes with an operand */
    if (span.buffer != c->result.buffer)
        rcx_step_copy(c->b, c->result, span);
}
