/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Backoff: what a rank does while its polls find nothing. A rank with a core of
 * its own spins; if ranks outnumber cores it yields the core, and sleeps where
 * other tasks compute on it (RCX_WAIT).
 */
#ifndef RCX_CORE_RUN_WAIT_BACKOFF_H
#define RCX_CORE_RUN_WAIT_BACKOFF_H

#include "core/run/object/context.h"

/* Empty polls of one wait since the core was last released, and when the first
 * of this row was; 0: none yet. */
struct rcx_idle_polls {
    unsigned polls;
    uint64_t since_ns;
};

/* Whether to spin: something may arrive before the core could be released.
 * Polls for that time; true if it did arrive. */
bool rcx_should_spin(struct rcx_context *context);
/* Yield the core once. before: ticks. */
void rcx_yield(struct rcx_progress *p, uint64_t before);
/* Spin, yield, or sleep until until_ns at most. idle: of the wait so far. True:
 * this rank was off its core for long, and has to drain. */
bool rcx_back_off(struct rcx_context *context, struct rcx_idle_polls *idle,
                  uint64_t until_ns);

#endif
