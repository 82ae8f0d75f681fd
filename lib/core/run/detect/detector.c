/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What is looked after beside messages, now and then: notes from other ranks,
 * aborts, deaths, deadlines, calls that do not match. All these only latch that
 * a communicator has failed; what is to be done about it is done here, at the
 * end: a dump is written, and what is in flight given up.
 */
#include "core/run/detect/detector.h"

#include "core/base/clock.h"
#include "core/run/detect/ctrl_dispatch.h"
#include "core/run/detect/mismatch.h"
#include "core/run/detect/poll.h"
#include "core/run/detect/straggler.h"
#include "core/run/diag/describe.h"
#include "core/run/diag/dump_context.h"
#include "core/run/fault/failure.h"
#include "core/run/request/orphan.h"

/* LET_GO_NS: how long receives that are cancelled may take to let go of their
 * buffers; one that has begun may never end (its sender died). So many polls in
 * any case: time may have passed while this process stood still. HEAR_POLLS: a
 * transport looks around some times in so many. */
enum {
    PERIOD_NS = 1000 * 1000,
    LET_GO_NS = 100 * 1000 * 1000,
    LET_GO_POLLS = 1000,
    HEAR_POLLS = 1000,
    PROBE_AGE_NS = 100 * 1000 * 1000,
    WAY_AGE_NS = 1000 * 1000 * 1000
};
static const int64_t hurry_ns = INT64_C(3000000000);

/* ---- Deaths ------------------------------------------------------------------ */

/* Who seems to be dead or lost may have left, since something had failed before,
 * and have told so, but by another connection than the one that broke. */
static void hear_out(struct rcx_context *context)
{
    for (int polls = 0; polls < HEAR_POLLS; polls++)
        rcx_context_poll(context);
}

/* One has gone in the last meeting: all came to it, or he died there. So it is
 * over soon, or never. */
static void hurry(const struct rcx_comm *comm)
{
    const struct rcx_instant now = rcx_instant_now();
    struct rcx_request *r = comm->first;
    int64_t limit;

    if (!r)
        return;
    limit = (int64_t)rcx_request_age(r, &now) + hurry_ns;
    if (r->timeout_ns == 0 || r->timeout_ns > limit)
        r->timeout_ns = limit;
}

static void look_for_deaths(struct rcx_context *context)
{
    const struct rcx_transport *t = context->transport;

    if (t->deaths == context->watch.deaths)
        return;
    context->watch.deaths = t->deaths;
    if (context->parting) {
        hurry(context->internal);
        return;
    }
    hear_out(context);
    for (int rank = 0; rank < context->boot->size; rank++)
        if (t->dead[rank])
            rcx_comms_fail_dead(context, rank, false);
}

/* ---- Patience -------------------------------------------------------------- */

/* How long a rank has been in RCX and an operation has not ended: who computes
 * for an hour between start and wait has not waited. */
static uint64_t wait_of(const struct rcx_request *r,
                        const struct rcx_instant *now)
{
    const struct rcx_context *context = r->comm->context;
    const uint64_t here =
        rcx_time_at(&context->time, now) - context->watch.here_since_ns;
    const uint64_t age = rcx_request_age(r, now);

    return age < here ? age : here;
}

/* Who waits for long without a deadline says so, once for an operation, and
 * less and less often where that is the way of the program. */
static void watch_patience(const struct rcx_request *r, uint64_t *warned,
                           const struct rcx_instant *now)
{
    struct rcx_comm *comm = r->comm;
    const uint64_t ns = wait_of(r, now), number = rcx_request_number(r);
    char call[RCX_CALL_TEXT], text[128];
    int ranks[RCX_RANKS_TOLD], n;

    if (r->timeout_ns > 0 || ns < comm->patience_ns || *warned == number)
        return;
    *warned = number;
    comm->patience_ns *= 2;
    n = rcx_request_peers(r, ranks, RCX_RANKS_TOLD);
    rcx_warn(
        &comm->context->log,
        "%s: waits since %.3g s%s; no deadline is set "
        "(RCX_TIMEOUT)",
        rcx_request_print(r, call), (double)ns / 1e9,
        n > 0 ? rcx_ranks_print(comm, " for rank", ranks, n, text, sizeof text)
              : " and no message is missing");
}

/* ---- Peers that no transport leads to ---------------------------------------- */

/* Who sends there finds out at once, but cannot tell. So who has only received
 * tries whom it waits for. */
static void watch_ways(const struct rcx_request *r)
{
    struct rcx_comm *comm = r->comm;
    struct rcx_transport *t = comm->context->transport;
    int ranks[RCX_RANKS_TOLD];
    const int n = rcx_request_peers(r, ranks, RCX_RANKS_TOLD);

    for (int i = 0; i < n && t->ops->reach && comm->failed == RCX_OK; i++) {
        const int peer = rcx_comm_context_rank(comm, ranks[i]);
        const rcx_status_t status = t->ops->reach(t, peer);

        if (status != RCX_OK)
            rcx_request_lose(r, status, ranks[i]);
    }
}

/* ---- Messages --------------------------------------------------------------- */

