/* SPDX-License-Identifier: BSD-3-Clause */
/* Functions of contexts. */
#include <signal.h>
#include <unistd.h>

#include "core/api/arguments.h"
#include "core/api/clocks.h"
#include "core/api/network.h"
#include "core/api/profile.h"
#include "core/run/context/context.h"
#include "core/run/context/finalize.h"
#include "core/run/wait/enter.h"
#include "core/run/wait/progress.h"
#include "core/run/wait/sleep.h"
#include "core/run/wait/thread.h"

static rcx_status_t open_from_table(const struct rcx_boot_args *args, void *arg,
                                    struct rcx_boot **boot_p)
{
    rcx_status_t status = RCX_ERR_UNSUPPORTED;

    (void)arg;
    for (int i = 0; rcx_boot_table[i] && status == RCX_ERR_UNSUPPORTED; i++)
        status = rcx_boot_table[i]->open(args, boot_p);
    return status;
}

/* Network and clocks, by messages. What they wait for is a wait of the
 * start. */
static rcx_status_t measure(struct rcx_context *context)
{
    rcx_status_t status = rcx_enter(context);

    if (status != RCX_OK)
        return status;
    rcx_start_wait_begin(&context->start_wait, &context->log,
                         context->time.born.ns);
    rcx_leave(context);
    status = rcx_network_measure(context);
    if (status == RCX_OK && context->observer)
        status = rcx_clocks_measure(context);
    if (rcx_enter(context) == RCX_OK) {
        rcx_start_wait_end(&context->start_wait);
        rcx_leave(context);
    }
    return status;
}

rcx_status_t rcx_init(const rcx_params_t *params, rcx_context_t **context_p)
{
    const struct rcx_boot_source source = {.open = open_from_table,
                                           .heap_budget = UINT64_MAX,
                                           .layout = RCX_TAG_LAYOUT};

    rcx_status_t status = rcx_context_create(params, &source, context_p);

    if (status != RCX_OK)
        return status;
    status = measure(*context_p);
    if (status != RCX_OK) {
        rcx_context_leave_others(*context_p);
        rcx_context_destroy(*context_p);
        *context_p = NULL;
    }
    return status;
}

rcx_status_t rcx_get_id(const char *address, rcx_id_t *id_p)
{
    struct rcx_log log;

    rcx_log_init(&log);
    return id_p ? rcx_boot_make_id(address, &log, id_p)
                : rcx_fail(&log, RCX_ERR_ARG,
                           "rcx_get_id: id_p=NULL: needs a place for the id");
}

rcx_status_t rcx_finalize(rcx_context_t **context_p)
{
    struct rcx_context *context = context_p ? *context_p : NULL;
    struct rcx_host_data host;
    rcx_status_t status;

    if (context_p && !context)
        return RCX_OK;
    if (!context) {
        struct rcx_log log;

        rcx_log_init(&log);
        return rcx_missing(&log, "rcx_finalize: context_p");
    }
    status = rcx_enter(context);
    if (status != RCX_OK)
        return status;
    if (context->requests.live > 0 || context->comms.live > 0) {
        rcx_leave(context);
        return rcx_fail(&context->log, RCX_ERR_BUSY,
                        "rcx_finalize: %llu requests and %llu communicators "
                        "are not freed",
                        (unsigned long long)context->requests.live,
                        (unsigned long long)context->comms.live);
    }
    if (context->thread.runs) { /* it may be about to enter */
        rcx_leave(context);
        rcx_thread_stop(context);
        rcx_enter(context);
    }
    if (context->observer) {
        rcx_leave(context);
        rcx_observer_report(context);
        rcx_enter(context);
    }
    status = rcx_context_finalize(context);
    host = context->world->host;
    rcx_context_destroy(context);
    *context_p = NULL;
    rcx_host_data_destroy(host);
    return status;
}

/* Does not take the guard: the thread inside may never leave. */
rcx_status_t rcx_abort(rcx_context_t *context, int code, const char *text)
{
    const struct rcx_boot *boot = context ? context->boot : NULL;
    const int status = code & 0xff;

    if (!context)
        return rcx_bad_handle("abort", "context", context);
    if (rcx_guard_is_forked(context->guard))
        return rcx_enter(context);
    rcx_log_line(&context->log, RCX_LOG_ERROR, "rcx_abort: code %d%s%s", code,
                 text ? ": " : "", text ? text : "");
    if (boot->ops->end_job(context->boot, code, text ? text : "") != RCX_OK)
        raise(SIGABRT);
    _exit(status ? status : 1);
}

rcx_comm_t *rcx_world(rcx_context_t *context)
{
    return context ? context->world : NULL;
}

int rcx_progress(rcx_context_t *context)
{
    rcx_status_t status;
    int events;

    if (!context)
        return (int)rcx_bad_handle("progress", "context", context);
    status = rcx_enter(context);
    if (status != RCX_OK)
        return (int)status;
    events = rcx_context_test(context);
    rcx_leave(context);
    return events;
}
