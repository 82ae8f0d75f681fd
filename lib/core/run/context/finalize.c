/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * How a rank leaves. Nobody may stop to make progress while a peer needs it,
 * nor wait, outside of RCX, for one who does. So all meet, and so have ended
 * all that they called; have what they sent leave, with everybody's progress;
 * and meet again. Then nothing is under way but the second meeting's messages,
 * over connections that the first has opened: these reach their peers whatever
 * this rank does. The bootstrap's barrier may keep all in place until they have
 * come, but a host may have none, and Slurm's fence lets ranks go before all
 * are there. Connections are not closed, which would wait for peers: they go
 * with the worker.
 *
 * Where the world has failed nobody meets, and one who waits in a meeting
 * already is let go when he hears of it.
 */
#include "core/run/context/finalize.h"

#include <sched.h>

#include "core/run/comm/internal.h"
#include "core/run/detect/poll.h"
#include "core/run/fault/ctrl_msg.h"
#include "core/run/fault/failure.h"
#include "core/run/request/p2p.h"
#include "core/run/wait/enter.h"
#include "core/run/wait/progress.h"

/* Of the last meetings where something failed, if all are alive after all; and
 * of a flush, which is a courtesy. */
static const int64_t patience_ns = INT64_C(3000000000);
static const int64_t note_patience_ns = 200000000;
static const int64_t seen_patience_ns = 1000000000;

/* ---- How long ---------------------------------------------------------------- */

struct leaving {
    struct rcx_context *context;
    int64_t begin_ns;
    int64_t timeout_ns; /* of all of it; 0: none */
};

static int64_t time_of(const struct rcx_context *context)
{
    const struct rcx_instant now = rcx_instant_now();

    return (int64_t)rcx_time_at(&context->time, &now);
}

static struct leaving begin(struct rcx_context *context)
{
    struct leaving l = {.context = context,
                        .begin_ns = time_of(context),
                        .timeout_ns = context->world->timeout_ns};

    if (context->broken && (l.timeout_ns == 0 || l.timeout_ns > patience_ns))
        l.timeout_ns = patience_ns;
    return l;
}

static bool is_overdue(const struct leaving *l)
{
    return l->timeout_ns > 0 &&
           time_of(l->context) - l->begin_ns >= l->timeout_ns;
}

/* What is left of the deadline, as one: 0 is none. */
static int64_t time_left(const struct leaving *l)
{
    if (l->timeout_ns == 0)
        return 0;
    return is_overdue(l) ? 1
                         : l->timeout_ns - (time_of(l->context) - l->begin_ns);
}

/* ---- Steps ------------------------------------------------------------------- */

static rcx_status_t meet(const struct leaving *l)
{
    struct rcx_comm *comm = l->context->internal;
    rcx_status_t status = RCX_OK;

    comm->timeout_ns = time_left(l);
    l->context->progress.ticks = rcx_ticks(); /* when it begins */
    if (comm->size > 1)
        status = rcx_internal_barrier(comm);
    return comm->failed != RCX_OK ? comm->failed : status;
}

/* Who is missing says the meeting that follows. */
static void flush(const struct leaving *l)
{
    struct rcx_context *context = l->context;
    struct rcx_transport *t = context->transport;
    const int64_t until = time_of(context) + patience_ns;

    while (t && t->ops->flush(t) == RCX_IN_PROGRESS &&
           context->internal->failed == RCX_OK && !is_overdue(l) &&
           time_of(context) < until)
        if (rcx_context_progress(context) == 0)
            sched_yield();
}

static bool go_on(void *arg)
{
    const struct leaving *l = arg;
    struct rcx_comm *comm = l->context->internal;

    if (is_overdue(l))
        rcx_comm_fail(comm, RCX_ERR_TIMEOUT, NULL, 0,
                      "rcx_finalize: the bootstrap's barrier has no end after "
                      "%.3g s",
                      (double)l->timeout_ns / 1e9);
    rcx_context_progress(l->context);
    return comm->failed == RCX_OK;
}

static rcx_status_t wait_for_all(struct leaving *l)
{
    struct rcx_boot *boot = l->context->boot;
    const rcx_status_t status = boot->ops->barrier(boot, go_on, l);

    return status == RCX_IN_PROGRESS ? l->context->internal->failed : status;
}

/* From here on who has gone is not dead: he had met all. */
static rcx_status_t part(struct leaving *l)
{
    rcx_status_t status;

    l->context->parting = true;
    status = meet(l);
    return status == RCX_OK ? wait_for_all(l) : status;
}

/* Of the communicators that the user has not freed, the world among them. */
static void tell_what_was_not_received(const struct rcx_context *context)
{
    for (const struct rcx_comm *c = context->comms.first; c; c = c->next)
        if (c != context->internal && c->magic && c->failed == RCX_OK)
            rcx_mail_is_left(c, "");
}

/* ---- All of it ----------------------------------------------------------------- */

/* Others may know of a failure only by them. */
static void let_notes_leave(struct rcx_context *context)
{
    const struct rcx_transport *t = context->transport;
    const int64_t until = time_of(context) + note_patience_ns;

    while (t && t->notes_leaving > 0 && time_of(context) < until)
        rcx_context_poll(context);
}

/* Whether all that are alive know that this rank leaves, or leave themselves.
 * One that is blamed may be stopped. */
static bool is_known_to_all(const struct rcx_context *context)
{
    const struct rcx_transport *t = context->transport;

    for (int i = 0; i < context->boot->size; i++)
        if (i != context->boot->rank && !t->dead[i] &&
            !rcx_notes_known(&context->notes, i) &&
            !rcx_comm_has_failed_for(context->world, i) &&
            !rcx_comm_has_failed_for(context->internal, i))
            return false;
    return true;
}

/* A rank that watches its peers, or the network for it, would take one that
 * leaves alone for dead. Its connection is reset, and the note is lost with it,
 * where this process ends before that rank has read all that was sent. */
static void tell_watchers(struct rcx_context *context)
{
    const int64_t until = time_of(context) + seen_patience_ns;
    struct rcx_note_body left = {.kind = RCX_NOTE_LEFT};

    rcx_note_send_all(context->internal, &left);
    while (!is_known_to_all(context) && time_of(context) < until) {
        if (rcx_context_poll(context) == 0)
            sched_yield();
        rcx_notes_read(context);
    }
}

static void say_why(struct rcx_context *context)
{
    const struct rcx_transport *t = context->transport;

    if (t && (t->dead || t->lost_note)) /* for lack of descriptors, say */
        rcx_comm_tell(context->world->failed != RCX_OK ? context->world
                                                       : context->internal);
    if (t && t->dead)
        tell_watchers(context);
    let_notes_leave(context);
    if (context->transport && context->nodes)
        context->transport->is_forsaken = true;
}

rcx_status_t rcx_context_leave(struct rcx_context *context)
{
    const struct rcx_comm *world = context->world;
    const bool is_known = context->broken || world->aborted; /* to the user */
    struct leaving l;
    rcx_status_t status;

    rcx_context_catch_up(context);
    l = begin(context);
    status = world->failed;
    if (status == RCX_OK)
        status = meet(&l);
    if (status == RCX_OK) {
        flush(&l);
        tell_what_was_not_received(context);
        status = part(&l);
    }
    if (status != RCX_OK)
        say_why(context);
    return is_known ? RCX_OK : status;
}
