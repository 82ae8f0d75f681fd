/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Failure detector: polls for control messages, failed peers, aborts, passed
 * deadlines and calls that do not match. It runs between polls of messages.
 */
#ifndef RCX_CORE_RUN_DETECT_DETECTOR_H
#define RCX_CORE_RUN_DETECT_DETECTOR_H

#include "core/run/object/context.h"

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
