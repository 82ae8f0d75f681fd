/* SPDX-License-Identifier: BSD-3-Clause */
/* Users' callbacks: made when the guard is left, and none inside. */
#ifndef RCX_CORE_RUN_CALLBACK_H
#define RCX_CORE_RUN_CALLBACK_H

#include "core/base/guard.h"

struct rcx_request;

struct rcx_callbacks {
    struct rcx_request *first; /* complete, not called back yet */
    struct rcx_request **end;
    bool are_made; /* by some thread, now */
};

/* Have r's callback made when the guard is left next; or never. */
void rcx_callback_add(struct rcx_callbacks *c, struct rcx_request *r);
void rcx_callback_forget(struct rcx_callbacks *c, struct rcx_request *r);

/* Leave the guard, and make them. */
void rcx_callbacks_make(struct rcx_callbacks *c, struct rcx_guard *guard);

#endif
