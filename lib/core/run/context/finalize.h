/* SPDX-License-Identifier: BSD-3-Clause */
/* The end of a context: what ranks owe each other before they exit. */
#ifndef RCX_CORE_RUN_CONTEXT_FINALIZE_H
#define RCX_CORE_RUN_CONTEXT_FINALIZE_H

#include "core/run/object/context.h"

/* What rcx_finalize() returns. Afterwards no peer needs this rank, or the world
 * has failed. */
rcx_status_t rcx_context_finalize(struct rcx_context *context);
/* After a failure: peers on other nodes may not answer, and the transport does
 * not wait for them when it is closed. */
void rcx_context_leave_others(struct rcx_context *context);

#endif
