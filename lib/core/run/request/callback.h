/* SPDX-License-Identifier: BSD-3-Clause */
/* Users' callbacks: made when the guard is left, and none inside. */
#ifndef RCX_CORE_RUN_REQUEST_CALLBACK_H
#define RCX_CORE_RUN_REQUEST_CALLBACK_H

#include "core/run/object/context.h"

/* Have r's callback made when the guard is left next; or never. */
void rcx_callback_add(struct rcx_callbacks *c, struct rcx_request *r);
void rcx_callback_forget(struct rcx_callbacks *c, struct rcx_request *r);

/* Leave the guard, and make them. */
void rcx_callbacks_make(struct rcx_callbacks *c, struct rcx_guard *guard);

#endif
