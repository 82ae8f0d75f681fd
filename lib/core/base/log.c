/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The log: levels, the user's callback, and stderr.
 */
#include "core/base/log.h"

#include <stdarg.h>
#include <stdio.h>

#include "core/base/guard.h"

enum { TEXT = 1024 };

/*
 * By one write(): glibc from 2.37 on prints to an unbuffered stream in pieces,
 * and the lines of ranks that fail together would be mixed.
 */
static void to_stderr(rcx_log_level_t level, const char *text, void *arg)
{
    static const char *const names[] = {"error", "warning", "info", "debug"};
    char line[TEXT + 32];
    const int length =
        snprintf(line, sizeof line, "rcx %s: %s\n", names[level], text);

    (void)arg;
    fwrite(line, 1, (size_t)length, stderr);
}

void rcx_log_init(struct rcx_log *log)
{
    *log = (struct rcx_log){.level = RCX_LOG_WARN, .rank = -1, .fn = to_stderr};
}

/* In this order, so that another thread does not take this call for its own. */
void rcx_log_name_call(struct rcx_log *log, const char *call)
{
    atomic_store_explicit(&log->caller, rcx_this_thread(),
                          memory_order_relaxed);
    atomic_store_explicit(&log->call, call, memory_order_release);
}

static const char *call_of(const struct rcx_log *log)
{
    const char *call = atomic_load_explicit(&log->call, memory_order_acquire);

    return atomic_load_explicit(&log->caller, memory_order_relaxed) ==
                   rcx_this_thread()
               ? call
               : NULL;
}

void rcx_log_line(const struct rcx_log *log, rcx_log_level_t level,
                  const char *format, ...)
{
    char text[TEXT];
    const char *call;
    int used = 0;
    va_list args;

    if (level > log->level)
        return;
    if (log->rank >= 0)
        used = snprintf(text, sizeof text, "[%d] ", log->rank);
    call = call_of(log);
    if (call && level == RCX_LOG_ERROR)
        used +=
            snprintf(text + used, sizeof text - (size_t)used, "rcx_%s: ", call);
    va_start(args, format);
    vsnprintf(text + used, sizeof text - (size_t)used, format, args);
    va_end(args);
    log->fn(level, text, log->arg);
}
