/* SPDX-License-Identifier: BSD-3-Clause */
/* Requests as users call them. */
#include "core/api/arguments.h"
#include "core/run/comm_close.h"
#include "core/run/enter.h"
#include "core/run/progress.h"
#include "core/run/request.h"

/* A freed one's slot still knows where it was. */
static rcx_status_t enter(const rcx_request_t *request)
{
    struct rcx_context *context;
    rcx_status_t status;

    if (!request || !request->comm)
        return rcx_bad_handle("request", request);
    context = request->comm->context;
    status = rcx_enter(context);
    if (status != RCX_OK || request->state != RCX_REQUEST_FREE)
        return status;
    rcx_leave(context);
    return rcx_fail(&context->log, RCX_ERR_ARG, "request=%p: was freed",
                    (const void *)request);
}

/* A callback may free the request before this returns. */
static rcx_status_t leave(struct rcx_context *context, rcx_status_t status)
{
    rcx_leave(context);
    return status;
}

static rcx_status_t start(struct rcx_request *r)
{
    const struct rcx_log *log = &r->comm->context->log;

    if (!r->persistent)
        return rcx_fail(log, RCX_ERR_ARG,
                        "request=%p: only a request of an _init function can "
                        "be started",
                        (void *)r);
    if (r->state == RCX_REQUEST_ACTIVE)
        return rcx_fail(log, RCX_ERR_BUSY, "request=%p: is active", (void *)r);
    if (r->comm->failed != RCX_OK)
        return RCX_ERR_COMM_FAILED;
    rcx_request_launch(r);
    if (r->state == RCX_REQUEST_ACTIVE)
        rcx_wake_sleeper(&r->comm->context->sleeper);
    return RCX_OK;
}

rcx_status_t rcx_start(rcx_request_t *request)
{
    rcx_status_t status = enter(request);
    struct rcx_comm *comm;

    if (status != RCX_OK)
        return status;
    comm = request->comm;
    rcx_leave(comm->context);
    status = rcx_comm_enter(comm);
    if (status != RCX_OK)
        return status;
    status = start(request);
    rcx_comm_leave(comm);
    return status;
}

static rcx_status_t test(struct rcx_request *r, int *done_p)
{
    if (!done_p)
        return rcx_missing(&r->comm->context->log, "done_p");
    if (r->state == RCX_REQUEST_ACTIVE)
        rcx_context_progress(r->comm->context);
    else
        rcx_context_pass_by(r->comm->context);
    *done_p = r->state != RCX_REQUEST_ACTIVE;
    return *done_p ? r->status : RCX_OK;
}

rcx_status_t rcx_test(rcx_request_t *request, int *done_p)
{
    const rcx_status_t status = enter(request);

    return status == RCX_OK
               ? leave(request->comm->context, test(request, done_p))
               : status;
}

rcx_status_t rcx_wait(rcx_request_t *request)
{
    const rcx_status_t status = enter(request);

    return status == RCX_OK
               ? leave(request->comm->context, rcx_request_wait(request))
               : status;
}

rcx_status_t rcx_wait_all(size_t n, rcx_request_t *const requests[])
{
    rcx_status_t first = RCX_OK;

    if (n > 0 && !requests)
        return rcx_bad_handle("requests", requests);
    for (size_t i = 0; i < n; i++) {
        const rcx_status_t status =
            requests[i] ? rcx_wait(requests[i]) : RCX_OK;

        first = first == RCX_OK ? status : first;
    }
    return first;
}

static rcx_status_t release(struct rcx_request *r)
{
    struct rcx_comm *comm = r->comm;
    struct rcx_context *context = comm->context;

    if (r->state == RCX_REQUEST_ACTIVE)
        return rcx_fail(&context->log, RCX_ERR_BUSY,
                        "request=%p: is active; wait for it first", (void *)r);
    rcx_registry_pin(&context->registry, r->program->record.type,
                     r->program->record.op, -1);
    comm->live_requests--;
    context->requests.live--;
    rcx_request_delete(r);
    if (comm->is_freed && comm->live_requests == 0)
        rcx_comm_retire(comm);
    return RCX_OK;
}

rcx_status_t rcx_request_free(rcx_request_t **request_p)
{
    rcx_request_t *request = request_p ? *request_p : NULL;
    rcx_status_t status = enter(request);

    if (status != RCX_OK)
        return status;
    status = leave(request->comm->context, release(request));
    if (status == RCX_OK)
        *request_p = NULL;
    return status;
}

static rcx_status_t set_callback(struct rcx_request *r, rcx_callback_fn_t fn,
                                 void *arg)
{
    if (!fn)
        return rcx_missing(&r->comm->context->log, "fn");
    r->callback = fn;
    r->callback_arg = arg;
    if (!r->persistent && r->state == RCX_REQUEST_IDLE)
        rcx_callback_add(&r->comm->context->callbacks, r);
    return RCX_OK;
}

rcx_status_t rcx_request_set_callback(rcx_request_t *request,
                                      rcx_callback_fn_t fn, void *arg)
{
    const rcx_status_t status = enter(request);

    return status == RCX_OK
               ? leave(request->comm->context, set_callback(request, fn, arg))
               : status;
}

const char *rcx_request_method(const rcx_request_t *request)
{
    return request && request->state != RCX_REQUEST_FREE
               ? request->program->text
               : NULL;
}