static void watch_mail(struct rcx_comm *comm, const struct rcx_instant *now)
{
    const struct rcx_request *awaited = rcx_comm_awaited_message(comm);

    if (!awaited)
        return;
    watch_patience(awaited, &comm->mail.warned, now);
    if (wait_of(awaited, now) > WAY_AGE_NS)
        watch_ways(awaited);
}

/* ---- What failed ---------------------------------------------------------------- */

static void look_for_abort(struct rcx_comm *comm)
{
    if (atomic_load_explicit(&comm->aborted, memory_order_acquire))
        rcx_comm_fail(comm, RCX_ERR_COMM_FAILED, &comm->rank, 1,
                      "communicator %u: rcx_comm_abort() on rank %d", comm->id,
                      comm->rank);
}

static bool is_in_doubt(const struct rcx_comm *comm)
{
    return comm->doubt != RCX_OK && comm->failed == RCX_OK;
}

static void look_for_losses(struct rcx_context *context)
{
    struct rcx_comm *comm = context->comms.first;

    while (comm && !is_in_doubt(comm))
        comm = comm->next;
    if (comm)
        hear_out(context);
    for (; comm; comm = comm->next)
        if (is_in_doubt(comm))
            rcx_comm_decide(comm);
}

/* What is in flight is in the dump. */
static void dump(struct rcx_context *context)
{
    const struct rcx_comm *comm = context->watch.failed;

    context->watch.failed = NULL;
    if (comm)
        rcx_dump_failure(context, comm->why ? comm->why->text
                                            : rcx_status_string(comm->failed));
}

static void end(struct rcx_request *r)
{
    for (unsigned i = 0; i < rcx_request_slots(r); i++) {
        if (r->slots[i])
            rcx_abandon(r->comm->context, r->slots[i]);
        r->slots[i] = NULL;
    }
    if (r->status == RCX_OK)
        r->status = r->comm->failed;
    rcx_request_finish(r);
}

/* All operations of a communicator that failed. */
static void give_up(struct rcx_comm *comm)
{
    struct rcx_context *context = comm->context;
    const uint64_t until = rcx_now_ns() + LET_GO_NS;

    while (context->transport &&
           context->transport->done) /* which executions must hear of before */
        rcx_context_poll(context);
    comm->window.stalled = NULL;
    while (comm->first)
        end(comm->first);
    while (comm->mail.first)
        end(comm->mail.first);
    for (int polls = 0; context->abandoned.receives > 0 &&
                        (polls < LET_GO_POLLS || rcx_now_ns() < until);
         polls++)
        rcx_context_poll(context);
}

static void attend(struct rcx_context *context)
{
    for (struct rcx_comm *c = context->comms.first; c; c = c->next)
        look_for_abort(c);
    look_for_losses(context);
    dump(context);
    for (struct rcx_comm *c = context->comms.first; c; c = c->next)
        if (c->failed != RCX_OK && rcx_comm_is_active(c))
            give_up(c);
}

/* ---- All of it --------------------------------------------------------------- */

/* What costs more than a look at the clock. Not of who parts: all have met him,
 * and a peer that he would ask, over a connection of its own, may have gone. */
static void probe(struct rcx_comm *comm, uint64_t waited)
{
    if (comm->context->parting)
        return;
    if (waited > WAY_AGE_NS)
        watch_ways(comm->first);
    if (comm->failed == RCX_OK)
        rcx_mismatch_look(comm);
}

static void watch_comm(struct rcx_comm *comm, const struct rcx_instant *now)
{
    const uint64_t ns = rcx_time_at(&comm->context->time, now);

    if (comm->failed == RCX_OK)
        rcx_straggler_check(comm, now);
    if (comm->failed == RCX_OK)
        watch_mail(comm, now);
    if (!comm->first || comm->failed != RCX_OK)
        return;
    watch_patience(comm->first, &comm->warned, now);
    if (comm->failed != RCX_OK || ns < comm->next_probe_ns ||
        rcx_request_age(comm->first, now) <= PROBE_AGE_NS)
        return;
    comm->next_probe_ns = ns + PROBE_AGE_NS;
    probe(comm, wait_of(comm->first, now));
}

/* What does not need to be looked at each time. */
static void watch_now_and_then(struct rcx_context *context)
{
    const struct rcx_instant now = rcx_instant_now();
    const uint64_t ns = rcx_time_at(&context->time, &now);

    if (ns < context->watch.next_ns)
        return;
    context->watch.next_ns = ns + PERIOD_NS;
    rcx_comms_drop_idle(&context->comms);
    for (struct rcx_comm *c = context->comms.busy; c; c = c->next_busy)
        watch_comm(c, &now);
}

static void watch_others(struct rcx_context *context)
{
    const struct rcx_instant now = rcx_instant_now();

    rcx_watch_note_break(&context->watch, rcx_time_at(&context->time, &now));
    rcx_notes_read(context);
    look_for_deaths(context);
    watch_now_and_then(context);
}

void rcx_watch(struct rcx_context *context)
{
    if (context->transport)
        watch_others(context);
    if (rcx_alarm_take(&context->watch.alarm))
        attend(context);
}
