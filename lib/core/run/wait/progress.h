/* SPDX-License-Identifier: BSD-3-Clause */
/* Progress and waiting. */
#ifndef RCX_CORE_RUN_WAIT_PROGRESS_H
#define RCX_CORE_RUN_WAIT_PROGRESS_H

#include "core/run/object/context.h"

struct rcx_request;

/* PROGRESS_TICKS: calls between two runs of housekeeping. FULL_PROGRESS_TICKS:
 * between calls it runs not more often than once in 20 us, as it takes as long
 * as ten short calls. IDLE_TICKS, about 0.4 ms: a rank that was elsewhere for
 * so long drains at once. LONG_IDLE_TICKS: about 0.1 s. */
enum {
    RCX_PROGRESS_TICKS = 64,
    RCX_FULL_PROGRESS_TICKS = 1 << 16,
    RCX_IDLE_TICKS = 1 << 20,
    RCX_LONG_IDLE_TICKS = 1 << 28
};

/* Ticks since this rank last polled. Negative if another core's clock is
 * ahead. */
static inline int64_t rcx_progress_idle_ticks(const struct rcx_progress *p,
                                              uint64_t ticks)
{
    return (int64_t)(ticks - p->ticks);
}

rcx_status_t rcx_request_wait(struct rcx_request *request);
/* Wait until is_over() or until rcx_now_ns() reaches until_ns; whether it is
 * over. */
bool rcx_context_wait(struct rcx_context *context, uint64_t until_ns,
                      bool (*is_over)(void *arg), void *arg);

/* Poll the transport, complete requests, and run housekeeping at intervals.
 * Returns the number of events. */
int rcx_context_progress(struct rcx_context *context);
/* The same for a call that returns at once: a loop of such calls yields the
 * core as a wait does. */
int rcx_context_test(struct rcx_context *context);
/* Poll all sources and hand the guard over, unless that was just done. */
void rcx_context_progress_full(struct rcx_context *context);
/* Poll until all that has arrived is handled. Returns the number of events. */
int rcx_context_drain(struct rcx_context *context);

#endif
