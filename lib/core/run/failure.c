/* SPDX-License-Identifier: BSD-3-Clause */
#include "core/run/failure.h"

#include <stdarg.h>
#include <string.h>

#include "core/run/note.h"

void rcx_comm_tell(struct rcx_comm *comm)
{
    struct rcx_note_body body = {.kind = RCX_NOTE_FAILED,
                                 .status = (int8_t)comm->failed};

    if (comm->why) {
        body.rank_count = (int8_t)comm->why->rank_count;
        memcpy(body.ranks, comm->why->ranks, sizeof body.ranks);
    }
    rcx_note_send_all(comm, &body);
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
    struct rcx_context *context = comm->context;
    struct rcx_comm *internal = context->internal;

    comm->failed = status;
    if (comm == context->world && internal->failed == RCX_OK)
        internal->failed = status;
    context->broken |= comm != internal;
    explain(comm, ranks, n, text);
    rcx_log_line(&context->log, RCX_LOG_ERROR, "%s", text);
    context->watch.failed = comm;
    rcx_alarm_raise(&context->watch.alarm);
}

void rcx_comm_doubt(struct rcx_comm *comm, rcx_status_t status,
                    const int ranks[], int n, const char *format, ...)
{
    char text[RCX_TEXT_TOLD];
    va_list args;

    if (comm->failed != RCX_OK || comm->doubt != RCX_OK)
        return;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    comm->doubt = status;
    explain(comm, ranks, n, text);
    rcx_alarm_raise(&comm->context->watch.alarm);
}

void rcx_comm_decide(struct rcx_comm *comm)
{
    struct rcx_failure why = {.text = "no memory to keep why"};

    if (comm->why)
        why = *comm->why;
    rcx_comm_fail(comm, comm->doubt, why.ranks, why.rank_count, "%s", why.text);
}

void rcx_comm_refuse(struct rcx_comm *comm, const int ranks[], int n,
                     const char *text)
{
    explain(comm, ranks, n, text);
    rcx_log_line(&comm->context->log, RCX_LOG_ERROR, "%s", text);
}

void rcx_comm_fail_untold(struct rcx_comm *comm, rcx_status_t status,
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
