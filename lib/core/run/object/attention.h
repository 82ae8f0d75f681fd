/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Attention flag: a thread that finds a failure raises it, and the next
 * rcx_detector_poll() handles the failure.
 */
#ifndef RCX_CORE_RUN_OBJECT_ATTENTION_H
#define RCX_CORE_RUN_OBJECT_ATTENTION_H

#include <stdatomic.h>
#include <stdbool.h>

struct rcx_attention {
    _Atomic bool is_raised;
};

static inline void rcx_attention_raise(struct rcx_attention *alarm)
{
    atomic_store_explicit(&alarm->is_raised, true, memory_order_release);
}

static inline bool rcx_attention_is_raised(const struct rcx_attention *alarm)
{
    return atomic_load_explicit(&alarm->is_raised, memory_order_relaxed);
}

/* Lower the flag; whether it was raised. */
static inline bool rcx_attention_take(struct rcx_attention *alarm)
{
    return atomic_exchange_explicit(&alarm->is_raised, false,
                                    memory_order_acquire);
}

#endif
