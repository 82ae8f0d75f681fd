/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Sleeping until something happens: one descriptor for the transport's events
 * and for the time of the next deadline.
 */
#ifndef RCX_CORE_RUN_WAIT_SLEEP_H
#define RCX_CORE_RUN_WAIT_SLEEP_H

#include "core/run/object/context.h"

rcx_status_t rcx_sleep_open(struct rcx_context *context);
void rcx_sleep_close(struct rcx_sleeper *s); /* also if never opened */

/* RCX_OK: events from now on wake a thread of the host that sleeps on the
 * descriptor, and so does what other threads do. */
rcx_status_t rcx_sleep_arm_host(struct rcx_context *context);
/* This thread leaves RCX, and no event that it has taken comes again. */
void rcx_sleep_pass_on(struct rcx_context *context);
/* Sleep until an event or until rcx_now_ns() reaches until_ns. Called with the
 * guard held, which is released meanwhile. */
void rcx_sleep(struct rcx_context *context, uint64_t until_ns);

/* Wake a thread of this process that sleeps in RCX. From any thread. */
static inline void rcx_wake(const struct rcx_sleeper *s)
{
    if (s->transport)
        s->transport->ops->wake(s->transport);
}
/* An operation has started that a sleeping thread does not know of. Called with
 * the guard held. */
static inline void rcx_wake_sleeper(struct rcx_sleeper *s)
{
    if (__builtin_expect(s->is_armed, 0)) {
        s->is_armed = false;
        rcx_wake(s);
    }
}

#endif
