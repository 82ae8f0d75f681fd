/* SPDX-License-Identifier: BSD-3-Clause */
/* What a communicator is asked and told, but for collectives. */
#include <sched.h>

#include "core/api/arguments.h"
#include "core/run/failure.h"

enum { TRIES = 100 };

int rcx_comm_rank(const rcx_comm_t *comm)
{
    return rcx_comm_is_valid(comm) ? comm->rank : -1;
}

int rcx_comm_size(const rcx_comm_t *comm)
{
    return rcx_comm_is_valid(comm) ? comm->size : -1;
}

rcx_status_t rcx_comm_set_timeout(rcx_comm_t *comm, int64_t timeout_ns)
{
    rcx_status_t status;

    if (!rcx_comm_is_valid(comm))
        return rcx_bad_handle("comm", comm);
    if (timeout_ns < 0)
        return rcx_fail(&comm->context->log, RCX_ERR_ARG,
                        "timeout_ns=%lld: needs 0 (none) or more",
                        (long long)timeout_ns);
    status = rcx_enter(comm->context);
    if (status != RCX_OK)
        return status;
    comm->timeout_ns = timeout_ns;
    rcx_leave(comm->context);
    return RCX_OK;
}

/* SINGLE: calls of its thread do not keep others out. */
static bool may_enter(const struct rcx_context *context)
{
    return context->threads != RCX_THREAD_SINGLE ||
           context->guard->maker == rcx_this_thread();
}

/*
 * Who is inside, in a wait, finds an abort soon; where nobody is, this thread
 * goes in. Who is about to leave may not have found it, but leaves soon.
 */
static void see_to_it(struct rcx_context *context)
{
    for (int i = 0; i < TRIES && rcx_is_alarmed(context); i++) {
        if (rcx_guard_is_mine(context->guard))
            return;
        if (rcx_guard_try(context->guard)) {
            rcx_watch(context);
            rcx_leave(context);
            return;
        }
        sched_yield();
    }
}

/* From any thread, whatever others do. */
rcx_status_t rcx_comm_abort(rcx_comm_t *comm)
{
    struct rcx_context *context;

    if (!rcx_comm_is_valid(comm))
        return rcx_bad_handle("comm", comm);
    context = comm->context;
    if (rcx_guard_is_forked(context->guard))
        return rcx_enter(context);
    atomic_store_explicit(&comm->aborted, true, memory_order_release);
    rcx_attract(context);
    rcx_wake(context);
    if (may_enter(context))
        see_to_it(context);
    return RCX_OK;
}

rcx_status_t rcx_comm_error(rcx_comm_t *comm, rcx_error_info_t *info_p)
{
    const struct rcx_failure *why;
    rcx_status_t status;

    if (!rcx_comm_is_valid(comm))
        return rcx_bad_handle("comm", comm);
    if (!info_p)
        return rcx_missing(&comm->context->log, "info_p");
    status = rcx_enter(comm->context);
    if (status != RCX_OK)
        return status;
    if (rcx_is_attracted(comm->context))
        rcx_watch(comm->context);
    why = comm->why;
    *info_p = (rcx_error_info_t){
        .status = comm->failed,
        .rank_count = why ? why->rank_count : 0,
        .ranks = why ? why->ranks : NULL,
        .text = why ? why->text : ""};
    rcx_leave(comm->context);
    return RCX_OK;
}
