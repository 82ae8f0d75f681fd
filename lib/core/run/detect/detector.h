/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Failure detector: polls for control messages, failed peers, aborts, passed
 * deadlines and calls that do not match. It runs between polls of messages.
 */
#ifndef RCX_CORE_RUN_DETECT_DETECTOR_H
#define RCX_CORE_RUN_DETECT_DETECTOR_H

#include "core/run/object/context.h"

#define RCX_STALL_LONG_NS UINT64_C(1000000000)
#define RCX_STALL_RECENT_NS UINT64_C(60000000000)

/* Record how long this rank has not polled; to be called when it polls. */
static inline void rcx_detector_note_stall(struct rcx_detector *w, uint64_t ns)
{
    const uint64_t took = ns > w->next_ns ? ns - w->next_ns : 0;

    if (took > RCX_STALL_LONG_NS)
        w->present_since_ns = ns;
    if (w->next_ns > 0 &&
        (took > w->stall_ns || ns - w->stall_end_ns > RCX_STALL_RECENT_NS)) {
        w->stall_ns = took;
        w->stall_end_ns = ns;
    }
}

/* Check everything, and handle what has failed. Not to be called while the
 * completion of a message is being handled. */
void rcx_detector_poll(struct rcx_context *context);
/* Whether it has work now, whatever the time is. */
static inline bool rcx_detector_is_due(const struct rcx_detector *w,
                                       const struct rcx_transport *t)
{
    return rcx_attention_is_raised(&w->attention) ||
           (t && (t->ctrl || t->failed_count != w->failed_count));
}

#endif
