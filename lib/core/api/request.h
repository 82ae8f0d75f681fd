/* SPDX-License-Identifier: BSD-3-Clause */
/* Users' requests, as all that make them do. */
#ifndef RCX_CORE_API_REQUEST_H
#define RCX_CORE_API_REQUEST_H

#include "core/run/request/request.h"

/* It is the user's from now on: counted, and its type and op stay. */
void rcx_request_hand_out(struct rcx_request *r, bool persistent);
/* It is not active, and no longer. */
void rcx_request_release(struct rcx_request *r);

#endif
