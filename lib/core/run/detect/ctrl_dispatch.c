/* SPDX-License-Identifier: BSD-3-Clause */
#include "core/run/detect/ctrl_dispatch.h"

#include "core/run/detect/mismatch.h"
#include "core/run/detect/straggler.h"
#include "core/run/diag/describe.h"
#include "core/run/fault/ctrl_msg.h"
#include "core/run/fault/failure.h"

static struct rcx_comm *comm_of(struct rcx_context *context,
                                const struct rcx_note_body *body)
{
    struct rcx_comm *comm = context->comms.first;

    while (comm && !rcx_note_is_about(body, comm))
        comm = comm->next;
    return comm;
}

/* Ranks of comm that a note names; how many. */
static int named(const struct rcx_comm *comm, const struct rcx_note_body *body,
                 int ranks[RCX_RANKS_TOLD])
{
    int n = 0;

    for (int i = 0; i < body->rank_count && i < RCX_RANKS_TOLD; i++)
        if (body->ranks[i] >= 0 && body->ranks[i] < comm->size)
            ranks[n++] = body->ranks[i];
    return n;
}

/* comm fails because another member says so. */
static void fail_as_told(struct rcx_comm *comm,
                         const struct rcx_note_body *body)
{
    const rcx_status_t status =
        body->status < 0 ? (rcx_status_t)body->status : RCX_ERR_COMM_FAILED;
    char text[RCX_TEXT_TOLD], because[RCX_TEXT_TOLD];
    int ranks[RCX_RANKS_TOLD];
    const int n = named(comm, body, ranks);

    if (body->sequence > 0) { /* it has failed so; these are more ranks */
        rcx_comm_add_failed(comm, body->from, (int)body->sequence, ranks, n);
        return;
    }
    snprintf(text, sizeof text, "communicator %u failed on rank %d: %s%s",
             comm->id, rcx_comm_index(comm, body->from),
             rcx_status_string(status),
             rcx_ranks_print(comm, "; because of rank", ranks, n, because,
                             sizeof because));
    rcx_comm_fail_told(comm, status, ranks, n, body->from, text);
}

/* An attempt to make a group has failed on another member. */
static void fail_attempt(struct rcx_context *context,
                         const struct rcx_note_body *body)
{
    const bool is_refused = body->status != RCX_ERR_TIMEOUT;

    for (struct rcx_comm *c = context->comms.first; c; c = c->next)
        if (rcx_comm_is_for_groups(c->id) && c->tag == body->tag &&
            c->group == body->group && c->attempt <= body->value &&
            rcx_comm_index(c, body->from) >= 0)
            fail_as_told(c, body);
    rcx_attempts_fail(&context->comms.attempts, &context->heap, body->tag,
                      body->group, body->value,
                      is_refused ? (rcx_status_t)body->status : RCX_OK);
}

/* ---- Failures that are told too early -------------------------------------- */

struct rcx_early_note {
    struct rcx_early_note *next;
    struct rcx_note_body body;
};

/*
 * That rank has a communicator that this one has not got yet, or has freed;
 * none that both are in has this id again. So the note stays.
 */
static void keep_note(struct rcx_context *context,
                      const struct rcx_note_body *body)
{
    struct rcx_early_note *note = rcx_heap_alloc(&context->heap, sizeof *note);
    struct rcx_early_note **end = &context->notes.early;

    if (!note)
        return;
    *note = (struct rcx_early_note){NULL, *body};
    while (*end)
        end = &(*end)->next;
    *end = note;
}

void rcx_notes_recall(struct rcx_comm *comm)
{
    const struct rcx_early_note *note = comm->context->notes.early;

    for (; note; note = note->next)
        if (rcx_note_is_about(&note->body, comm))
            fail_as_told(comm, &note->body);
}

void rcx_notes_forget(struct rcx_context *context)
{
    rcx_heap_free(&context->heap, context->notes.known);
    while (context->notes.early) {
        struct rcx_early_note *note = context->notes.early;

        context->notes.early = note->next;
        rcx_heap_free(&context->heap, note);
    }
}

static void learn(struct rcx_context *context, int rank, unsigned fact)
{
    struct rcx_notes *notes = &context->notes;

    if (!notes->known)
        notes->known =
            rcx_heap_zalloc(&context->heap, (size_t)context->boot->size);
    if (notes->known)
        notes->known[rank] |= (unsigned char)fact;
}

/* The rank that leaves waits for this answer. */
static void answer_left(struct rcx_context *context, int rank)
{
    struct rcx_note_body seen = {.kind = RCX_NOTE_SEEN,
                                 .comm_id = RCX_COMM_ID_INTERNAL};

    learn(context, rank, RCX_NOTES_LEFT);
    rcx_note_answer(context, rank, &seen);
}

/* ---- Reading --------------------------------------------------------------- */

static void read_note(struct rcx_context *context,
                      const struct rcx_note_body *body)
{
    struct rcx_comm *comm = comm_of(context, body);

    if (body->kind == RCX_NOTE_ROLL)
        rcx_straggler_answer(context, comm, body);
    else if (body->kind == RCX_NOTE_FAILED &&
             rcx_comm_is_for_groups(body->comm_id))
        fail_attempt(context, body);
    else if (comm && body->kind == RCX_NOTE_FAILED)
        fail_as_told(comm, body);
    else if (body->kind == RCX_NOTE_FAILED)
        keep_note(context, body);
    else if (body->kind == RCX_NOTE_LEFT)
        answer_left(context, body->from);
    else if (body->kind == RCX_NOTE_SEEN)
        learn(context, body->from, RCX_NOTES_SEEN);
    else if (comm && body->kind == RCX_NOTE_CALL)
        rcx_mismatch_hear(comm, body);
    else if (comm)
        rcx_straggler_record(comm, body);
}

void rcx_notes_read(struct rcx_context *context)
{
    struct rcx_transport *t = context->transport;

    while (t->notes) {
        struct rcx_note_body body;

        if (!t->ops->take_note(t, &body, sizeof body))
            continue;
        if (body.from >= 0 && body.from < context->boot->size)
            read_note(context, &body);
    }
}
