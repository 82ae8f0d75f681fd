/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * How a communicator fails on this rank, and how the other members are told.
 * See failure.h.
 */
#include "core/run/fault/failure.h"

#include <stdarg.h>
#include <string.h>

#include "core/run/diag/describe.h"
#include "core/run/fault/ctrl_msg.h"
#include "core/run/fault/state.h"

/* In a small communicator a rank that finds the failure tells all members. In a
 * larger one it tells its neighbours, which forward the message. */
static void send_failure(struct rcx_comm *comm, struct rcx_ctrl_msg *body)
{
    int near[RCX_NEIGHBOURS_MOST];

    if (rcx_ctrl_is_small(comm)) {
        rcx_ctrl_send_all(comm, body);
        return;
    }
    for (int i = 0, n = rcx_ctrl_neighbours(comm, near); i < n; i++)
        rcx_ctrl_send(comm, near[i], body);
}

/* Without descriptors, say, this rank may reach some members alone, which then
 * tell all. */
static void send_to_reachable(struct rcx_comm *comm, struct rcx_ctrl_msg *body)
{
    const struct rcx_transport *t = comm->context->transport;

    body->tells_on = t && t->ctrl_lost;
    send_failure(comm, body);
    if (!t || !t->ctrl_lost || body->tells_on)
        return;
    body->tells_on = true;
    send_failure(comm, body);
}

/* Announce the ranks of its failure from number at on. A message has room for
 * RCX_RANKS_LISTED; further messages carry the others. */
static void announce_from(struct rcx_comm *comm, int at)
{
    const struct rcx_failure *why = comm->why;

    do {
        struct rcx_ctrl_msg body = {.kind = RCX_CTRL_FAILED,
                                    .status = (int8_t)comm->status,
                                    .value = comm->attempt,
                                    .sequence = (uint64_t)at};

        while (why && at < why->rank_count &&
               body.rank_count < RCX_RANKS_LISTED)
            body.ranks[body.rank_count++] = why->ranks[at++];
        send_to_reachable(comm, &body);
    } while (why && at < why->rank_count);
    comm->is_announced = true;
}

void rcx_comm_announce(struct rcx_comm *comm)
{
    announce_from(comm, 0);
}

/* ranks may be the array that is kept already. */
void rcx_comm_set_reason(struct rcx_comm *comm, const int ranks[], int n,
                         const char *text)
{
    struct rcx_failure *why = comm->why; /* may be there from a rejected call */

    if (!why)
        why = rcx_heap_zalloc(&comm->context->heap,
                              sizeof *why +
                                  (size_t)comm->size * sizeof *why->ranks);
    comm->why = why;
    if (!why)
        return;
    why->reported_by = -1;
    why->rank_count = n < comm->size ? n : comm->size;
    if (why->rank_count > 0)
        memmove(why->ranks, ranks, (size_t)why->rank_count * sizeof *ranks);
    snprintf(why->text, sizeof why->text, "%s", text);
}

/* A group in the making fails with its parent: a member may wait for a rank
 * that does not make groups of a failed communicator. */
static void fail_groups(struct rcx_comm *parent)
{
    struct rcx_comm *c = parent->context->comms.first;

    for (; c; c = c->next) {
        int ranks[RCX_RANKS_LISTED], n = 0;
        char called[RCX_COMM_TEXT];

        if (c->parent != parent)
            continue;
        for (int i = 0;
             parent->why && i < parent->why->rank_count && n < RCX_RANKS_LISTED;
             i++) {
            const int rank = parent->why->ranks[i];

            ranks[n] = rcx_comm_index(c, rcx_comm_context_rank(parent, rank));
            n += ranks[n] >= 0;
        }
        rcx_comm_fail(c, RCX_ERR_COMM_FAILED, ranks, n,
                      "rcx_comm_create_group: tag=%d: the parent, %s, has "
                      "failed",
                      c->tag, rcx_comm_print(parent, called));
    }
}

static enum rcx_comm_action step(struct rcx_comm *comm,
                                 enum rcx_comm_event event)
{
    const struct rcx_comm_transition *t = &rcx_comm_table[event][comm->state];

    comm->state = t->state;
    return t->action;
}

/* Ranks whose world has failed skip the barriers of rcx_finalize(). So the
 * internal communicator fails with the world, which releases ranks that wait
 * there. */
