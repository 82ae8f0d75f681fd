/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Dispatch of control messages: each goes to the module that handles its kind.
 * Failures and agreements of a communicator that this rank does not have yet
 * are kept, and replayed when the communicator is made.
 */
#include "core/run/detect/ctrl_dispatch.h"

#include <string.h>

#include "core/run/detect/mismatch.h"
#include "core/run/detect/straggler.h"
#include "core/run/diag/describe.h"
#include "core/run/fault/agreement.h"
#include "core/run/fault/ctrl_msg.h"
#include "core/run/fault/failure.h"

static struct rcx_comm *find_comm(struct rcx_context *context,
                                  const struct rcx_ctrl_msg *body)
{
    struct rcx_comm *comm = context->comms.first;

    while (comm && !rcx_ctrl_is_about(body, comm))
        comm = comm->next;
    return comm;
}

/* Ranks of comm that the message names; returns how many. */
static int ranks_of(const struct rcx_comm *comm,
                    const struct rcx_ctrl_msg *body,
                    int ranks[RCX_RANKS_LISTED])
{
    int n = 0;

    for (int i = 0; i < body->rank_count && i < RCX_RANKS_LISTED; i++)
        if (body->ranks[i] >= 0 && body->ranks[i] < comm->size)
            ranks[n++] = body->ranks[i];
    return n;
}

/* Another member reports that comm has failed. */
static void fail_reported(struct rcx_comm *comm,
                          const struct rcx_ctrl_msg *body)
{
    const rcx_status_t status =
        body->status < 0 ? (rcx_status_t)body->status : RCX_ERR_COMM_FAILED;
    char text[RCX_REASON_TEXT], because[RCX_REASON_TEXT], name[RCX_COMM_TEXT];
    int ranks[RCX_RANKS_LISTED];
    const int n = ranks_of(comm, body, ranks);

    snprintf(text, sizeof text, "%s failed on rank %d: %s%s",
             rcx_comm_print(comm, name), rcx_comm_index(comm, body->from),
             rcx_status_string(status),
             rcx_ranks_print(comm, "; because of rank", ranks, n, because,
                             sizeof because));
    rcx_comm_fail_reported(comm, status, ranks, n, body->from,
                           (int)body->sequence, text);
    if (body->tells_on && !comm->is_announced)
        rcx_comm_announce(comm);
}

/* An attempt to make a group has failed on another member. */
static void fail_attempt(struct rcx_context *context,
                         const struct rcx_ctrl_msg *body)
{
    const bool is_refused = body->status != RCX_ERR_TIMEOUT;

    for (struct rcx_comm *c = context->comms.first; c; c = c->next)
        if (rcx_comm_is_for_groups(c->id) && c->tag == body->tag &&
            c->group == body->group && c->attempt <= body->value &&
            rcx_comm_index(c, body->from) >= 0)
            fail_reported(c, body);
    rcx_attempts_fail(&context->comms.attempts, &context->heap, body->tag,
                      body->group, body->value,
                      is_refused ? (rcx_status_t)body->status : RCX_OK);
}

/* ---- Failures of communicators that are not made yet --------------------- */

struct rcx_ctrl_early {
    struct rcx_ctrl_early *next;
    size_t bytes; /* that follow the message */
    struct rcx_ctrl_msg body;
    _Alignas(8) unsigned char data[];
};

/* The sender has a communicator that this rank does not have yet. */
static void keep_early(struct rcx_context *context,
                       const struct rcx_ctrl_msg *body, size_t bytes)
{
    struct rcx_ctrl_early *note =
        rcx_heap_alloc(&context->heap, sizeof *note + bytes);
    struct rcx_ctrl_early **end = &context->ctrl.early;

    if (!note)
        return;
    note->next = NULL;
    note->bytes = bytes;
    memcpy(&note->body, body, sizeof *body + bytes);
    while (*end)
        end = &(*end)->next;
    *end = note;
}

static void handle(struct rcx_comm *comm, const struct rcx_ctrl_msg *body,
                   size_t bytes)
{
    if (body->kind == RCX_CTRL_AGREE)
        rcx_agreement_receive(comm, body, bytes);
    else
        fail_reported(comm, body);
}

void rcx_ctrl_replay(struct rcx_comm *comm)
{
    struct rcx_ctrl_early **link = &comm->context->ctrl.early;

    while (*link) {
        struct rcx_ctrl_early *note = *link;

        if (!rcx_ctrl_is_about(&note->body, comm)) {
            link = &note->next;
            continue;
        }
        *link = note->next;
        handle(comm, &note->body, note->bytes);
        rcx_heap_free(&comm->context->heap, note);
    }
}

