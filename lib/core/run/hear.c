/* SPDX-License-Identifier: BSD-3-Clause */
#include "core/run/hear.h"

#include "core/run/describe.h"
#include "core/run/failure.h"
#include "core/run/mismatch.h"
#include "core/run/note.h"
#include "core/run/roll.h"

static struct rcx_comm *comm_of(struct rcx_context *context,
                                const struct rcx_note_body *body)
{
    struct rcx_comm *comm = context->comms.first;

    while (comm && !rcx_note_is_about(body, comm))
        comm = comm->next;
    return comm;
}

/* comm fails because another member says so. */
static void fail_as_told(struct rcx_comm *comm,
                         const struct rcx_note_body *body)
{
    const rcx_status_t status =
        body->status < 0 ? (rcx_status_t)body->status : RCX_ERR_COMM_FAILED;
    const int n =
        body->rank_count < RCX_RANKS_TOLD ? body->rank_count : RCX_RANKS_TOLD;
    char text[RCX_TEXT_TOLD], ranks[RCX_TEXT_TOLD];

    snprintf(text, sizeof text, "communicator %u failed on rank %d: %s%s",
             comm->id, rcx_comm_index(comm, body->from),
             rcx_status_string(status),
             rcx_ranks_print(comm, "; because of rank", body->ranks, n, ranks,
                             sizeof ranks));
    rcx_comm_fail_untold(comm, status, body->ranks, body->rank_count, text);
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

    if (!note)
        return;
    *note = (struct rcx_early_note){context->notes.early, *body};
    context->notes.early = note;
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
    while (context->notes.early) {
        struct rcx_early_note *note = context->notes.early;

        context->notes.early = note->next;
        rcx_heap_free(&context->heap, note);
    }
}

/* ---- Reading --------------------------------------------------------------- */

static void read_note(struct rcx_context *context,
                      const struct rcx_note_body *body)
{
    struct rcx_comm *comm = comm_of(context, body);

    if (body->kind == RCX_NOTE_ROLL)
        rcx_roll_answer(context, comm, body);
    else if (comm && body->kind == RCX_NOTE_FAILED)
        fail_as_told(comm, body);
    else if (body->kind == RCX_NOTE_FAILED)
        keep_note(context, body);
    else if (comm && body->kind == RCX_NOTE_CALL)
        rcx_mismatch_hear(comm, body);
    else if (comm)
        rcx_roll_mark(comm, body);
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
