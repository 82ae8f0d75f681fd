/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Progress and waiting: polls the transport, completes requests, and runs
 * housekeeping (failure detector, threads that wait for the guard) at
 * intervals. What a rank does when polls find nothing is in backoff.c.
 */
#include "core/run/wait/progress.h"

#include "core/run/detect/detector.h"
#include "core/run/detect/poll.h"
#include "core/run/wait/backoff.h"
#include "core/run/wait/enter.h"

enum { TICK_POLLS = RCX_PROGRESS_TICKS };

/* Hand the guard to another thread that waits for it. False: none waits. */
static bool yield_guard(struct rcx_context *context)
{
    if (!rcx_guard_is_wanted(context->guard))
        return false;
    rcx_guard_pass(context->guard);
    return true;
}

/* Run housekeeping once in TICK_POLLS calls, or at once if the detector has
 * work. */
static void progress_tick(struct rcx_context *context)
{
    if (++context->progress.polls_since_tick < TICK_POLLS &&
        !rcx_detector_is_due(&context->detector, context->transport))
        return;
    context->progress.polls_since_tick = 0;
    rcx_detector_poll(context);
    yield_guard(context);
}

int rcx_context_drain(struct rcx_context *context)
{
    int events = 0, idle_polls = 0;

    for (int i = 0; i < TICK_POLLS && idle_polls < RCX_FULL_POLLS; i++) {
        const int seen = rcx_context_poll(context);

        events += seen;
        idle_polls = seen > 0 ? 0 : idle_polls + 1;
    }
    context->progress.polls_since_tick = 0;
    rcx_detector_poll(context);
    return events;
}

/* A transport polls all its sources only once in several polls. A host that
 * polls once a millisecond would see nothing in time, so such a call drains. */
int rcx_context_progress(struct rcx_context *context)
{
    const uint64_t now = rcx_ticks();
    const bool was_away =
        rcx_progress_idle_ticks(&context->progress, now) > RCX_IDLE_TICKS;
    const int events =
        was_away ? rcx_context_drain(context) : rcx_context_poll(context);

    context->progress.ticks = now;
    progress_tick(context);
    yield_guard(context); /* or a thread that only polls would starve them */
    return events;
}

/* Polls found nothing: poll all sources, let other threads in, and release the
 * core after enough empty polls. */
static void idle(struct rcx_context *context, struct rcx_idle_polls *idle_polls,
                 uint64_t until_ns)
{
    rcx_detector_poll(context);
    idle_polls->polls += context->progress.polls;
    if (yield_guard(context))
        idle_polls->polls = 0;
    else if (idle_polls->polls >= context->progress.spin &&
             rcx_back_off(context, idle_polls, until_ns))
        rcx_context_drain(context);
    context->progress.ticks = rcx_ticks();
}

int rcx_context_test(struct rcx_context *context)
{
    const int events = rcx_context_progress(context);

    return events + rcx_back_off_test(context, events > 0);
}

static inline void wait_once(struct rcx_context *context,
                             struct rcx_idle_polls *idle_polls,
                             uint64_t until_ns)
{
    if (rcx_transport_poll(context->transport, context->progress.polls)) {
        rcx_handle_done(context);
        *idle_polls = (struct rcx_idle_polls){0};
    } else {
        idle(context, idle_polls, until_ns);
    }
}

void rcx_context_progress_full(struct rcx_context *context)
{
    struct rcx_progress *p = &context->progress;

    p->polls_since_tick = 0;
    if (p->ticks - p->last_full < RCX_FULL_PROGRESS_TICKS)
        return;
    p->last_full = p->ticks;
    rcx_context_drain(context);
    yield_guard(context);
}

/* Run housekeeping while messages are in flight, not after the last one
 * completes. */
rcx_status_t rcx_request_wait(struct rcx_request *r)
{
    struct rcx_context *context = r->comm->context;
    struct rcx_idle_polls idle_polls = {0};

    if (r->state != RCX_REQUEST_ACTIVE)
        rcx_context_maybe_progress(context);
    while (r->state == RCX_REQUEST_ACTIVE) {
        progress_tick(context);
        if (r->state == RCX_REQUEST_ACTIVE)
            wait_once(context, &idle_polls, UINT64_MAX);
    }
    return r->status;
}

/* A row of empty polls goes on in the next call, or a loop of short waits would
 * never release the core. */
bool rcx_context_wait(struct rcx_context *context, uint64_t until_ns,
                      bool (*is_over)(void *arg), void *arg)
{
    struct rcx_idle_polls idle_polls = {.polls = context->progress.idle_polls};
    bool good;

    while (!(good = is_over(arg)) && rcx_now_ns() < until_ns) {
        progress_tick(context);
        if (!is_over(arg))
            wait_once(context, &idle_polls, until_ns);
    }
    context->progress.idle_polls = good ? 0 : idle_polls.polls;
    return good;
}
