/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * One poll of the transport, and the completions that it leads to.
 */
#include "core/run/detect/poll.h"

int rcx_context_poll(struct rcx_context *context)
{
    struct rcx_transport *t = context->transport;
    int events;

    if (!t)
        return 0;
    events = t->done ? 0 : (int)t->ops->progress(t);
    return events + rcx_handle_done(context);
}
