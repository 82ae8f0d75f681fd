/* SPDX-License-Identifier: BSD-3-Clause */
/* Callbacks of users' requests. They run when the guard is released, outside of
 * RCX. */
#ifndef RCX_CORE_RUN_REQUEST_CALLBACK_H
#define RCX_CORE_RUN_REQUEST_CALLBACK_H

#include "core/run/object/context.h"

/* Queue r's callback for the next release of the guard, and remove it from the
 * queue. */
void rcx_callback_add(struct rcx_callbacks *c, struct rcx_request *r);
void rcx_callback_remove(struct rcx_callbacks *c, struct rcx_request *r);

/* Release the guard and run the callbacks. */
void rcx_callbacks_make(struct rcx_callbacks *c, struct rcx_guard *guard);

#endif
