/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The log, which is RCX's only output. The function that decides an error logs
 * it, once; callers forward the status.
 */
#ifndef RCX_CORE_BASE_LOG_H
#define RCX_CORE_BASE_LOG_H

#include <stdatomic.h>
#include <stdint.h>

#include "rcx/rcx.h"

struct rcx_log {
    rcx_log_level_t level; /* the least severe level that is passed on */
    int rank; /* at the start of each line; -1 before it is known */
    _Atomic(const char *)
        call; /* the function whose arguments are being checked, without
                 rcx_; NULL: none. Errors of that thread begin with it */
    _Atomic uintptr_t caller;
    rcx_log_fn_t fn;
    void *arg;
};

/* From now on this thread checks arguments of call; NULL: of none. */
void rcx_log_name_call(struct rcx_log *log, const char *call);

/* Log errors and warnings to stderr. */
void rcx_log_init(struct rcx_log *log);

void rcx_log_line(const struct rcx_log *log, rcx_log_level_t level,
                  const char *format, ...)
    __attribute__((format(printf, 3, 4)));

#define rcx_warn(log, ...) rcx_log_line(log, RCX_LOG_WARN, __VA_ARGS__)
#define rcx_info(log, ...) rcx_log_line(log, RCX_LOG_INFO, __VA_ARGS__)

/* Log an error and evaluate to its status: return rcx_fail(log, RCX_ERR_...) */
#define rcx_fail(log, status, ...)                                             \
    (rcx_log_line(log, RCX_LOG_ERROR, __VA_ARGS__), (status))

#endif
