/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Failure detector. It checks control messages, failed peers, aborts, deadlines
 * and calls that do not match; each check only marks a communicator as failed.
 * Failures are handled here at the end: a dump is written, and operations
 * of failed communicators are cancelled.
 */
#include "core/run/detect/detector.h"

#include "core/base/clock.h"
#include "core/run/detect/ctrl_dispatch.h"
#include "core/run/detect/mismatch.h"
#include "core/run/detect/poll.h"
#include "core/run/detect/straggler.h"
#include "core/run/diag/describe.h"
#include "core/run/diag/dump_context.h"
#include "core/run/diag/publish.h"
#include "core/run/fault/agreement.h"
#include "core/run/fault/failure.h"
#include "core/run/request/orphan.h"

/* CANCEL_NS limits how long cancelled receives are waited for: a receive that
 * has begun never ends if its sender died. CANCEL_POLLS is a minimum, as time
 * may have passed while this process did not run. Within DRAIN_POLLS a
 * transport polls all its sources several times. */
enum {
    PERIOD_NS = 1000 * 1000,
    CANCEL_NS = 100 * 1000 * 1000,
    CANCEL_POLLS = 1000,
    DRAIN_POLLS = 1000,
    PROBE_AGE_NS = 100 * 1000 * 1000,
    REACH_AGE_NS = 1000 * 1000 * 1000
};
static const int64_t finalize_cap_ns = INT64_C(3000000000);

/* ---- Failed peers -------------------------------------------------------- */

/* Before a peer is declared failed, drain control messages: its explanation may
 * still arrive on another connection. */
static void drain_control(struct rcx_context *context)
{
    for (int polls = 0; polls < DRAIN_POLLS; polls++)
        rcx_context_poll(context);
}

/* A peer exited during the final barrier, which now completes soon or never:
 * limit the wait to 3 s. */
static void cap_timeout(const struct rcx_comm *comm)
{
    const struct rcx_instant now = rcx_instant_now();
    struct rcx_request *r = comm->first;
    int64_t limit;

    if (!r)
        return;
    limit = (int64_t)rcx_request_age(r, &now) + finalize_cap_ns;
    if (r->timeout_ns == 0 || r->timeout_ns > limit)
        r->timeout_ns = limit;
}

/* Raise event for all peers that the transport has found failed. True: some
 * transition asks for this action. */
static bool step_failed_peers(struct rcx_context *context,
                              enum rcx_peer_event event,
                              enum rcx_peer_action action)
{
    bool is_asked = false;

    for (int rank = 0; rank < context->boot->size; rank++)
        if (context->transport->failed_peers[rank])
            is_asked |= rcx_peer_step(context, rank, event) == action;
    return is_asked;
}

static void check_failed_peers(struct rcx_context *context)
{
    const struct rcx_transport *t = context->transport;

    if (t->failed_count == context->detector.failed_count)
        return;
    context->detector.failed_count = t->failed_count;
    if (context->in_final_phase) {
        if (step_failed_peers(context, RCX_PEER_EXITED, RCX_PEER_CAP))
            cap_timeout(context->internal);
        return;
    }
    if (step_failed_peers(context, RCX_PEER_LOST, RCX_PEER_DRAIN))
        drain_control(context);
    for (int rank = 0; rank < context->boot->size; rank++)
        if (t->failed_peers[rank] &&
            rcx_peer_step(context, rank, RCX_PEER_DRAINED) ==
                RCX_PEER_FAIL_COMMS)
            rcx_peer_fail_comms(context, rank, false);
}

/* ---- Operations without a deadline --------------------------------------- */

/* How long an operation has waited while this rank was in RCX. Time between
 * start and wait that the program spends elsewhere does not count. */
static uint64_t waited_ns(const struct rcx_request *r,
                          const struct rcx_instant *now)
{
    const struct rcx_context *context = r->comm->context;
    const uint64_t here =
        rcx_time_at(&context->time, now) - context->detector.present_since_ns;
    const uint64_t age = rcx_request_age(r, now);

    return age < here ? age : here;
}

/* Warn of an operation that waits for long without a deadline: once for each
 * operation, and after twice the time for the next one. */
