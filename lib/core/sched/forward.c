/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Lets a step that reads a copy of the operand read the operand itself. A
 * message then does not wait for the copy, which is made while the message
 * travels. It is also sent from memory that has not just been written. So
 * algorithms may begin with a copy of their own block, as the papers do.
 */
#include "core/sched/algo.h"

/* Number of copies that are remembered; a new one replaces the oldest. An
 * algorithm makes a few at its start, or one for each message. */
enum { COPIES = 8 };

struct copies {
    struct rcx_span from[COPIES], to[COPIES];
    unsigned made; /* number of copies so far; the last COPIES of them are
                      remembered */
};

static unsigned count_of(const struct copies *c)
{
    return c->made < COPIES ? c->made : COPIES;
}

static bool is_inside(struct rcx_span part, struct rcx_span whole)
{
    return part.buffer == whole.buffer && part.offset >= whole.offset &&
           part.count <= whole.count &&
           part.offset - whole.offset <= whole.count - part.count;
}

/* Return the place in the operand that span was copied from; else span. */
static struct rcx_span origin_of(const struct copies *c, struct rcx_span span)
{
    for (unsigned i = 0; i < count_of(c); i++)
        if (is_inside(span, c->to[i]))
            return (struct rcx_span){.buffer = c->from[i].buffer,
                                     .offset = c->from[i].offset +
                                               (span.offset - c->to[i].offset),
                                     .count = span.count};
    return span;
}

static void remove_written(struct copies *c, struct rcx_span written)
{
    for (unsigned i = 0; i < count_of(c); i++)
        if (rcx_span_meets(c->to[i], written))
            c->to[i].count = 0;
}

static void note_copy(struct copies *c, const struct rcx_step *step)
{
    const unsigned i = c->made++ % COPIES;

    c->from[i] = rcx_step_left(step);
    c->to[i] = rcx_step_dst(step);
}

static void read_origins(const struct copies *c, struct rcx_step *step)
{
    const struct rcx_span left = origin_of(c, rcx_step_left(step));
    const struct rcx_span right = origin_of(c, rcx_step_right(step));

    if (step->kind != RCX_STEP_RECV) {
        step->left = (uint8_t)left.buffer;
        step->left_at = left.offset;
    }
    if (step->kind == RCX_STEP_REDUCE) {
        step->right = (uint8_t)right.buffer;
        step->right_at = right.offset;
    }
}

void rcx_copies_forward(struct rcx_builder *b)
{
    struct copies copies = {.made = 0};

    if (b->shape->alias != RCX_ALIAS_NONE) /* IN may be written through OUT */
        return;
    for (uint32_t i = 0; i < b->step_count; i++) {
        struct rcx_step *step = &b->steps[i];

        if (step->count == 0)
            continue;
        read_origins(&copies, step);
        if (step->kind == RCX_STEP_SEND)
            continue;
        remove_written(&copies, rcx_step_dst(step));
        if (step->kind == RCX_STEP_COPY && step->left == RCX_BUFFER_IN)
            note_copy(&copies, step);
    }
}
