/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Simulates a call as a phase of an outer schedule: builds the outer schedules,
 * and translates the peers of the members' steps back.
 */
#include "sim/framed.h"

#include <string.h>

/* ---- Building ------------------------------------------------------------ */

static struct rcx_shape outside(const struct simulated_call *call, int rank,
                                bool in_place)
{
    struct rcx_shape shape = call->shape;

    shape.coll = RCX_COLL_ALLREDUCE;
    shape.rank = rank;
    shape.size = call->frame->size;
    shape.root = 0;
    shape.displs = NULL;
    shape.count += FRAMED_IN_AT + 1;
    shape.alias = in_place ? RCX_ALIAS_SAME : RCX_ALIAS_NONE;
    return shape;
}

static struct rcx_group group_of(const struct simulated_call *call,
                                 const struct rcx_shape *whole)
{
    const struct simulated_frame *f = call->frame;
    const int n = call->shape.size;

    return f->stride ? rcx_group_strided(whole, f->first, f->stride, n)
                     : rcx_group_listed(whole, f->members, n);
}

static struct rcx_phase phase_of(const struct simulated_call *call)
{
    struct rcx_phase phase = rcx_phase_of(call->algo);

    phase.root = call->shape.root;
    phase.displs = call->shape.displs;
    memcpy(phase.params, call->shape.params, sizeof phase.params);
    return phase;
}

/* If IN and OUT alias: the offset of buffer in the memory that contains
 * both. */
static size_t within(const struct rcx_shape *s, enum rcx_buffer buffer)
{
    const struct rcx_span span = {.buffer = buffer};

    return rcx_shape_resolve(s, span).offset;
}

static size_t in_at(const struct rcx_shape *s)
{
    return FRAMED_IN_AT + within(s, RCX_BUFFER_IN);
}

static size_t out_at(const struct rcx_shape *s)
{
    return s->alias == RCX_ALIAS_NONE
               ? FRAMED_OUT_AT
               : FRAMED_IN_AT + within(s, RCX_BUFFER_OUT);
}

/* Length of the phase's result. For a bcast, out tells every member the length
 * of the vector. */
static size_t result_count(const struct rcx_shape *s)
{
    return s->coll == RCX_COLL_BCAST ? s->count : rcx_shape_out_count(s);
}

/* Allocate scratch for in and out, which alias in the same way as in the
 * call. */
static void take_scratch(struct rcx_builder *b, const struct rcx_shape *s,
                         struct rcx_span *in, struct rcx_span *out)
{
    const size_t ins = rcx_shape_in_count(s), outs = result_count(s);

    rcx_span_scratch(b, 1);
    if (s->alias == RCX_ALIAS_OWN) {
        *out = rcx_span_scratch(b, outs);
        *in = rcx_span_sub(*out, within(s, RCX_BUFFER_IN), ins);
    } else {
        *in = rcx_span_scratch(b, ins);
        *out = s->alias == RCX_ALIAS_NONE
                   ? rcx_span_scratch(b, outs)
                   : rcx_span_sub(*in, within(s, RCX_BUFFER_OUT), outs);
    }
}

void framed_write(struct rcx_builder *b, const struct simulated_call *call,
                  const struct rcx_shape *s, struct rcx_shape *whole)
{
    const struct rcx_phase phase = phase_of(call);
    struct rcx_group g;
    struct rcx_span in, out, from, to;

    *whole = outside(call, call->frame->members[s->rank],
                     s->alias != RCX_ALIAS_NONE);
    g = group_of(call, whole);
    in = rcx_span_sub(rcx_span_in(whole), in_at(s), rcx_shape_in_count(s));
    out = rcx_span_sub(rcx_span_out(whole), out_at(s), result_count(s));
    rcx_builder_begin(b, whole);
    if (!call->frame->in_scratch) {
        rcx_sched_within(b, &phase, &g, in, out);
        return;
    }
    take_scratch(b, s, &from, &to);
    rcx_step_copy(b, from, in);
    rcx_sched_within(b, &phase, &g, from, to);
    rcx_step_copy(b, rcx_span_sub(out, 0, rcx_shape_out_count(s)),
                  rcx_span_sub(to, 0, rcx_shape_out_count(s)));
}

/* ---- Members and other ranks --------------------------------------------- */

static int member_of(const struct simulated_call *call, int rank)
{
    for (int i = 0; i < call->shape.size; i++)
        if (call->frame->members[i] == rank)
            return i;
    return -1;
}

bool framed_take(struct simulation *s, const struct simulated_call *call,
                 struct simulated_rank *rank)
{
    struct rcx_step *steps = (struct rcx_step *)rank->plan->steps;

    rank->in_at = in_at(&rank->shape);
    rank->out_at = out_at(&rank->shape);
    for (uint32_t i = 0; i < rank->plan->step_count; i++) {
        const int peer = steps[i].peer;

        if (!rcx_step_is_message(steps[i].kind))
            continue;
        steps[i].peer = member_of(call, peer);
        if (steps[i].peer < 0) {
            snprintf(s->text, sizeof s->text,
                     "step %u is a message to or from rank %d of the outer "
                     "shape, which is not a member of the group",
                     i, peer);
            return false;
        }
    }
    return true;
}

bool framed_check_others(struct simulation *s, struct rcx_builder *b,
                         const struct simulated_call *call)
{
    const struct rcx_phase phase = phase_of(call);

    for (int r = 0; r < call->frame->size; r++) {
        const struct rcx_shape whole = outside(call, r, false);
        const struct rcx_group g = group_of(call, &whole);

        if (member_of(call, r) >= 0)
            continue;
        rcx_builder_begin(b, &whole);
        rcx_sched_within(b, &phase, &g, rcx_span_in(&whole),
                         rcx_span_out(&whole));
        if (b->status == RCX_ERR_NOMEM)
            return simulation_lacks_memory(s);
        if (b->status != RCX_OK || b->step_count > 0 || b->scratch > 0) {
            snprintf(s->text, sizeof s->text,
                     "rank %d of the outer shape is not a member of the group, "
                     "but has steps or scratch",
                     r);
            return false;
        }
    }
    return true;
}