static void warn_if_stalled(const struct rcx_request *r, uint64_t *warned,
                            const struct rcx_instant *now)
{
    struct rcx_comm *comm = r->comm;
    const uint64_t ns = waited_ns(r, now), number = rcx_request_number(r);
    char call[RCX_CALL_TEXT], text[128];
    int ranks[RCX_RANKS_LISTED], n;

    if (r->timeout_ns > 0 || ns < comm->stall_warn_ns || *warned == number ||
        rcx_start_wait_next(&comm->context->start_wait) != UINT64_MAX)
        return;
    *warned = number;
    comm->stall_warn_ns *= 2;
    n = rcx_request_peers(r, ranks, RCX_RANKS_LISTED);
    rcx_warn(
        &comm->context->log,
        "%s: has waited %.3g s%s; no deadline is set (RCX_TIMEOUT)",
        rcx_request_print(r, call), (double)ns / 1e9,
        n > 0 ? rcx_ranks_print(comm, " for rank", ranks, n, text, sizeof text)
              : " and no message is missing");
}

/* rcx_init() takes long: its messages and agreement are of the internal
 * communicator. */
static void warn_of_start(struct rcx_context *context)
{
    const struct rcx_comm *comm = context->internal;
    const struct rcx_request *r =
        comm->first ? comm->first : rcx_comm_awaited_message(comm);
    int ranks[RCX_RANKS_LISTED], n = 1;
    char text[128] = "";

    if (r)
        n = rcx_request_peers(r, ranks, RCX_RANKS_LISTED);
    else
        ranks[0] = rcx_agreement_awaited(comm);
    if (n > 0 && ranks[0] >= 0)
        rcx_ranks_print(comm, ", which waits for rank", ranks, n, text,
                        sizeof text);
    rcx_start_wait_warn(&context->start_wait,
                        "it measures the network between nodes%s", text);
}

/* ---- Reachability -------------------------------------------------------- */

/* A sender learns at once that no transport leads to its peer, but the peer
 * does not. So a rank that only receives probes the peers that it waits for. */
static void probe_reachability(const struct rcx_request *r)
{
    struct rcx_comm *comm = r->comm;
    struct rcx_transport *t = comm->context->transport;
    int ranks[RCX_RANKS_LISTED];
    const int n = rcx_request_peers(r, ranks, RCX_RANKS_LISTED);

    for (int i = 0; i < n && t->ops->reach && !rcx_comm_is_failed(comm); i++) {
        const int peer = rcx_comm_context_rank(comm, ranks[i]);
        const rcx_status_t status = t->ops->reach(t, peer);

        if (status != RCX_OK)
            rcx_request_message_failed(r, status, ranks[i]);
    }
}

/* ---- Messages ------------------------------------------------------------ */

static void check_messages(struct rcx_comm *comm, const struct rcx_instant *now)
{
    const struct rcx_request *awaited = rcx_comm_awaited_message(comm);

    if (!awaited)
        return;
    warn_if_stalled(awaited, &comm->p2p.warned, now);
    if (waited_ns(awaited, now) > REACH_AGE_NS)
        probe_reachability(awaited);
}

/* ---- Failures ------------------------------------------------------------ */

static void check_abort(struct rcx_comm *comm)
{
    char name[RCX_COMM_TEXT];

    if (atomic_load_explicit(&comm->aborted, memory_order_acquire))
        rcx_comm_fail(comm, RCX_ERR_COMM_FAILED, &comm->rank, 1,
                      "%s: rcx_comm_abort() on rank %d",
                      rcx_comm_print(comm, name), comm->rank);
}

/* Ranks that rcx_peer_failed() has named. */
static void check_told(struct rcx_context *context)
{
    for (int rank = 0; rank < context->boot->size; rank++)
        if (atomic_exchange_explicit(&context->told[rank], false,
                                     memory_order_acquire) &&
            !rcx_peer_of(context, rank).has_ended)
            rcx_peer_declare_ended(context, rank);
}

static bool is_suspected(const struct rcx_comm *comm)
{
    return comm->state == RCX_COMM_SUSPECT;
}

static void confirm_suspected(struct rcx_context *context)
{
    struct rcx_comm *comm = context->comms.first;

    while (comm && !is_suspected(comm))
        comm = comm->next;
    if (comm)
        drain_control(context);
    for (; comm; comm = comm->next)
        if (is_suspected(comm))
            rcx_comm_confirm_failed(comm);
}

