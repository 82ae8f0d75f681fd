/* SPDX-License-Identifier: BSD-3-Clause */
/* When a start that takes long logs what it waits for. It knows nothing of the
 * waits themselves. */
#include "core/base/start_wait.h"

#include <stdarg.h>
#include <stdio.h>

#include "core/base/clock.h"

static const uint64_t first_ns = UINT64_C(5000000000);
static const uint64_t long_ns = UINT64_C(1000000000);

void rcx_start_wait_begin(struct rcx_start_wait *w, const struct rcx_log *log,
                          uint64_t begin_ns)
{
    *w = (struct rcx_start_wait){
        .log = log, .begin_ns = begin_ns, .next_ns = begin_ns};
    rcx_start_wait_skip(w);
}

void rcx_start_wait_end(struct rcx_start_wait *w)
{
    w->next_ns = UINT64_MAX;
}

uint64_t rcx_start_wait_next(const struct rcx_start_wait *w)
{
    return w ? w->next_ns : UINT64_MAX;
}

uint64_t rcx_start_wait_next_of(const struct rcx_start_wait *w,
                                uint64_t begin_ns)
{
    const uint64_t next = rcx_start_wait_next(w);

    return next > begin_ns + long_ns ? next : begin_ns + long_ns;
}

bool rcx_start_wait_is_due(const struct rcx_start_wait *w)
{
    const uint64_t next = rcx_start_wait_next(w);

    return next != UINT64_MAX && rcx_now_ns() >= next;
}

void rcx_start_wait_skip(struct rcx_start_wait *w)
{
    const uint64_t taken = rcx_now_ns() - w->begin_ns;
    uint64_t after = first_ns;

    while (after <= taken)
        after *= 2;
    w->next_ns = w->begin_ns + after;
}

void rcx_start_wait_warn(struct rcx_start_wait *w, const char *format, ...)
{
    const double seconds = (double)(rcx_now_ns() - w->begin_ns) / 1e9;
    char text[512];
    va_list args;

    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    rcx_warn(w->log, "rcx_init has waited %.3g s: %s", seconds, text);
    rcx_start_wait_skip(w);
}
