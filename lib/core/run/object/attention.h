/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Who finds that something is wrong, in any thread, raises the alarm; what is
 * to be done about it is done by the next rcx_watch().
 */
#ifndef RCX_CORE_RUN_OBJECT_ATTENTION_H
#define RCX_CORE_RUN_OBJECT_ATTENTION_H

#include <stdatomic.h>
#include <stdbool.h>

struct rcx_alarm {
    _Atomic bool is_raised;
};

static inline void rcx_alarm_raise(struct rcx_alarm *alarm)
{
    atomic_store_explicit(&alarm->is_raised, true, memory_order_release);
}

static inline bool rcx_alarm_is_raised(const struct rcx_alarm *alarm)
{
    return atomic_load_explicit(&alarm->is_raised, memory_order_relaxed);
}

/* Whether it was; it is not any more. */
static inline bool rcx_alarm_take(struct rcx_alarm *alarm)
{
    return atomic_exchange_explicit(&alarm->is_raised, false,
                                    memory_order_acquire);
}

#endif
