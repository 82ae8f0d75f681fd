/* SPDX-License-Identifier: BSD-3-Clause */
/* The way into RCX and out of it, for every public function. */
#ifndef RCX_CORE_RUN_WAIT_ENTER_H
#define RCX_CORE_RUN_WAIT_ENTER_H

#include "core/base/clock.h"
#include "core/run/detect/detector.h"
#include "core/run/object/comm.h"
#include "core/run/request/callback.h"
#include "core/run/request/request.h"
#include "core/run/wait/progress.h"
#include "core/run/wait/sleep.h"

/* Every public function that touches more than constants of a context stands
 * between these two. */
static inline rcx_status_t rcx_enter(struct rcx_context *context)
{
    return context->threads == RCX_THREAD_SINGLE
               ? rcx_guard_enter_alone(context->guard, &context->log)
               : rcx_guard_enter(context->guard, &context->log);
}

static inline void rcx_leave(struct rcx_context *context)
{
    if (__builtin_expect(context->callbacks.first != NULL, 0))
        rcx_callbacks_make(&context->callbacks, context->guard);
    else
        rcx_guard_leave(context->guard);
}

/* It has begun: one thread that waits may be asleep, and knows nothing of it, or
 * this is the message that it waits for. Where it could not be sent, others hear of
 * that now, whenever the user comes back. */
static inline void rcx_request_set_off(struct rcx_request *r)
{
    struct rcx_context *context = r->comm->context;

    if (__builtin_expect(rcx_attention_is_raised(&context->detector.attention),
                         0))
        rcx_detector_poll(context);
    if (r->state == RCX_REQUEST_ACTIVE || r->program->is_p2p)
        rcx_wake_sleeper(&context->sleeper);
}

/* MULTIPLE: the one thread that may start a collective. */
rcx_status_t rcx_comm_claim(struct rcx_comm *comm);
static inline void rcx_comm_unclaim(struct rcx_comm *comm)
{
    atomic_store_explicit(&comm->starting, false, memory_order_release);
}

/*
 * A collective call began at ticks. Who has not been here for long may have
 * missed that a communicator failed, and that its peers have left: that is seen
 * to first; if it was less long, once the call's messages are on their way.
 */
static inline void rcx_note_call(struct rcx_context *context, uint64_t ticks)
{
    const int64_t away = rcx_progress_away(&context->progress, ticks);

    if (__builtin_expect(away > RCX_AWAY_TICKS, 0)) {
        context->progress.turns = RCX_PROGRESS_TURNS;
        if (away > RCX_LONG_AWAY_TICKS)
            rcx_context_catch_up(context);
    }
    context->progress.ticks = ticks;
}

/* Of who has nothing to wait for: call after call, it hears of what happens all
 * the same. */
static inline void rcx_context_pass_by(struct rcx_context *context)
{
    if (__builtin_expect(++context->progress.turns >= RCX_PROGRESS_TURNS, 0))
        rcx_context_look_around(context);
}

/* As rcx_enter(), for collective calls: one at a time on a communicator. */
static inline rcx_status_t rcx_comm_come_in(struct rcx_comm *comm)
{
    struct rcx_context *context = comm->context;
    rcx_status_t status = RCX_OK;

    if (context->threads == RCX_THREAD_MULTIPLE)
        status = rcx_comm_claim(comm);
    if (status != RCX_OK)
        return status;
    status = rcx_enter(context);
    if (status != RCX_OK)
        rcx_comm_unclaim(comm);
    return status;
}

/* And note it. */
static inline rcx_status_t rcx_comm_enter(struct rcx_comm *comm)
{
    const uint64_t now = rcx_ticks();
    const rcx_status_t status = rcx_comm_come_in(comm);

    if (status == RCX_OK)
        rcx_note_call(comm->context, now);
    return status;
}

/* To read the clock takes as long as to send. So where what is sent harms nobody,
 * and there is no news, a call's messages go first. */
static inline void rcx_note_before(struct rcx_context *context)
{
    const _Atomic uint32_t *news = context->transport->doorbell;

    if (!news)
        rcx_note_call(context, rcx_ticks());
    else if (atomic_load_explicit(news, memory_order_relaxed) != 0)
        rcx_context_catch_up(context);
}

/* And then it is noted so. */
static inline void rcx_note_sent(struct rcx_context *context)
{
    const uint64_t now = rcx_ticks();

    if (__builtin_expect(
            rcx_progress_away(&context->progress, now) > RCX_AWAY_TICKS, 0))
        context->progress.turns = RCX_PROGRESS_TURNS;
    context->progress.ticks = now;
}

static inline void rcx_comm_leave(struct rcx_comm *comm)
{
    if (comm->context->threads == RCX_THREAD_MULTIPLE)
        rcx_comm_unclaim(comm);
    rcx_leave(comm->context);
}

#endif