/* Dump before operations are cancelled, so that the dump shows them. */
static void write_dump(struct rcx_context *context)
{
    const struct rcx_comm *comm = context->detector.failed;

    context->detector.failed = NULL;
    if (comm)
        rcx_dump_failure(context, comm->why ? comm->why->text
                                            : rcx_status_string(comm->status));
}

static void cancel_request(struct rcx_request *r)
{
    for (unsigned i = 0; i < rcx_request_slots(r); i++) {
        if (r->slots[i])
            rcx_orphan_add(r->comm->context, r->slots[i]);
        r->slots[i] = NULL;
    }
    if (r->status == RCX_OK)
        r->status = rcx_comm_failure(r->comm);
    rcx_request_finish(r);
}

/* Cancel all operations of a failed communicator. */
static void cancel_comm_requests(struct rcx_comm *comm)
{
    struct rcx_context *context = comm->context;
    const uint64_t until = rcx_now_ns() + CANCEL_NS;

    while (context->transport &&
           context->transport->done) /* executions must see these first */
        rcx_context_poll(context);
    context->is_told |= comm != context->internal;
    comm->window.stalled = NULL;
    while (comm->first)
        cancel_request(comm->first);
    while (comm->p2p.first)
        cancel_request(comm->p2p.first);
    for (int polls = 0; context->orphans.receives > 0 &&
                        (polls < CANCEL_POLLS || rcx_now_ns() < until);
         polls++)
        rcx_context_poll(context);
}

static void handle_failures(struct rcx_context *context)
{
    if (atomic_exchange_explicit(&context->is_told_of_peers, false,
                                 memory_order_acquire))
        check_told(context);
    for (struct rcx_comm *c = context->comms.first; c; c = c->next)
        check_abort(c);
    confirm_suspected(context);
    write_dump(context);
    for (struct rcx_comm *c = context->comms.first; c; c = c->next)
        if (rcx_comm_is_failed(c) && rcx_comm_is_active(c))
            cancel_comm_requests(c);
}

/* ---- All of it ----------------------------------------------------------- */

/* Checks that cost more than reading the clock. None in the final phase: a peer
 * that a probe would connect to may have exited rightly. */
static void probe(struct rcx_comm *comm, uint64_t waited)
{
    if (comm->context->in_final_phase)
        return;
    if (waited > REACH_AGE_NS)
        probe_reachability(comm->first);
    if (!rcx_comm_is_failed(comm))
        rcx_mismatch_check(comm);
}

static void check_comm(struct rcx_comm *comm, const struct rcx_instant *now)
{
    const uint64_t ns = rcx_time_at(&comm->context->time, now);

    if (!rcx_comm_is_failed(comm))
        rcx_straggler_check(comm, now);
    if (!rcx_comm_is_failed(comm))
        check_messages(comm, now);
    if (!comm->first || rcx_comm_is_failed(comm))
        return;
    warn_if_stalled(comm->first, &comm->warned, now);
    if (rcx_comm_is_failed(comm) || ns < comm->next_probe_ns ||
        rcx_request_age(comm->first, now) <= PROBE_AGE_NS)
        return;
    comm->next_probe_ns = ns + PROBE_AGE_NS;
    probe(comm, waited_ns(comm->first, now));
}

/* Checks that are made once in PERIOD_NS. */
static void check_periodically(struct rcx_context *context)
{
    const struct rcx_instant now = rcx_instant_now();
    const uint64_t ns = rcx_time_at(&context->time, &now);

    if (ns < context->detector.next_ns)
        return;
    /* it may have been stopped in this check */
    rcx_detector_note_stall(&context->detector, ns);
    context->detector.next_ns = ns + PERIOD_NS;
    if (rcx_start_wait_is_due(&context->start_wait))
        warn_of_start(context);
    rcx_comms_unlist_idle(&context->comms);
    for (struct rcx_comm *c = context->comms.busy; c; c = c->next_busy)
        check_comm(c, &now);
    rcx_publish(context);
}

static void check_peers(struct rcx_context *context)
{
    const struct rcx_instant now = rcx_instant_now();

    rcx_detector_note_stall(&context->detector,
                            rcx_time_at(&context->time, &now));
    rcx_ctrl_dispatch(context);
    check_failed_peers(context);
    check_periodically(context);
}

void rcx_detector_poll(struct rcx_context *context)
{
    if (context->transport)
        check_peers(context);
    if (rcx_attention_take(&context->detector.attention))
        handle_failures(context);
}