void rcx_ctrl_close(struct rcx_context *context)
{
    rcx_heap_free(&context->heap, context->peers);
    while (context->ctrl.early) {
        struct rcx_ctrl_early *note = context->ctrl.early;

        context->ctrl.early = note->next;
        rcx_heap_free(&context->heap, note);
    }
}

/* This rank does not have the communicator of body. Messages of one that it has
 * freed come too late; others come too early. A reply that the communicator is
 * gone would be wrong then: its receiver would decide too early. */
static void receive_without_comm(struct rcx_context *context,
                                 const struct rcx_ctrl_msg *body, size_t bytes)
{
    const bool was_freed =
        rcx_comm_id_was_freed(&context->comms.ids, body->comm_id, body->group);
    const bool is_excluded = rcx_peer_of(context, body->from).is_excluded;

    if (body->kind == RCX_CTRL_AGREE && (was_freed || is_excluded))
        rcx_agreement_tell_gone(context, body);
    else if (!was_freed)
        keep_early(context, body, bytes);
}

/* ---- Peers that finalize after a failure --------------------------------- */

/* Whether a collective operation is in progress on a communicator with this
 * member. The member may have done its part, but its exit would fail the
 * communicator. */
static bool is_in_operation(const struct rcx_context *context, int rank)
{
    for (const struct rcx_comm *c = context->comms.first; c; c = c->next)
        if (c != context->internal && c->first && !rcx_comm_is_failed(c) &&
            rcx_comm_index(c, rank) >= 0)
            return true;
    return false;
}

/* Reply to ranks that finalize, which wait for it for a limited time. */
static void acknowledge(struct rcx_context *context)
{
    struct rcx_ctrl_msg ack = {.kind = RCX_CTRL_FINALIZES_ACK,
                               .comm_id = RCX_COMM_ID_INTERNAL};

    for (int rank = 0; rank < context->boot->size && context->ctrl.unanswered;
         rank++)
        if (rcx_peer_of(context, rank).awaits_reply &&
            !is_in_operation(context, rank)) {
            rcx_peer_await_reply(context, rank, false);
            rcx_ctrl_reply(context, rank, &ack);
        }
}

static void note_finalizes(struct rcx_context *context,
                           const struct rcx_ctrl_msg *body)
{
    rcx_peer_announce_agree(context, body->from, body->value);
    rcx_peer_await_reply(context, body->from,
                         rcx_peer_step(context, body->from,
                                       RCX_PEER_FINALIZES) == RCX_PEER_REPLY);
}

/* ---- Dispatch ------------------------------------------------------------ */

static void dispatch(struct rcx_context *context,
                     const struct rcx_ctrl_msg *body, size_t bytes)
{
    struct rcx_comm *comm = find_comm(context, body);

    if (body->kind == RCX_CTRL_AGREE)
        rcx_peer_note_agree(context, body->from);
    if (body->kind == RCX_CTRL_FAILED &&
        rcx_peer_of(context, body->from).is_excluded)
        return; /* it takes the others for failed */
    if (body->kind == RCX_CTRL_QUERY)
        rcx_straggler_answer(context, comm, body);
    else if (body->kind == RCX_CTRL_FAILED &&
             rcx_comm_is_for_groups(body->comm_id))
        fail_attempt(context, body);
    else if (body->kind == RCX_CTRL_GONE && comm)
        rcx_agreement_gone(comm, body);
    else if (body->kind == RCX_CTRL_PING && comm)
        rcx_agreement_answer(comm, body);
    else if (body->kind == RCX_CTRL_PONG && comm)
        rcx_agreement_note_answer(comm, body);
    else if (body->kind == RCX_CTRL_FAILED || body->kind == RCX_CTRL_AGREE)
        comm ? handle(comm, body, bytes)
             : receive_without_comm(context, body, bytes);
    else if (body->kind == RCX_CTRL_FINALIZES)
        note_finalizes(context, body);
    else if (body->kind == RCX_CTRL_FINALIZES_ACK)
        rcx_peer_acknowledge(context, body->from);
    else if (comm && body->kind == RCX_CTRL_CALL)
        rcx_mismatch_compare(comm, body);
    else if (comm)
        rcx_straggler_record(comm, body);
}

void rcx_ctrl_dispatch(struct rcx_context *context)
{
    struct rcx_transport *t = context->transport;

    while (t->ctrl) {
        struct rcx_ctrl_frame *frame = rcx_ctrl_queue_pop(t);
        const struct rcx_ctrl_msg *body = (const void *)frame->data;

        if (frame->bytes >= sizeof *body && body->from >= 0 &&
            body->from < context->boot->size)
            dispatch(context, body, frame->bytes - sizeof *body);
        if (t->ops->free_ctrl)
            t->ops->free_ctrl(t, frame);
        else
            rcx_ctrl_frame_free(frame);
    }
    acknowledge(context);
}
