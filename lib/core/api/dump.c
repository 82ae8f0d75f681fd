/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * rcx_dump().
 */
#include "core/api/arguments.h"
#include "core/run/diag/dump_context.h"
#include "core/run/wait/enter.h"

rcx_status_t rcx_dump(rcx_context_t *context, const char *path)
{
    rcx_status_t status;

    if (!context)
        return rcx_bad_handle("dump", "context", context);
    if (!path)
        return rcx_missing(&context->log, "rcx_dump: path");
    status = rcx_enter(context);
    if (status != RCX_OK)
        return status;
    status = rcx_dump_context(context, path, NULL, NULL);
    rcx_leave(context);
    return status;
}
