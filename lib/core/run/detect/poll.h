/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What messages that are complete lead to. Transports only mark them; all that
 * follows happens here, outside of their callbacks.
 */
#ifndef RCX_CORE_RUN_DETECT_POLL_H
#define RCX_CORE_RUN_DETECT_POLL_H

#include "core/base/relax.h"
#include "core/run/detect/ctrl_dispatch.h"
#include "core/run/request/orphan.h"
#include "core/run/request/request.h"

/* The first of those that are complete, of which there is one. */
static inline struct rcx_message *rcx_take_done(struct rcx_transport *t)
{
    struct rcx_message *m = t->done;

    t->done = m->next;
    if (!t->done)
        t->done_end = &t->done;
    return m;
}

/* Take what is complete into account; so many messages. What was said before is
 * heard before. */
static inline int rcx_handle_done(struct rcx_context *context)
{
    struct rcx_transport *t = context->transport;
    int events = 0;

    if (__builtin_expect(t->ctrl != NULL, 0))
        rcx_ctrl_dispatch(context);
    while (t->done) {
        struct rcx_message *m = rcx_take_done(t);
        struct rcx_exec *x = m->owner;

        events++;
        if (!x->owner)
            rcx_orphan_message(context, x, m);
        else if (rcx_exec_advance(x, m))
            rcx_request_advance(x->owner, x);
    }
    return events;
}

/* Poll until something happens, or for so many empty polls in a row. */
static inline bool rcx_transport_poll(struct rcx_transport *t, unsigned polls)
{
    unsigned (*const progress)(struct rcx_transport *) = t->ops->progress;

    for (; !t->done && !progress(t); rcx_relax())
        if (--polls == 0)
            return false;
    return true;
}

/* Progress the transport and all requests; events handled. */
int rcx_context_poll(struct rcx_context *context);

#endif
