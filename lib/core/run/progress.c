/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Who makes progress: polling, waiting, and what is done once something is
 * complete. Transports only mark messages; all that follows happens here.
 */
#include "core/run/progress.h"

#include <sched.h>

#include "core/run/enter.h"
#include "core/run/failure.h"
#include "core/run/sleep.h"
#include "core/run/watch.h"

enum { TURNS = 64 };

/* ---- Callbacks --------------------------------------------------------------- */

void rcx_request_call_back(struct rcx_request *r)
{
    struct rcx_context *context = r->comm->context;

    r->called_next = NULL;
    *(context->called ? context->called_end : &context->called) = r;
    context->called_end = &r->called_next;
}

/* A request that is freed gets no call any more. */
void rcx_callback_forget(struct rcx_request *r)
{
    struct rcx_context *context = r->comm->context;
    struct rcx_request **link = &context->called;

    while (*link && *link != r)
        link = &(*link)->called_next;
    if (!*link)
        return;
    *link = r->called_next;
    if (!*link)
        context->called_end = link;
}

/* Only one thread at a time makes them, and no callback from inside another. */
static bool make_callbacks(struct rcx_context *context)
{
    bool inside = true;

    context->calling = true;
    while (inside && context->called) {
        struct rcx_request *r = context->called;
        const rcx_callback_fn_t fn = r->callback;
        void *const arg = r->callback_arg;
        const rcx_status_t status = r->status;

        context->called = r->called_next;
        if (!r->persistent)
            r->callback = NULL;
        rcx_step_out(context);
        fn(r, status, arg);
        inside = rcx_step_in(context);
    }
    context->calling = false;
    return inside;
}

void rcx_leave_with_callbacks(struct rcx_context *context)
{
    if (context->calling || make_callbacks(context))
        rcx_step_out(context);
}

/* ---- Progress ---------------------------------------------------------------- */

static int handle_done(struct rcx_context *context)
{
    struct rcx_transport *t = context->transport;
    int events = 0;

    while (t->done) {
        struct rcx_message *m = t->done;
        struct rcx_exec *x = m->owner;

        t->done = m->next;
        if (!t->done)
            t->done_end = &t->done;
        events++;
        if (!x->owner) {
            rcx_abandoned_message(context, x, m);
        } else if (rcx_exec_advance(x, m)) {
            rcx_request_advance(x->owner, x);
        }
    }
    return events;
}

int rcx_context_poll(struct rcx_context *context)
{
    struct rcx_transport *t = context->transport;
    int events;

    if (!t)
        return 0;
    events = t->done ? 0 : (int)t->ops->progress(t);
    return events + handle_done(context);
}

/* False: no other thread wants to. */
static bool let_others_in(struct rcx_context *context)
{
    const bool is_wanted = rcx_guard_is_wanted(context->guard);

    if (is_wanted)
        rcx_guard_pass(context->guard);
    return is_wanted;
}

/* A turn of whoever makes progress; not each one looks around. */
static void turn(struct rcx_context *context)
{
    if (++context->turns < TURNS && !rcx_is_attracted(context))
        return;
    context->turns = 0;
    rcx_watch(context);
    let_others_in(context);
}

int rcx_context_progress(struct rcx_context *context)
{
    const int events = rcx_context_poll(context);

    turn(context);
    let_others_in(context); /* a thread that only polls would starve them */
    return events;
}

void rcx_context_catch_up(struct rcx_context *context)
{
    for (int i = 0; i < TURNS && rcx_context_poll(context) > 0; i++)
        ;
    rcx_watch(context);
}

/* Poll until something happened, or polls in a row were in vain. As tight as
 * it can be: half a turn passes before a message is seen. */
static bool poll(struct rcx_transport *t, unsigned polls)
{
    unsigned (*const progress)(struct rcx_transport *) = t->ops->progress;

    while (!t->done && !progress(t))
        if (--polls == 0)
            return false;
    return true;
}

static void give_core_away(struct rcx_context *context)
{
    if (context->config.wait == RCX_WAIT_BLOCK)
        rcx_sleep(context);
    else
        sched_yield();
}

/* Nothing happened: look around, let other threads in, or give the core away
 * if even more polls were in vain. */
static void idle(struct rcx_context *context, unsigned *vain)
{
    rcx_watch(context);
    *vain += context->polls;
    if (let_others_in(context)) {
        *vain = 0;
    } else if (*vain >= context->spin) {
        give_core_away(context);
        *vain = 0;
    }
    context->ticks = rcx_ticks();
}

static inline void wait_once(struct rcx_context *context, unsigned *vain)
{
    if (poll(context->transport, context->polls)) {
        handle_done(context);
        *vain = 0;
    } else {
        idle(context, vain);
    }
}

/* A turn comes while messages travel, and none once the last has come. */
rcx_status_t rcx_request_wait(struct rcx_request *r)
{
    struct rcx_context *context = r->comm->context;
    unsigned vain = 0;

    while (r->state == RCX_REQUEST_ACTIVE) {
        turn(context);
        if (r->state == RCX_REQUEST_ACTIVE)
            wait_once(context, &vain);
    }
    return r->status;
}
