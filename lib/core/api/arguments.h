/* SPDX-License-Identifier: BSD-3-Clause */
/* Checks of arguments that the functions of rcx.h share. */
#ifndef RCX_CORE_API_ARGUMENTS_H
#define RCX_CORE_API_ARGUMENTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/log.h"

/* For errors without a known context. call: without rcx_. */
static inline rcx_status_t rcx_bad_handle(const char *call, const char *what,
                                          const void *handle)
{
    struct rcx_log log;

    rcx_log_init(&log);
    rcx_log_name_call(&log, call);
    return rcx_fail(&log, RCX_ERR_ARG, "%s=%p: not a valid handle", what,
                    handle);
}

/* what names the call as well, unless log does. */
static inline rcx_status_t rcx_missing(const struct rcx_log *log,
                                       const char *what)
{
    return rcx_fail(log, RCX_ERR_ARG, "%s=NULL", what);
}

/* Whether a buffer can have so many elements. */
static inline bool rcx_fits_memory(size_t count, size_t elem_bytes)
{
    size_t bytes;

    return !__builtin_mul_overflow(count, elem_bytes, &bytes) &&
           bytes <= PTRDIFF_MAX;
}

static inline bool rcx_overlap(const char *a, size_t a_bytes, const char *b,
                               size_t b_bytes)
{
    return a_bytes > 0 && b_bytes > 0 && a < b + b_bytes && b < a + a_bytes;
}

#endif
