/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * How a rank leaves. Nobody may stop to make progress while a peer needs it,
 * nor wait, outside of RCX, for one who does. So all finalize_barrier, and so have ended
 * all that they called; have what they sent leave, with everybody's progress;
 * and finalize_barrier again. Then nothing is under way but the second meeting's messages,
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
static const int64_t failed_limit_ns = INT64_C(3000000000);
static const int64_t ctrl_flush_ns = 200000000;
static const int64_t ack_limit_ns = 1000000000;

/* ---- How long ---------------------------------------------------------------- */

struct finalize_limit {
    struct rcx_context *context;
    int64_t begin_ns;
    int64_t timeout_ns; /* of all of it; 0: none */
};

static int64_t time_of(const struct rcx_context *context)
{
    const struct rcx_instant now = rcx_instant_now();

    return (int64_t)rcx_time_at(&context->time, &now);
}

static struct finalize_limit begin(struct rcx_context *context)
{
    struct finalize_limit l = {.context = context,
                               .begin_ns = time_of(context),
                               .timeout_ns = context->world->timeout_ns};

    if (context->broken &&
        (l.timeout_ns == 0 || l.timeout_ns > failed_limit_ns))
        l.timeout_ns = failed_limit_ns;
    return l;
}

static bool is_overdue(const struct finalize_limit *l)
{
    return l->timeout_ns > 0 &&
           time_of(l->context) - l->begin_ns >= l->timeout_ns;
}

/* What is left of the deadline, as one: 0 is none. */
static int64_t time_left(const struct finalize_limit *l)
{
    if (l->timeout_ns == 0)
        return 0;
    return is_overdue(l) ? 1
                         : l->timeout_ns - (time_of(l->context) - l->begin_ns);
}

/* ---- Steps ------------------------------------------------------------------- */

static rcx_status_t finalize_barrier(const struct finalize_limit *l)
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
static void flush(const struct finalize_limit *l)
{
    struct rcx_context *context = l->context;
    struct rcx_transport *t = context->transport;
    const int64_t until = time_of(context) + failed_limit_ns;

    while (t && t->ops->flush(t) == RCX_IN_PROGRESS &&
           context->internal->failed == RCX_OK && !is_overdue(l) &&
           time_of(context) < until)
        if (rcx_context_progress(context) == 0)
            sched_yield();
}

static bool go_on(void *arg)
{
    const struct finalize_limit *l = arg;
    struct rcx_comm *comm = l->context->internal;

    if (is_overdue(l))
        rcx_comm_fail(comm, RCX_ERR_TIMEOUT, NULL, 0,
                      "rcx_finalize: the bootstrap's barrier has no end after "
                      "%.3g s",
                      (double)l->timeout_ns / 1e9);
    rcx_context_progress(l->context);
    return comm->failed == RCX_OK;
}

static rcx_status_t bootstrap_barrier(struct finalize_limit *l)
{
    struct rcx_boot *boot = l->context->boot;
    const rcx_status_t status = boot->ops->barrier(boot, go_on, l);

    return status == RCX_IN_PROGRESS ? l->context->internal->failed : status;
}

/* From here on who has gone is not dead: he had met all. */
static rcx_status_t enter_final_phase(struct finalize_limit *l)
{
    rcx_status_t status;

    l->context->in_final_phase = true;
    status = finalize_barrier(l);
    return status == RCX_OK ? bootstrap_barrier(l) : status;
}

/* Of the communicators that the user has not freed, the world among them. */
static void warn_unreceived(const struct rcx_context *context)
{
    for (const struct rcx_comm *c = context->comms.first; c; c = c->next)
        if (c != context->internal && c->magic && c->failed == RCX_OK)
            rcx_p2p_warn_unreceived(c, "");
}

/* ---- All of it ----------------------------------------------------------------- */

/* Others may know of a failure only by them. */
static void flush_control(struct rcx_context *context)
{
    const struct rcx_transport *t = context->transport;
    const int64_t until = time_of(context) + ctrl_flush_ns;

    while (t && t->ctrl_unsent > 0 && time_of(context) < until)
        rcx_context_poll(context);
}

/* Whether all that are alive know that this rank leaves, or leave themselves.
 * One that is blamed may be stopped. */
static bool is_known_to_all(const struct rcx_context *context)
{
    const struct rcx_transport *t = context->transport;

    for (int i = 0; i < context->boot->size; i++)
        if (i != context->boot->rank && !t->failed_peers[i] &&
            !rcx_ctrl_known(&context->ctrl, i) &&
            !rcx_comm_has_failed_for(context->world, i) &&
            !rcx_comm_has_failed_for(context->internal, i))
            return false;
    return true;
}

/* A rank that watches its peers, or the network for it, would take one that
 * leaves alone for dead. Its connection is reset, and the note is lost with it,
 * where this process ends before that rank has read all that was sent. */
static void announce_finalize(struct rcx_context *context)
{
    const int64_t until = time_of(context) + ack_limit_ns;
    struct rcx_ctrl_msg left = {.kind = RCX_CTRL_FINALIZES};

    rcx_ctrl_send_all(context->internal, &left);
    while (!is_known_to_all(context) && time_of(context) < until) {
        if (rcx_context_poll(context) == 0)
            sched_yield();
        rcx_ctrl_dispatch(context);
    }
}

static void notify_peers(struct rcx_context *context)
{
    const struct rcx_transport *t = context->transport;

    if (t &&
        (t->failed_peers || t->ctrl_lost)) /* for lack of descriptors, say */
        rcx_comm_announce(context->world->failed != RCX_OK ? context->world
                                                           : context->internal);
    if (t && t->failed_peers)
        announce_finalize(context);
    flush_control(context);
    if (context->transport && context->nodes)
        context->transport->leaks_on_close = true;
}

rcx_status_t rcx_context_finalize(struct rcx_context *context)
{
    const struct rcx_comm *world = context->world;
    const bool is_known = context->broken || world->aborted; /* to the user */
    struct finalize_limit l;
    rcx_status_t status;

    rcx_context_catch_up(context);
    l = begin(context);
    status = world->failed;
    if (status == RCX_OK)
        status = finalize_barrier(&l);
    if (status == RCX_OK) {
        flush(&l);
        warn_unreceived(context);
        status = enter_final_phase(&l);
    }
    if (status != RCX_OK)
        notify_peers(context);
    return is_known ? RCX_OK : status;
}
