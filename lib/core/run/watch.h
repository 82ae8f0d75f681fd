/* SPDX-License-Identifier: BSD-3-Clause */
/* What is looked after beside messages. */
#ifndef RCX_CORE_RUN_WATCH_H
#define RCX_CORE_RUN_WATCH_H

#include "core/iface/transport.h"
#include "core/run/alarm.h"

struct rcx_comm;
struct rcx_context;

struct rcx_watch {
    struct rcx_alarm alarm;  /* of a communicator that failed, or shall */
    unsigned deaths;         /* of peers, that are dealt with */
    uint64_t next_ns;        /* when the time is looked at again */
    struct rcx_comm *failed; /* the last that did; not attended to yet */
    uint64_t here_since_ns;  /* it looks after things without a long break */
    uint64_t away_ns;        /* the longest break lately, and when it ended */
    uint64_t away_end_ns;
};

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
