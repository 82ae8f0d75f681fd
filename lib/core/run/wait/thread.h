/* SPDX-License-Identifier: BSD-3-Clause */
/* The thread that makes progress while no other one does. */
#ifndef RCX_CORE_RUN_WAIT_THREAD_H
#define RCX_CORE_RUN_WAIT_THREAD_H

#include "core/run/object/context.h"

rcx_status_t rcx_thread_start(struct rcx_context *context);
void rcx_thread_stop(struct rcx_context *context);

#endif