static void set_failed(struct rcx_comm *comm, rcx_status_t status,
                       const int ranks[], int n, const char *text)
{
    struct rcx_context *context = comm->context;
    struct rcx_comm *internal = context->internal;

    comm->status = status;
    if (rcx_comm_is_for_groups(comm->id))
        rcx_attempts_fail(&context->comms.attempts, &context->heap, comm->tag,
                          comm->group, comm->attempt, RCX_OK);
    if (comm == context->world &&
        step(internal, RCX_COMM_FOUND_BY_ALL) == RCX_COMM_FAIL)
        internal->status = status;
    context->broken |= comm != internal;
    rcx_comm_set_reason(comm, ranks, n, text);
    rcx_log_line(&context->log, RCX_LOG_ERROR, "%s", text);
    context->detector.failed = comm;
    rcx_attention_raise(&context->detector.attention);
    fail_groups(comm);
}

/* True: comm fails of this event. */
static bool fail(struct rcx_comm *comm, enum rcx_comm_event event,
                 rcx_status_t status, const int ranks[], int n,
                 const char *text)
{
    const enum rcx_comm_action action = step(comm, event);

    if (action != RCX_COMM_FAIL && action != RCX_COMM_ANNOUNCE)
        return false;
    set_failed(comm, status, ranks, n, text);
    if (action == RCX_COMM_ANNOUNCE)
        rcx_comm_announce(comm);
    return true;
}

/* ---- Peers --------------------------------------------------------------- */

struct rcx_peer rcx_peer_of(const struct rcx_context *context, int rank)
{
    return context->peers ? context->peers[rank]
                          : (struct rcx_peer){.state = RCX_PEER_OK};
}

bool rcx_peer_is_gone(const struct rcx_context *context, int rank)
{
    const enum rcx_peer_state state = rcx_peer_of(context, rank).state;

    return state == RCX_PEER_FAILED || state == RCX_PEER_DEPARTED;
}

static struct rcx_peer *open_peer(struct rcx_context *context, int rank)
{
    if (!context->peers)
        context->peers =
            rcx_heap_zalloc(&context->heap, (size_t)context->boot->size *
                                                sizeof *context->peers);
    return context->peers ? &context->peers[rank] : NULL;
}

enum rcx_peer_action rcx_peer_step(struct rcx_context *context, int rank,
                                   enum rcx_peer_event event)
{
    struct rcx_peer *peer = open_peer(context, rank);
    const struct rcx_peer_transition *t =
        &rcx_peer_table[event][peer ? peer->state : RCX_PEER_SUSPECT];

    if (!peer)
        return t->action;
    context->peer_changes += peer->state != t->state;
    peer->state = (uint8_t)t->state;
    return t->action;
}

void rcx_peer_exclude(struct rcx_context *context, int rank)
{
    struct rcx_peer *peer = open_peer(context, rank);

    if (peer)
        peer->is_excluded = true;
}

void rcx_peer_await_reply(struct rcx_context *context, int rank, bool awaits)
{
    struct rcx_peer *peer = open_peer(context, rank);

    if (!peer || peer->awaits_reply == awaits)
        return;
    peer->awaits_reply = awaits;
    context->ctrl.unanswered += awaits ? 1 : -1;
}

void rcx_peer_acknowledge(struct rcx_context *context, int rank)
{
    struct rcx_peer *peer = open_peer(context, rank);

    if (peer)
        peer->has_acknowledged = true;
}

void rcx_peer_count_agree(struct rcx_context *context, int rank)
{
    struct rcx_peer *peer = open_peer(context, rank);

    if (peer)
        peer->agree_sent++;
}

void rcx_peer_note_agree(struct rcx_context *context, int rank)
{
    struct rcx_peer *peer = open_peer(context, rank);

    if (peer)
        peer->agree_received++;
}

void rcx_peer_announce_agree(struct rcx_context *context, int rank, uint32_t n)
{
    struct rcx_peer *peer = open_peer(context, rank);

    if (peer)
        peer->agree_announced = n;
}

void rcx_peer_fail_comms(struct rcx_context *context, int rank, bool all_know)
{
    const struct rcx_peer peer = rcx_peer_of(context, rank);
    const char *what = peer.state == RCX_PEER_DEPARTED
                           ? "has called rcx_finalize()"
                       : peer.has_ended ? "has ended (rcx_peer_failed())"
                                        : "is dead";
    char text[RCX_REASON_TEXT], name[RCX_RANK_TEXT], called[RCX_COMM_TEXT];

    for (struct rcx_comm *c = context->comms.first; c; c = c->next) {
        const int index = rcx_comm_index(c, rank);

        if (index < 0 || index == c->rank)
            continue;
        snprintf(text, sizeof text, "%s: rank %s %s", rcx_comm_print(c, called),
                 rcx_rank_print(c, index, name), what);
        fail(c, all_know ? RCX_COMM_FOUND_BY_ALL : RCX_COMM_FOUND,
             RCX_ERR_PEER_FAILED, &index, 1, text);
    }
}

