/* SPDX-License-Identifier: BSD-3-Clause */
/* What is looked after beside messages. */
#ifndef RCX_CORE_RUN_DETECT_DETECTOR_H
#define RCX_CORE_RUN_DETECT_DETECTOR_H

#include "core/run/object/context.h"

#define RCX_WATCH_LONG_NS UINT64_C(1000000000)
#define RCX_WATCH_LATELY_NS UINT64_C(60000000000)

/* This rank looks after its messages, which it may not have done for a while. */
static inline void rcx_watch_note_break(struct rcx_watch *w, uint64_t ns)
{
    const uint64_t took = ns > w->next_ns ? ns - w->next_ns : 0;

    if (took > RCX_WATCH_LONG_NS)
        w->here_since_ns = ns;
    if (w->next_ns > 0 &&
        (took > w->away_ns || ns - w->away_end_ns > RCX_WATCH_LATELY_NS)) {
        w->away_ns = took;
        w->away_end_ns = ns;
    }
}

/* Look after notes, aborts, deadlines and calls that do not match; from the top
 * of a call, where no message's completion is being handled. */
void rcx_watch(struct rcx_context *context);
/* Whether it finds something to do whatever the time is. */
static inline bool rcx_watch_is_due(const struct rcx_watch *w,
                                    const struct rcx_transport *t)
{
    return rcx_alarm_is_raised(&w->alarm) ||
           (t && (t->notes || t->deaths != w->deaths));
}

#endif
