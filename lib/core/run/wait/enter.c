/* SPDX-License-Identifier: BSD-3-Clause */
#include "core/run/wait/enter.h"

rcx_status_t rcx_comm_claim(struct rcx_comm *comm)
{
    struct rcx_context *context = comm->context;

    if (!atomic_exchange_explicit(&comm->starting, true, memory_order_acquire))
        return RCX_OK;
    if (rcx_guard_is_forked(context->guard)) /* by the parent's thread */
        return rcx_enter(context);
    return rcx_fail(&context->log, RCX_ERR_BUSY,
                    "communicator %u: another thread starts a collective on "
                    "it; calls on one communicator need an order",
                    comm->id);
}
