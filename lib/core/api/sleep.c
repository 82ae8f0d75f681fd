/* SPDX-License-Identifier: BSD-3-Clause */
/* rcx_get_fd() and rcx_arm(): a descriptor for a host's event loop. */
#include "core/api/arguments.h"
#include "core/run/detect/detector.h"
#include "core/run/wait/enter.h"
#include "core/run/wait/sleep.h"

static rcx_status_t enter(const char *call, rcx_context_t *context)
{
    rcx_status_t status;

    if (!context)
        return rcx_bad_handle(call, "context", context);
    status = rcx_enter(context);
    if (status != RCX_OK || context->sleeper.is_wanted)
        return status;
    rcx_leave(context);
    return rcx_fail(&context->log, RCX_ERR_UNSUPPORTED,
                    "rcx_%s: the context has no descriptor: it needs wakeup "
                    "(rcx_params_t), RCX_WAIT=block or RCX_PROGRESS=thread at "
                    "rcx_init()",
                    call);
}

rcx_status_t rcx_get_fd(rcx_context_t *context, int *fd_p)
{
    const rcx_status_t status = enter("get_fd", context);

    if (status != RCX_OK)
        return status;
    if (fd_p)
        *fd_p = context->sleeper.host_fd;
    rcx_leave(context);
    return fd_p ? RCX_OK : rcx_missing(&context->log, "rcx_get_fd: fd_p");
}

rcx_status_t rcx_arm(rcx_context_t *context)
{
    rcx_status_t status = enter("arm", context);

    if (status != RCX_OK)
        return status;
    rcx_detector_poll(context); /* the timer may have woken the host */
    status = rcx_sleep_arm_host(context);
    rcx_leave(context);
    return status;
}
