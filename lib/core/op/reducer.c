/* SPDX-License-Identifier: BSD-3-Clause */
#include "core/op/reducer.h"

rcx_status_t rcx_reducer_apply(const struct rcx_reducer *r, void *dst,
                               const void *left, const void *right,
                               size_t count)
{
    if (r->kernel) {
        r->kernel(dst, left, right, count);
        return RCX_OK;
    }
    return r->fn(dst, left, right, count, r->type, r->arg) == 0 ? RCX_OK
                                                                : RCX_ERR_OP;
}
