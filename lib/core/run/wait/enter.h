/* SPDX-License-Identifier: BSD-3-Clause */
/* Entry to and exit from RCX, for every public function. */
#ifndef RCX_CORE_RUN_WAIT_ENTER_H
#define RCX_CORE_RUN_WAIT_ENTER_H

#include "core/base/clock.h"
#include "core/run/detect/detector.h"
#include "core/run/object/comm.h"
#include "core/run/request/callback.h"
#include "core/run/request/request.h"
#include "core/run/wait/progress.h"
#include "core/run/wait/sleep.h"

/* Every public function that uses more than constants of a context runs between
 * these two. */
static inline rcx_status_t rcx_enter(struct rcx_context *context)
{
    return context->threads == RCX_THREAD_SINGLE
               ? rcx_guard_enter_alone(context->guard, &context->log)
               : rcx_guard_enter(context->guard, &context->log);
}

static inline void rcx_leave(struct rcx_context *context)
{
    if (__builtin_expect(context->sleeper.host != 0, 0))
        rcx_sleep_pass_on(context);
    if (__builtin_expect(context->callbacks.first != NULL, 0))
        rcx_callbacks_make(&context->callbacks, context->guard);
    else
        rcx_guard_leave(context->guard);
}

/* r has started. A thread that sleeps must learn of it, or r is the message
 * that it waits for. If r could not be sent, the failure is handled now, as the
 * program may not call again for long. */
static inline void rcx_request_announce(struct rcx_request *r)
{
    struct rcx_context *context = r->comm->context;

    if (__builtin_expect(rcx_attention_is_raised(&context->detector.attention),
                         0))
        rcx_detector_poll(context);
    if (r->state == RCX_REQUEST_ACTIVE || r->program->is_p2p)
        rcx_wake_sleeper(&context->sleeper);
}

/* Have failures that any thread has marked handled soon: by a thread that waits
 * in RCX, or by this one if none is inside. From any thread, at any time; does
 * not wait. */
void rcx_context_attend(struct rcx_context *context);

/* Under RCX_THREAD_MULTIPLE, become the one thread that starts a collective on
 * comm. */
rcx_status_t rcx_comm_acquire(struct rcx_comm *comm);
static inline void rcx_comm_release(struct rcx_comm *comm)
{
    atomic_store_explicit(&comm->starting, false, memory_order_release);
}

/*
 * Stamp a collective call that began at ticks. If this rank has not polled for
 * long, a communicator may have failed and its peers may have left: poll before
 * the call sends. If it was a shorter time, poll once the call's messages are
 * on their way.
 */
static inline void rcx_stamp_call(struct rcx_context *context, uint64_t ticks)
{
    const int64_t away = rcx_progress_idle_ticks(&context->progress, ticks);

    if (__builtin_expect(away > RCX_IDLE_TICKS, 0)) {
        context->progress.polls_since_tick = RCX_PROGRESS_TICKS;
        if (away > RCX_LONG_IDLE_TICKS)
            rcx_context_drain(context);
    }
    context->progress.ticks = ticks;
}

/* Polls now and then for calls that have nothing to wait for, so that a loop of
 * them learns of failures. */
static inline void rcx_context_maybe_progress(struct rcx_context *context)
{
    if (__builtin_expect(
            ++context->progress.polls_since_tick >= RCX_PROGRESS_TICKS, 0))
        rcx_context_progress_full(context);
}

/* rcx_enter() for collective calls, which run one at a time on a
 * communicator. */
static inline rcx_status_t rcx_comm_lock(struct rcx_comm *comm)
{
    struct rcx_context *context = comm->context;
    rcx_status_t status = RCX_OK;

    if (context->threads == RCX_THREAD_MULTIPLE)
        status = rcx_comm_acquire(comm);
    if (status != RCX_OK)
        return status;
    status = rcx_enter(context);
    if (status != RCX_OK)
        rcx_comm_release(comm);
    return status;
}

/* Lock and stamp. */
static inline rcx_status_t rcx_comm_enter(struct rcx_comm *comm)
{
    const uint64_t now = rcx_ticks();
    const rcx_status_t status = rcx_comm_lock(comm);

    if (status == RCX_OK)
        rcx_stamp_call(comm->context, now);
    return status;
}

/* Reading the clock takes as long as sending. So where a message to a peer that
 * has left does no harm, and no control message waits, the call sends first and
 * is stamped later. */
static inline void rcx_stamp_before(struct rcx_context *context)
{
    const _Atomic uint32_t *news = context->transport->doorbell;

    if (!news)
        rcx_stamp_call(context, rcx_ticks());
    else if (atomic_load_explicit(news, memory_order_relaxed) != 0)
        rcx_context_drain(context);
}

/* Stamp a call that has sent its first messages. */
static inline void rcx_stamp_sent(struct rcx_context *context)
{
    const uint64_t now = rcx_ticks();

    if (__builtin_expect(rcx_progress_idle_ticks(&context->progress, now) >
                             RCX_IDLE_TICKS,
                         0))
        context->progress.polls_since_tick = RCX_PROGRESS_TICKS;
    context->progress.ticks = now;
}

static inline void rcx_comm_leave(struct rcx_comm *comm)
{
    if (comm->context->threads == RCX_THREAD_MULTIPLE)
        rcx_comm_release(comm);
    rcx_leave(comm->context);
}

#endif
