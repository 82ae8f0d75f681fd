/* SPDX-License-Identifier: BSD-3-Clause */
/* Who makes progress; waiting; callbacks. */
#ifndef RCX_CORE_RUN_PROGRESS_H
#define RCX_CORE_RUN_PROGRESS_H

#include "core/run/request.h"

rcx_status_t rcx_request_wait(struct rcx_request *request);

/* Progress the transport and all requests, and watch now and then; events
 * handled. */
int rcx_context_progress(struct rcx_context *context);
/* rcx_context_progress() without watching. */
int rcx_context_poll(struct rcx_context *context);

/* Have its callback made when the guard is left next; or never. */
void rcx_request_call_back(struct rcx_request *r);
void rcx_callback_forget(struct rcx_request *r);

#endif
