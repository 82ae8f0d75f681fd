/* SPDX-License-Identifier: BSD-3-Clause */
/* Users' requests: how they are given out and taken back. */
#ifndef RCX_CORE_API_REQUEST_H
#define RCX_CORE_API_REQUEST_H

#include "core/run/request/request.h"

/* r belongs to the user from now on: it is counted, and its type and op are
 * pinned. */
void rcx_request_hand_out(struct rcx_request *r, bool persistent);
/* r is not active, and does not belong to the user any more. The second one
 * ends it, too, and what it held of its communicator. */
void rcx_request_put(struct rcx_request *r);
void rcx_request_release(struct rcx_request *r);

#endif
