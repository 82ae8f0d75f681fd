/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * rcx_finalize(). A rank must make progress as long as a peer needs it, and
 * must not wait outside of RCX for such a peer. So all ranks run a barrier,
 * after which all have completed their calls. Then each flushes what it has
 * sent while all make progress, and they run a second barrier. Only messages of
 * the second barrier remain, over connections that the first one has opened:
 * these arrive whatever this rank does. The barrier of the bootstrap keeps
 * ranks until they have arrived, but a host may have none, and Slurm's fence
 * releases ranks before all have come. Connections are not closed, which would
 * wait for peers: they end with the worker.
 *
 * If the world has failed, the barriers are skipped, and ranks that wait in one
 * are released by the announcement.
 */
#include "core/run/context/finalize.h"

#include <sched.h>

#include "core/run/comm/internal.h"
#include "core/run/detect/poll.h"
#include "core/run/fault/agreement.h"
#include "core/run/fault/ctrl_msg.h"
#include "core/run/fault/failure.h"
#include "core/run/request/p2p.h"
#include "core/run/wait/enter.h"
#include "core/run/wait/progress.h"

/* failed_limit_ns limits the barriers after a failure, a flush, which is
 * optional, and the wait for others that go on. */
static const int64_t failed_limit_ns = INT64_C(3000000000);
static const int64_t ctrl_flush_ns = 200000000;

/* ---- Limits -------------------------------------------------------------- */

struct finalize_limit {
    struct rcx_context *context;
    int64_t begin_ns;
    int64_t timeout_ns; /* of the whole of rcx_finalize(); 0: none */
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

/* What is left of the deadline, as a timeout: 0 is none. */
static int64_t time_left(const struct finalize_limit *l)
{
    if (l->timeout_ns == 0)
        return 0;
    return is_overdue(l) ? 1
                         : l->timeout_ns - (time_of(l->context) - l->begin_ns);
}

/* ---- Steps --------------------------------------------------------------- */

static rcx_status_t finalize_barrier(const struct finalize_limit *l)
{
    struct rcx_comm *comm = l->context->internal;
    rcx_status_t status = RCX_OK;

    comm->timeout_ns = time_left(l);
    l->context->progress.ticks = rcx_ticks(); /* its begin */
    if (comm->size > 1)
        status = rcx_internal_barrier(comm);
    return rcx_comm_is_failed(comm) ? comm->status : status;
}

/* If a rank is missing, the barrier that follows names it. */
static void flush(const struct finalize_limit *l)
{
    struct rcx_context *context = l->context;
    struct rcx_transport *t = context->transport;
    const int64_t until = time_of(context) + failed_limit_ns;

    while (t && t->ops->flush(t) == RCX_IN_PROGRESS &&
           !rcx_comm_is_failed(context->internal) && !is_overdue(l) &&
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
                      "rcx_finalize: the bootstrap's barrier timed out after "
                      "%.3g s",
                      (double)l->timeout_ns / 1e9);
    rcx_context_progress(l->context);
    return !rcx_comm_is_failed(comm);
}

static rcx_status_t bootstrap_barrier(struct finalize_limit *l)
{
    struct rcx_boot *boot = l->context->boot;
    const rcx_status_t status = boot->ops->barrier(boot, go_on, l);

    return status == RCX_IN_PROGRESS ? rcx_comm_failure(l->context->internal)
                                     : status;
}

/* From here on a peer that exits has not failed: all have passed the first
 * barrier. */
static rcx_status_t enter_final_phase(struct finalize_limit *l)
{
    rcx_status_t status;

    l->context->in_final_phase = true;
    status = finalize_barrier(l);
    return status == RCX_OK ? bootstrap_barrier(l) : status;
}

/* Of all communicators that the user has not freed, the world included. */
static void warn_unreceived(const struct rcx_context *context)
{
    for (const struct rcx_comm *c = context->comms.first; c; c = c->next)
        if (c != context->internal && c->magic && !rcx_comm_is_failed(c))
            rcx_p2p_warn_unreceived(c, "");
}

/* ---- All of it ----------------------------------------------------------- */

/* Control messages may be the only way for others to learn of a failure. */
static void flush_control(struct rcx_context *context)
{
    const struct rcx_transport *t = context->transport;
    const int64_t until = time_of(context) + ctrl_flush_ns;

    while (t && t->ctrl_unsent > 0 && time_of(context) < until)
        rcx_context_poll(context);
}

/* Whether a peer knows that this rank finalizes, and that is enough, or
 * finalizes itself. Ranks that went on together leave together, unless this one
 * says by an abort that it does not wait: one may not have called yet what this
 * one has done its part of. */
static bool may_leave(const struct rcx_context *context, int rank)
{
    const struct rcx_peer peer = rcx_peer_of(context, rank);
    const bool goes_on = context->has_shrunk && !context->world->aborted;

    return peer.state == RCX_PEER_DEPARTED ||
           (peer.has_acknowledged && !goes_on);
}

/* The same of each living rank. One that was named may be stopped and is not
 * waited for. */
static bool may_leave_all(const struct rcx_context *context)
{
    const struct rcx_transport *t = context->transport;

    for (int i = 0; i < context->boot->size; i++)
        if (i != context->boot->rank && !t->failed_peers[i] &&
            !may_leave(context, i) && !rcx_peer_of(context, i).has_ended &&
            !rcx_comm_has_failed_for(context->world, i) &&
            !rcx_comm_has_failed_for(context->internal, i))
            return false;
    return true;
}

/* A rank that watches its peers or the network would take this one for dead. If
 * this process ends before that rank has read all messages, its connection is
 * reset and the message is lost: so wait for a reply. It comes when the peer
 * has completed the operations that this rank has taken part in. */
static void announce_finalize(struct rcx_context *context)
{
    const int64_t until = time_of(context) + failed_limit_ns;

    for (int i = 0; i < context->boot->size; i++) {
        struct rcx_ctrl_msg left = {.kind = RCX_CTRL_FINALIZES,
                                    .value =
                                        rcx_peer_of(context, i).agree_sent};

        if (i != context->boot->rank)
            rcx_ctrl_send(context->internal, i, &left);
    }
    while (!may_leave_all(context) && time_of(context) < until) {
        if (rcx_context_poll(context) == 0)
            sched_yield();
        rcx_ctrl_dispatch(context);
    }
}

void rcx_context_leave_others(struct rcx_context *context)
{
    if (context->transport && rcx_nodes_linked(context->nodes))
        context->transport->leaks_on_close = true;
}

static void notify_peers(struct rcx_context *context)
{
    const struct rcx_transport *t = context->transport;

    if (t && (t->failed_peers ||
              t->ctrl_lost)) /* for lack of descriptors, for example */
        rcx_comm_announce(rcx_comm_is_failed(context->world)
                              ? context->world
                              : context->internal);
    rcx_agreements_leave(context);
    if (t && t->failed_peers)
        announce_finalize(context);
    flush_control(context);
    rcx_context_leave_others(context);
}

rcx_status_t rcx_context_finalize(struct rcx_context *context)
{
    const struct rcx_comm *world = context->world;
    const bool is_known = context->is_told || world->aborted;
    struct finalize_limit l;
    rcx_status_t status;

    rcx_context_drain(context);
    l = begin(context);
    status = rcx_comm_failure(world);
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
