/* SPDX-License-Identifier: BSD-3-Clause */
/* Who makes progress, and waiting. */
#ifndef RCX_CORE_RUN_WAIT_PROGRESS_H
#define RCX_CORE_RUN_WAIT_PROGRESS_H

#include "core/run/object/context.h"

struct rcx_request;

/* TURNS: so many, then it is looked around; between calls not more often than
 * after LOOK, about 20 us: a look takes as long as ten short calls. AWAY: who was
 * elsewhere for so long does it at once; about 0.4 ms. LONG_AWAY: about 0.1 s. */
enum {
    RCX_PROGRESS_TURNS = 64,
    RCX_LOOK_TICKS = 1 << 16,
    RCX_AWAY_TICKS = 1 << 20,
    RCX_LONG_AWAY_TICKS = 1 << 28
};

/* For so many ticks nobody was here; less than none if another core's run
 * ahead. */
static inline int64_t rcx_progress_away(const struct rcx_progress *p,
                                        uint64_t ticks)
{
    return (int64_t)(ticks - p->ticks);
}

rcx_status_t rcx_request_wait(struct rcx_request *request);
/* The same for anything that progress brings about, until rcx_now_ns() says
 * until_ns at most; whether it is over. */
bool rcx_context_wait(struct rcx_context *context, uint64_t until_ns,
                      bool (*is_over)(void *arg), void *arg);

/* Progress the transport and all requests, and watch now and then; events
 * handled. */
int rcx_context_progress(struct rcx_context *context);
/* The same of a call that returns whether it found anything: where ranks outnumber
 * cores, and there was nothing, it gives the core away. */
int rcx_context_test(struct rcx_context *context);
/* Look around, and let others in; unless that was just done. */
void rcx_context_look_around(struct rcx_context *context);
/* See all that has come while this process was elsewhere; as progress. */
int rcx_context_catch_up(struct rcx_context *context);

#endif
