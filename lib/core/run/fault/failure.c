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

/* A message has room for RCX_RANKS_LISTED ranks; further messages carry the
 * others. */
void rcx_comm_announce(struct rcx_comm *comm)
{
    const struct rcx_failure *why = comm->why;
    int at = 0;

    do {
        struct rcx_ctrl_msg body = {.kind = RCX_CTRL_FAILED,
                                    .status = (int8_t)comm->failed,
                                    .value = comm->attempt,
                                    .sequence = (uint64_t)at};

        while (why && at < why->rank_count &&
               body.rank_count < RCX_RANKS_LISTED)
            body.ranks[body.rank_count++] = why->ranks[at++];
        rcx_ctrl_send_all(comm, &body);
    } while (why && at < why->rank_count);
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

        if (c->parent != parent || c->failed != RCX_OK)
            continue;
        for (int i = 0;
             parent->why && i < parent->why->rank_count && n < RCX_RANKS_LISTED;
             i++) {
            const int rank = parent->why->ranks[i];

            ranks[n] = rcx_comm_index(c, rcx_comm_context_rank(parent, rank));
            n += ranks[n] >= 0;
        }
        rcx_comm_fail(c, RCX_ERR_COMM_FAILED, ranks, n,
                      "tag=%d: communicator %u, which the group is made from, "
                      "has failed",
                      c->tag, parent->id);
    }
}

/* Ranks whose world has failed skip the barriers of rcx_finalize(). So the
 * internal communicator fails with the world, which releases ranks that wait
 * there. */
static void set_failed(struct rcx_comm *comm, rcx_status_t status,
                       const int ranks[], int n, const char *text)
{
    struct rcx_context *context = comm->context;
    struct rcx_comm *internal = context->internal;

    comm->failed = status;
    if (rcx_comm_is_for_groups(comm->id))
        rcx_attempts_fail(&context->comms.attempts, &context->heap, comm->tag,
                          comm->group, comm->attempt, RCX_OK);
    if (comm == context->world && internal->failed == RCX_OK)
        internal->failed = status;
    context->broken |= comm != internal;
    rcx_comm_set_reason(comm, ranks, n, text);
    rcx_log_line(&context->log, RCX_LOG_ERROR, "%s", text);
    context->detector.failed = comm;
    rcx_attention_raise(&context->detector.attention);
    fail_groups(comm);
}

static void fail_for_peer(struct rcx_comm *comm, int rank)
{
    const struct rcx_ctrl *ctrl = &comm->context->ctrl;
    const bool has_left =
        rcx_ctrl_known(ctrl, rcx_comm_context_rank(comm, rank)) &
        RCX_PEER_FINALIZES;
    char text[RCX_REASON_TEXT], name[RCX_RANK_TEXT];

    snprintf(text, sizeof text, "communicator %u: rank %s %s", comm->id,
             rcx_rank_print(comm, rank, name),
             has_left ? "has left, in rcx_finalize()" : "is dead");
    set_failed(comm, RCX_ERR_PEER_FAILED, &rank, 1, text);
}

void rcx_comms_fail_peer(struct rcx_context *context, int rank, bool all_know)
{
    for (struct rcx_comm *c = context->comms.first; c; c = c->next) {
        const int index = rcx_comm_index(c, rank);

        if (index < 0 || index == c->rank || c->failed != RCX_OK)
            continue;
        fail_for_peer(c, index);
        if (!all_know)
            rcx_comm_announce(c);
    }
}

/* If comm has failed for dead ranks, fail their other communicators. All
 * members of comm do the same. */
static void propagate(const struct rcx_comm *comm)
{
    const struct rcx_failure *why = comm->why;
    const bool all_know = comm->size == comm->context->boot->size;

    if (comm->failed != RCX_ERR_PEER_FAILED)
        return;
    for (int i = 0; why && i < why->rank_count; i++)
        rcx_comms_fail_peer(comm->context,
                            rcx_comm_context_rank(comm, why->ranks[i]),
                            all_know);
}

void rcx_comm_suspect(struct rcx_comm *comm, rcx_status_t status,
                      const int ranks[], int n, const char *format, ...)
{
    char text[RCX_REASON_TEXT];
    va_list args;

    if (comm->failed != RCX_OK || comm->suspected != RCX_OK)
        return;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    comm->suspected = status;
    rcx_comm_set_reason(comm, ranks, n, text);
    rcx_attention_raise(&comm->context->detector.attention);
}

void rcx_comm_confirm_failed(struct rcx_comm *comm)
{
    const struct rcx_failure *why = comm->why;

    rcx_comm_fail(comm, comm->suspected, why ? why->ranks : NULL,
                  why ? why->rank_count : 0, "%s",
                  why ? why->text : "no memory to keep why");
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
    if (comm->failed == RCX_OK)
        set_failed(comm, status, ranks, n, text);
}

void rcx_comm_fail_reported(struct rcx_comm *comm, rcx_status_t status,
                            const int ranks[], int n, int from,
                            const char *text)
{
    if (comm->failed != RCX_OK)
        return;
    set_failed(comm, status, ranks, n, text);
    if (comm->why)
        comm->why->reported_by = from;
    propagate(comm);
}

void rcx_comm_add_failed(struct rcx_comm *comm, int from, int at,
                         const int ranks[], int n)
{
    struct rcx_failure *why = comm->why;

    if (!why || why->reported_by != from || why->rank_count != at)
        return;
    for (int i = 0; i < n && why->rank_count < comm->size; i++)
        why->ranks[why->rank_count++] = ranks[i];
}

void rcx_comm_fail(struct rcx_comm *comm, rcx_status_t status,
                   const int ranks[], int n, const char *format, ...)
{
    char text[RCX_REASON_TEXT];
    va_list args;

    if (comm->failed != RCX_OK)
        return;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    set_failed(comm, status, ranks, n, text);
    rcx_comm_announce(comm);
    propagate(comm);
}
