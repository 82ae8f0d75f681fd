/* SPDX-License-Identifier: BSD-3-Clause */
/* The time of a context, in nanoseconds. Tests may skip time. */
#ifndef RCX_CORE_RUN_OBJECT_TIME_H
#define RCX_CORE_RUN_OBJECT_TIME_H

#include "core/base/clock.h"

struct rcx_time {
    struct rcx_instant born;
    uint64_t skipped_ns; /* added by tests */
};

static inline uint64_t rcx_time_at(const struct rcx_time *time,
                                   const struct rcx_instant *now)
{
    return now->ns + time->skipped_ns;
}

/* Nanoseconds since ticks. */
static inline uint64_t rcx_time_since(const struct rcx_time *time,
                                      uint64_t ticks,
                                      const struct rcx_instant *now)
{
    const uint64_t then = rcx_ticks_to_ns(ticks, &time->born, now);
    const uint64_t ns = rcx_time_at(time, now);

    return ns > then ? ns - then : 0;
}

#endif
