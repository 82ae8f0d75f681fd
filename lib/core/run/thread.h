/* SPDX-License-Identifier: BSD-3-Clause */
/* The thread that makes progress when nobody else does. */
#ifndef RCX_CORE_RUN_THREAD_H
#define RCX_CORE_RUN_THREAD_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

#include "rcx/rcx.h"

struct rcx_context;

struct rcx_thread {
    bool runs;
    pthread_t id;
    _Atomic bool stops; /* it shall */
};

rcx_status_t rcx_thread_start(struct rcx_context *context);
void rcx_thread_stop(struct rcx_context *context);

#endif
