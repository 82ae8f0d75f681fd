/* SPDX-License-Identifier: BSD-3-Clause */
/* What is looked after beside messages. */
#ifndef RCX_CORE_RUN_WATCH_H
#define RCX_CORE_RUN_WATCH_H

#include "core/exec/transport.h"
#include "core/run/context.h"

/* Look after notes, aborts, deadlines and calls that do not match; from the top
 * of a call, where no message's completion is being handled. */
void rcx_watch(struct rcx_context *context);
/* Have the next rcx_watch() look for failures; from any thread. */
void rcx_attract(struct rcx_context *context);
/* Wake a thread of this process that sleeps in RCX; from any thread. */
static inline void rcx_wake(struct rcx_context *context)
{
    if (context->can_sleep && context->transport)
        context->transport->ops->wake(context->transport);
}
/* With the guard held: something began that whoever sleeps knows nothing of. */
static inline void rcx_wake_sleeper(struct rcx_context *context)
{
    if (__builtin_expect(context->is_armed, 0)) {
        context->is_armed = false;
        rcx_wake(context);
    }
}
/* From any thread; the next one is for who is inside. */
static inline bool rcx_is_alarmed(const struct rcx_context *context)
{
    return atomic_load_explicit(&context->attention, memory_order_relaxed);
}
static inline bool rcx_is_attracted(const struct rcx_context *context)
{
    const struct rcx_transport *t = context->transport;

    return rcx_is_alarmed(context) ||
           (t && (t->notes || t->deaths != context->deaths));
}
void rcx_roll_free(struct rcx_comm *comm);

#endif
