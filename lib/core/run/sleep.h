/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Sleeping until something happens: one descriptor for the transport's events
 * and for the time of the next deadline; and the thread that makes progress
 * when nobody else does.
 */
#ifndef RCX_CORE_SLEEP_H
#define RCX_CORE_SLEEP_H

#include "core/run/context.h"

rcx_status_t rcx_sleep_open(struct rcx_context *context);
void rcx_sleep_close(
    struct rcx_context *context); /* of one never opened, too */

/* RCX_OK: what happens from now on wakes whoever sleeps on the descriptor. */
rcx_status_t rcx_sleep_arm(struct rcx_context *context);
/* With the guard held: sleep until something happens, without it. */
void rcx_sleep(struct rcx_context *context);

/* Start, and stop, the progress thread. */
rcx_status_t rcx_thread_start(struct rcx_context *context);
void rcx_thread_stop(struct rcx_context *context);

#endif
