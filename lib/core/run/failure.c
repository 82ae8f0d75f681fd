/* SPDX-License-Identifier: BSD-3-Clause */
#include "core/run/failure.h"

#include <stdarg.h>
#include <string.h>

#include "core/base/clock.h"
#include "core/run/note.h"
#include "core/run/request.h"
#include "core/run/progress.h"
#include "core/run/watch.h"

/* How long receives that are cancelled may take to let go of their buffers;
 * one that has begun may never end (its sender died). */
enum { LET_GO_NS = 100 * 1000 * 1000 };

/* ---- Telling --------------------------------------------------------------- */

void rcx_comm_tell(struct rcx_comm *comm)
{
    struct rcx_note_body body = {.kind = RCX_NOTE_FAILED,
                                 .status = (int8_t)comm->failed};

    if (comm->why) {
        body.rank_count = (int8_t)comm->why->rank_count;
        memcpy(body.ranks, comm->why->ranks, sizeof body.ranks);
    }
    for (int i = 0; i < comm->size; i++)
        if (i != comm->rank)
            rcx_note_send(comm, i, &body);
}

static void explain(struct rcx_comm *comm, const int ranks[], int n,
                    const char *text)
{
    struct rcx_failure *why = comm->why; /* of a call that was refused */

    if (!why)
        why = rcx_heap_zalloc(&comm->context->heap, sizeof *why);
    comm->why = why;
    if (!why)
        return;
    why->rank_count = n < 0 ? 0 : n < RCX_RANKS_TOLD ? n : RCX_RANKS_TOLD;
    for (int i = 0; i < why->rank_count; i++)
        why->ranks[i] = ranks[i];
    snprintf(why->text, sizeof why->text, "%s", text);
}

/* Ranks whose world has failed do not come to the meetings at the end: who
 * waits there already is let go. */
static void latch(struct rcx_comm *comm, rcx_status_t status, const int ranks[],
                  int n, const char *text)
{
    struct rcx_comm *internal = comm->context->internal;

    comm->failed = status;
    if (comm == comm->context->world && internal->failed == RCX_OK)
        internal->failed = status;
    comm->context->broken = true;
    explain(comm, ranks, n, text);
    rcx_log_line(&comm->context->log, RCX_LOG_ERROR, "%s", text);
    rcx_dump_failure(comm->context, text);
    rcx_attract(comm->context);
}

void rcx_comm_refuse(struct rcx_comm *comm, const int ranks[], int n,
                     const char *text)
{
    explain(comm, ranks, n, text);
    rcx_log_line(&comm->context->log, RCX_LOG_ERROR, "%s", text);
}

void rcx_comm_fail_together(struct rcx_comm *comm, rcx_status_t status,
                            const int ranks[], int n, const char *text)
{
    if (comm->failed == RCX_OK)
        latch(comm, status, ranks, n, text);
}

void rcx_comm_fail(struct rcx_comm *comm, rcx_status_t status,
                   const int ranks[], int n, const char *format, ...)
{
    char text[RCX_TEXT_TOLD];
    va_list args;

    if (comm->failed != RCX_OK)
        return;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    latch(comm, status, ranks, n, text);
    rcx_comm_tell(comm);
}

void rcx_comm_fail_as_told(struct rcx_comm *comm,
                           const struct rcx_note_body *body)
{
    const rcx_status_t status =
        body->status < 0 ? (rcx_status_t)body->status : RCX_ERR_COMM_FAILED;
    char text[RCX_TEXT_TOLD];
    int used = snprintf(
        text, sizeof text, "communicator %u failed on rank %d: %s", comm->id,
        rcx_comm_index(comm, body->from), rcx_status_string(status));

    if (comm->failed != RCX_OK)
        return;
    for (int i = 0; i < body->rank_count && i < RCX_RANKS_TOLD; i++)
        used += snprintf(text + used, sizeof text - (size_t)used, "%s %d",
                         i ? "," : "; because of rank", body->ranks[i]);
    latch(comm, status, body->ranks, body->rank_count, text);
}

/* ---- Giving up what is in flight ------------------------------------------- */

static void free_abandoned(struct rcx_context *context, struct rcx_exec *x)
{
    struct rcx_piece *piece = x->home;

    if (!piece->owns_scratch)
        rcx_scratch_put(&context->scratch, x->base[RCX_BUFFER_TMP],
                        piece->scratch_bytes);
    piece->program->pins--;
    rcx_heap_free(&context->heap, x);
}

static void abandon(struct rcx_context *context, struct rcx_exec *x)
{
    const struct rcx_piece *piece = x->home;

    piece->program->pins++;
    context->abandoned_receives += rcx_exec_under_way(x, RCX_STEP_RECV);
    rcx_exec_abandon(x);
    if (x->steps_left == 0) {
        free_abandoned(context, x);
        return;
    }
    x->next = context->abandoned;
    context->abandoned = x;
}

void rcx_abandoned_message(struct rcx_context *context, struct rcx_exec *x,
                           const struct rcx_message *m)
{
    struct rcx_exec **link = &context->abandoned;

    if (m->step->kind == RCX_STEP_RECV)
        context->abandoned_receives--;
    if (--x->steps_left > 0)
        return;
    while (*link != x)
        link = &(*link)->next;
    *link = x->next;
    free_abandoned(context, x);
}

void rcx_abandoned_free(struct rcx_context *context)
{
    while (context->abandoned) {
        struct rcx_exec *x = context->abandoned;

        context->abandoned = x->next;
        free_abandoned(context, x);
    }
}

static void give_up(struct rcx_request *r)
{
    for (unsigned i = 0; i < rcx_request_slots(r); i++) {
        if (r->slots[i])
            abandon(r->comm->context, r->slots[i]);
        r->slots[i] = NULL;
    }
    if (r->status == RCX_OK)
        r->status = r->comm->failed;
    rcx_request_finish(r);
}

void rcx_comm_give_up(struct rcx_comm *comm)
{
    struct rcx_context *context = comm->context;
    const uint64_t until = rcx_now_ns() + LET_GO_NS;

    while (context->transport->done) /* which executions must hear of before */
        rcx_context_poll(context);
    comm->stalled = NULL;
    while (comm->first)
        give_up(comm->first);
    while (context->abandoned_receives > 0 && rcx_now_ns() < until)
        rcx_context_poll(context);
}
