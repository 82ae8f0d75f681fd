/* SPDX-License-Identifier: BSD-3-Clause */
/* What is looked after beside messages. */
#ifndef RCX_CORE_RUN_WATCH_H
#define RCX_CORE_RUN_WATCH_H

#include "core/exec/transport.h"
#include "core/run/alarm.h"

struct rcx_comm;
struct rcx_context;

struct rcx_watch {
    struct rcx_alarm alarm;  /* of a communicator that failed, or shall */
    unsigned deaths;         /* of peers, that are dealt with */
    uint64_t next_ns;        /* when the time is looked at again */
    struct rcx_comm *failed; /* the last that did; not attended to yet */
    uint64_t here_since_ns;  /* it looks after things without a long break */
};

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
