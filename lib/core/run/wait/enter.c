/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Starts of collectives under RCX_THREAD_MULTIPLE: one thread at a time on a
 * communicator.
 */
#include "core/run/wait/enter.h"

rcx_status_t rcx_comm_acquire(struct rcx_comm *comm)
{
    struct rcx_context *context = comm->context;

    if (!atomic_exchange_explicit(&comm->starting, true, memory_order_acquire))
        return RCX_OK;
    if (rcx_guard_is_forked(
            context->guard)) /* taken by a thread of the parent */
        return rcx_enter(context);
    return rcx_fail(&context->log, RCX_ERR_BUSY,
                    "communicator %u: another thread is starting a collective "
                    "on it; the program must order the calls on a communicator",
                    comm->id);
}
