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

/* Spin, yield, or sleep until until_ns at most. idle: of the wait so far. True:
 * this rank was off its core for long, and has to drain. */
bool rcx_back_off(struct rcx_context *context, struct rcx_idle_polls *idle,
                  uint64_t until_ns);
/* A call that polls once and returns at once has polled. If it has found
 * nothing, that was an empty poll: the core is yielded after as many as in a
 * wait. It sleeps only while others compute on this core, and briefly, as the
 * program may do other work between two calls. Returns the number of events
 * meanwhile. */
int rcx_back_off_test(struct rcx_context *context, bool found);

#endif