/* Agreements look again, as the peer may have been known to have failed, but
 * not to have ended. */
void rcx_peer_declare_ended(struct rcx_context *context, int rank)
{
    struct rcx_peer *peer = open_peer(context, rank);

    if (peer)
        peer->has_ended = true;
    context->peer_changes++;
    if (rcx_peer_step(context, rank, RCX_PEER_REPORTED) == RCX_PEER_FAIL_COMMS)
        rcx_peer_fail_comms(context, rank, false);
}

/* If comm has failed for dead ranks, fail their other communicators. All
 * members of comm do the same. */
static void propagate(const struct rcx_comm *comm)
{
    const struct rcx_failure *why = comm->why;
    const bool all_know = comm->size == comm->context->boot->size;

    if (comm->status != RCX_ERR_PEER_FAILED)
        return;
    for (int i = 0; why && i < why->rank_count; i++) {
        const int rank = rcx_comm_context_rank(comm, why->ranks[i]);

        if (why->ranks[i] != comm->rank &&
            rcx_peer_step(comm->context, rank, RCX_PEER_REPORTED) ==
                RCX_PEER_FAIL_COMMS)
            rcx_peer_fail_comms(comm->context, rank, all_know);
    }
}

/* ---- Communicators ------------------------------------------------------- */

void rcx_comm_suspect(struct rcx_comm *comm, rcx_status_t status,
                      const int ranks[], int n, const char *format, ...)
{
    char text[RCX_REASON_TEXT];
    va_list args;

    if (step(comm, RCX_COMM_LOST) != RCX_COMM_KEEP)
        return;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    comm->status = status;
    rcx_comm_set_reason(comm, ranks, n, text);
    rcx_attention_raise(&comm->context->detector.attention);
}

void rcx_comm_confirm_failed(struct rcx_comm *comm)
{
    const struct rcx_failure *why = comm->why;
    char text[RCX_REASON_TEXT];

    snprintf(text, sizeof text, "%s",
             why ? why->text : "no memory to keep the reason of the failure");
    if (fail(comm, RCX_COMM_DRAINED, comm->status, why ? why->ranks : NULL,
             why ? why->rank_count : 0, text))
        propagate(comm);
}

void rcx_comm_reject_call(struct rcx_comm *comm, const int ranks[], int n,
                          const char *text)
{
    rcx_comm_set_reason(comm, ranks, n, text);
    rcx_log_line(&comm->context->log, RCX_LOG_ERROR, "%s", text);
}

void rcx_comm_fail_local(struct rcx_comm *comm, rcx_status_t status,
                         const int ranks[], int n, const char *text)
{
    fail(comm, RCX_COMM_FOUND_BY_ALL, status, ranks, n, text);
}

static void add_ranks(struct rcx_comm *comm, int from, int at,
                      const int ranks[], int n)
{
    struct rcx_failure *why = comm->why;

    if (!why || why->reported_by != from || why->rank_count != at)
        return;
    for (int i = 0; i < n && why->rank_count < comm->size; i++)
        why->ranks[why->rank_count++] = ranks[i];
    if (!rcx_ctrl_is_small(comm))
        announce_from(comm, at);
}

void rcx_comm_fail_reported(struct rcx_comm *comm, rcx_status_t status,
                            const int ranks[], int n, int from, int at,
                            const char *text)
{
    if (rcx_comm_is_failed(comm)) {
        if (step(comm, RCX_COMM_REPORTED) == RCX_COMM_ADD && at > 0)
            add_ranks(comm, from, at, ranks, n);
        return;
    }
    if (!fail(comm, RCX_COMM_REPORTED, status, ranks, n, text))
        return;
    if (comm->why)
        comm->why->reported_by = from;
    if (!rcx_ctrl_is_small(comm))
        rcx_comm_announce(comm);
    propagate(comm);
}

void rcx_comm_fail(struct rcx_comm *comm, rcx_status_t status,
                   const int ranks[], int n, const char *format, ...)
{
    char text[RCX_REASON_TEXT];
    va_list args;

    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    if (fail(comm, RCX_COMM_FOUND, status, ranks, n, text))
        propagate(comm);
}

void rcx_comm_exclude(struct rcx_comm *comm, const char *text)
{
    rcx_comm_fail_local(comm, RCX_ERR_EXCLUDED, &comm->rank, 1, text);
    if (comm->status == RCX_ERR_EXCLUDED)
        return;
    comm->status = RCX_ERR_EXCLUDED; /* it had failed before */
    rcx_comm_reject_call(comm, &comm->rank, 1, text);
}

void rcx_comm_set_freed(struct rcx_comm *comm)
{
    step(comm, RCX_COMM_FREE);
}
