/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef RCX_CORE_OP_REDUCER_H
#define RCX_CORE_OP_REDUCER_H

#include <stddef.h>

#include "rcx/rcx.h"

/* How two vectors are combined: a predefined kernel, or the user's function. */
struct rcx_reducer {
    void (*kernel)(void *dst, const void *left, const void *right,
                   size_t count); /* NULL: fn */
    rcx_op_fn_t fn;
    void *arg;
    rcx_datatype_t type;
    size_t elem_bytes;
};

/* dst = left op right; RCX_ERR_OP if the user's function says so. */
static inline rcx_status_t rcx_reducer_apply(const struct rcx_reducer *r,
                                             void *dst, const void *left,
                                             const void *right, size_t count)
{
    if (r->kernel) {
        r->kernel(dst, left, right, count);
        return RCX_OK;
    }
    return r->fn(dst, left, right, count, r->type, r->arg) == 0 ? RCX_OK
                                                                : RCX_ERR_OP;
}

#endif
