/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Starts of collectives under RCX_THREAD_MULTIPLE: one thread at a time on a
 * communicator. And the attention of a thread inside, from any thread.
 */
#include "core/run/wait/enter.h"

#include <sched.h>

#include "core/run/diag/describe.h"

enum { TRIES = 100 };

/* RCX_THREAD_SINGLE: calls of its thread do not exclude others. */
static bool may_enter(const struct rcx_context *context)
{
    return context->threads != RCX_THREAD_SINGLE ||
           context->guard->maker == rcx_this_thread();
}

/* A thread that is about to leave may miss it, but leaves soon. */
void rcx_context_attend(struct rcx_context *context)
{
    rcx_attention_raise(&context->detector.attention);
    rcx_wake(&context->sleeper);
    for (int i = 0; may_enter(context) && i < TRIES &&
                    rcx_attention_is_raised(&context->detector.attention);
         i++) {
        if (rcx_guard_is_mine(context->guard))
            return;
        if (rcx_guard_try(context->guard)) {
            rcx_detector_poll(context);
            rcx_leave(context);
            return;
        }
        sched_yield();
    }
}

rcx_status_t rcx_comm_acquire(struct rcx_comm *comm)
{
    struct rcx_context *context = comm->context;
    char name[RCX_COMM_TEXT];

    if (!atomic_exchange_explicit(&comm->starting, true, memory_order_acquire))
        return RCX_OK;
    if (rcx_guard_is_forked(
            context->guard)) /* taken by a thread of the parent */
        return rcx_enter(context);
    return rcx_fail(&context->log, RCX_ERR_BUSY,
                    "%s: another thread is starting a collective on it; the "
                    "program must order the calls on a communicator",
                    rcx_comm_print(comm, name));
}
