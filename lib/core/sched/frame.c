/* SPDX-License-Identifier: BSD-3-Clause */
#include "core/sched/frame.h"

#include <string.h>

#include "core/sched/params.h"

/* ---- From inside to outside ---------------------------------------------- */

/* Where the first part of span, of the frame's s, lies that stays in one
 * piece. */
static struct rcx_span first_piece(const struct rcx_frame *f,
                                   const struct rcx_shape *s,
                                   struct rcx_span span)
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

static struct rcx_span rest_of(struct rcx_span span, size_t count)
{
    return rcx_span_sub(span, count, span.count - count);
}

/* A step on its way out; b is outside already. */
struct crossing {
    struct rcx_builder *b;
    const struct rcx_frame *f;
    const struct rcx_shape *s; /* of inside */
};

static void copy(const struct crossing *c, struct rcx_span dst,
                 struct rcx_span src)
{
    while (src.count > 0) {
        const struct rcx_span piece = first_piece(c->f, c->s, src);

        rcx_step_copy(c->b, rcx_span_sub(dst, 0, piece.count), piece);
        dst = rest_of(dst, piece.count);
        src = rest_of(src, piece.count);
    }
}

static void reduce(const struct crossing *c, struct rcx_span dst,
                   struct rcx_span left, struct rcx_span right)
{
    while (dst.count > 0) {
        const struct rcx_span l = first_piece(c->f, c->s, left);
        const struct rcx_span r = first_piece(c->f, c->s, right);
        const size_t count = l.count < r.count ? l.count : r.count;

        rcx_step_reduce(c->b, rcx_span_sub(dst, 0, count),
                        rcx_span_sub(l, 0, count), rcx_span_sub(r, 0, count));
        dst = rest_of(dst, count);
        left = rest_of(left, count);
        right = rest_of(right, count);
    }
}

/* A message goes from one place: pieces are brought together before. */
static void send(const struct crossing *c, int peer, struct rcx_span src)
{
    struct rcx_span piece = first_piece(c->f, c->s, src);

    if (piece.count < src.count) {
        piece = rcx_span_scratch(c->b, src.count);
        copy(c, piece, src);
    }
    rcx_step_send(c->b, peer, piece);
}

static void cross(const struct crossing *c, const struct rcx_step *step)
{
    const struct rcx_span left = {step->left, step->left_at, step->count};
    const struct rcx_span right = {step->right, step->right_at, step->count};
    struct rcx_span dst = {step->dst, step->dst_at, step->count};
    int peer = -1;

    if (rcx_step_is_message(step->kind))
        peer = rcx_group_member(c->f->group, step->peer);
    if (step->kind != RCX_STEP_SEND)
        dst = first_piece(c->f, c->s, dst); /* not of IN, so in one piece */
    switch (step->kind) {
    case RCX_STEP_SEND: send(c, peer, left); break;
    case RCX_STEP_RECV: rcx_step_recv(c->b, peer, dst); break;
    case RCX_STEP_COPY: copy(c, dst, left); break;
    default: reduce(c, dst, left, right);
    }
}

void rcx_frame_step(struct rcx_builder *b, const struct rcx_step *step)
{
    const struct crossing c = {b, b->frame, b->shape};

    b->frame = c.f->outer;
    b->shape = c.f->shape;
    cross(&c, step);
    b->frame = c.f;
    b->shape = c.s;
}

/* ---- How OUT lies over IN ------------------------------------------------ */

/* Where the first piece of a span of IN lies once the outer ones are one. */
static struct rcx_span place_of(const struct rcx_frame *f,
                                const struct rcx_shape *s, struct rcx_span span)
{
    return rcx_shape_resolve(f->shape, first_piece(f, s, span));
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
        rest = rest_of(rest, piece.count);
    }
    return false;
}

/* False: only a part of the operand is in the result's place. */
static bool find_alias(const struct rcx_frame *f, struct rcx_shape *s)
{
    const struct rcx_span out = rcx_shape_resolve(f->shape, f->out);
    const struct rcx_span start = {RCX_BUFFER_IN, 0, out.count};

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

/* ---- Building ------------------------------------------------------------ */

void rcx_frame_build(struct rcx_builder *b, const struct rcx_algo *algo,
                     struct rcx_shape *s, struct rcx_frame *f)
{
    if (b->status != RCX_OK)
        return;
    f->outer = b->frame;
    f->shape = b->shape;
    if (!find_alias(f, s)) {
        rcx_builder_refuse(b, "a phase's result overlaps part of its operand");
        return;
    }
    b->frame = f;
    b->shape = s;
    algo->build(b, s);
    b->frame = f->outer;
    b->shape = f->shape;
}

struct rcx_phase rcx_phase_of(const struct rcx_algo *algo)
{
    struct rcx_phase phase = {.algo = algo};

    rcx_params_reset(algo, phase.params);
    return phase;
}

struct rcx_shape rcx_phase_shape(const struct rcx_phase *phase,
                                 const struct rcx_shape *outer, int size,
                                 size_t count)
{
    struct rcx_shape s = {.coll = phase->algo->coll,
                          .size = size,
                          .root = phase->root,
                          .count = count,
                          .displs = phase->displs,
                          .elem_bytes = outer->elem_bytes,
                          .commutative = outer->commutative};

    memcpy(s.params, phase->params, sizeof s.params);
    rcx_params_settle(phase->algo, &s, &rcx_machine_usual);
    return s;
}

/* NULL: nothing is wrong. */
static const char *fault_of(const struct rcx_shape *s,
                            const struct rcx_shape *outer,
                            const struct rcx_frame *f)
{
    const size_t result = rcx_shape_out_count(s);

    if (rcx_group_member(f->group, s->rank) != outer->rank)
        return "a phase's group has another rank in this one's place";
    if (s->root < 0 || s->root >= s->size)
        return "a phase's root is no member of its group";
    if (s->displs && (s->displs[0] != 0 || s->displs[s->size] != s->count))
        return "a phase's blocks do not cover its operand";
    if (result > 0 && f->out.count != result)
        return "a phase's result has another length";
    return NULL;
}

void rcx_sched_within(struct rcx_builder *b, const struct rcx_phase *phase,
                      const struct rcx_group *g, struct rcx_span in,
                      struct rcx_span out)
{
    const struct rcx_algo *algo = phase->algo;
    struct rcx_shape s;
    struct rcx_frame f = {.group = g, .in = in, .out = out};
    const char *fault;

    if (b->status != RCX_OK || g->rank < 0)
        return;
    s = rcx_phase_shape(phase, b->shape, g->size, in.count);
    s.rank = g->rank;
    fault = fault_of(&s, b->shape, &f);
    if (fault) {
        rcx_builder_refuse(b, fault);
        return;
    }
    if (!rcx_algo_fits(algo, &s)) {
        b->status = rcx_fail(b->log, RCX_ERR_UNSUPPORTED,
                             "%s %s does not work as a phase on %d ranks: it "
                             "needs %s",
                             rcx_coll_name(algo->coll), algo->name, s.size,
                             algo->needs);
        return;
    }
    if (rcx_shape_out_count(&s) == 0)
        f.out.count = 0;
    rcx_frame_build(b, algo, &s, &f);
}
