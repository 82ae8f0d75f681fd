/* SPDX-License-Identifier: BSD-3-Clause */
/* Functions of requests. */
#include "core/api/arguments.h"
#include "core/api/request.h"
#include "core/run/comm/comm_close.h"
#include "core/run/detect/poll.h"
#include "core/run/fault/failure.h"
#include "core/run/request/callback.h"
#include "core/run/request/request.h"
#include "core/run/wait/enter.h"
#include "core/run/wait/progress.h"

static rcx_status_t was_freed(const char *call,
                              const struct rcx_context *context,
                              const rcx_request_t *request)
{
    return rcx_fail(&context->log, RCX_ERR_ARG, "rcx_%s: request=%p: was freed",
                    call, (const void *)request);
}

/* The slot of a freed request still knows its context. */
static rcx_status_t enter(const char *call, const rcx_request_t *request)
{
    struct rcx_context *context;
    rcx_status_t status;

    if (!request || !request->comm)
        return rcx_bad_handle(call, "request", request);
    context = request->comm->context;
    status = rcx_enter(context);
    if (status != RCX_OK || request->state != RCX_REQUEST_FREE)
        return status;
    rcx_leave(context);
    return was_freed(call, context, request);
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
        return rcx_fail(
            log, RCX_ERR_ARG,
            "rcx_start: request=%p: not a persistent request (of an _init "
            "function)",
            (void *)r);
    if (r->state == RCX_REQUEST_ACTIVE)
        return rcx_fail(log, RCX_ERR_BUSY,
                        "rcx_start: request=%p: is active; wait for it first",
                        (void *)r);
    if (rcx_comm_is_failed(r->comm))
        return rcx_comm_refuse(r->comm);
    if (r->program->is_p2p)
        rcx_request_post(r);
    else
        rcx_request_launch(r);
    rcx_request_announce(r);
    return RCX_OK;
}

/* In no order with other threads' calls on the communicator. */
static rcx_status_t start_message(struct rcx_request *r)
{
    rcx_stamp_call(r->comm->context, rcx_ticks());
    return leave(r->comm->context, start(r));
}

rcx_status_t rcx_start(rcx_request_t *request)
{
    rcx_status_t status = enter("start", request);
    struct rcx_comm *comm;

    if (status != RCX_OK)
        return status;
    if (request->program->is_p2p)
        return start_message(request);
    comm = request->comm;
    rcx_leave(comm->context);
    status = rcx_comm_enter(comm);
    if (status != RCX_OK)
        return status;
    status = start(request);
    rcx_comm_leave(comm);
    return status;
}

/* It has completed, and the caller knows. */
static rcx_status_t collect(struct rcx_request *r)
{
    r->ended = 0;
    return r->status;
}

static rcx_status_t test(struct rcx_request *r, int *done_p)
{
    if (!done_p)
        return rcx_missing(&r->comm->context->log, "rcx_test: done_p");
    if (r->state == RCX_REQUEST_ACTIVE)
        rcx_context_test(r->comm->context);
    else
        rcx_context_maybe_progress(r->comm->context);
    *done_p = r->state != RCX_REQUEST_ACTIVE;
    return *done_p ? collect(r) : RCX_OK;
}

rcx_status_t rcx_test(rcx_request_t *request, int *done_p)
{
    const rcx_status_t status = enter("test", request);

    return status == RCX_OK
               ? leave(request->comm->context, test(request, done_p))
               : status;
}

/* A thread that has only posted a message does not wait for anything yet. A
 * callback may have freed the request. */
static void set_waiting(struct rcx_request *r, bool waits)
{
    if (r->state == RCX_REQUEST_FREE || !r->program->is_p2p)
        return;
    r->kind &= (uint8_t)~RCX_REQUEST_INSIDE;
    r->kind |= waits ? RCX_REQUEST_INSIDE : 0;
}

static rcx_status_t wait(struct rcx_request *r)
{
    set_waiting(r, true);
    rcx_request_wait(r);
    set_waiting(r, false);
    return collect(r);
}

static rcx_status_t wait_in(const char *call, rcx_request_t *request)
{
    const rcx_status_t status = enter(call, request);

    return status == RCX_OK ? leave(request->comm->context, wait(request))
                            : status;
}

rcx_status_t rcx_wait(rcx_request_t *request)
{
    return wait_in("wait", request);
}

static bool is_complete(void *request)
{
    return ((const struct rcx_request *)request)->state != RCX_REQUEST_ACTIVE;
}

/* The first progress of a call that then waits, or returns at once. */
static void look_once(struct rcx_context *context, bool waits)
{
    if (waits)
        rcx_context_progress(context);
    else
        rcx_context_test(context);
}

/* Makes progress once, also if the time is over. */
static rcx_status_t wait_for(struct rcx_request *r, int64_t timeout_ns)
{
    struct rcx_context *context = r->comm->context;
    const uint64_t until_ns = rcx_now_ns() + (uint64_t)timeout_ns;
    bool is_over;

    if (timeout_ns < 0)
        return rcx_fail(&context->log, RCX_ERR_ARG,
                        "rcx_wait_for: timeout_ns=%lld: needs 0 or more",
                        (long long)timeout_ns);
    if (!is_complete(r))
        look_once(context, timeout_ns > 0);
    set_waiting(r, true);
    is_over = rcx_context_wait(context, until_ns, is_complete, r);
    set_waiting(r, false);
    return is_over ? collect(r) : RCX_IN_PROGRESS;
}

rcx_status_t rcx_wait_for(rcx_request_t *request, int64_t timeout_ns)
{
    const rcx_status_t status = enter("wait_for", request);

    return status == RCX_OK
               ? leave(request->comm->context, wait_for(request, timeout_ns))
               : status;
}

rcx_status_t rcx_wait_all(size_t n, rcx_request_t *const requests[])
{
    rcx_status_t first = RCX_OK;

    if (n > 0 && !requests)
        return rcx_bad_handle("wait_all", "requests", requests);
    for (size_t i = 0; i < n; i++) {
        const rcx_status_t status =
            requests[i] ? wait_in("wait_all", requests[i]) : RCX_OK;

        first = first == RCX_OK ? status : first;
    }
    return first;
}

void rcx_request_hand_out(struct rcx_request *r, bool persistent)
{
    struct rcx_context *context = r->comm->context;

    r->persistent = persistent;
    r->comm->live_requests++;
    context->requests.live++;
    rcx_registry_pin(&context->registry, r->program->record.type,
                     r->program->record.op, 1);
}

/* ---- One of several ------------------------------------------------------ */

struct several {
    size_t n;
    rcx_request_t *const *requests;
    size_t index; /* of the one that ended first; n: none has */
};

/* Whether there is nothing to wait for: one has completed, or none is
 * active. */
static bool look(void *arg)
{
    struct several *s = arg;
    uint64_t first = 0;
    bool active = false;

    s->index = s->n;
    for (size_t i = 0; i < s->n; i++) {
        const struct rcx_request *r = s->requests[i];

        if (!r || r->state == RCX_REQUEST_FREE)
            continue;
        active |= r->state == RCX_REQUEST_ACTIVE;
        if (r->state == RCX_REQUEST_ACTIVE || r->ended == 0 ||
            (s->index < s->n && (int64_t)(r->ended - first) >= 0))
            continue;
        s->index = i;
        first = r->ended;
    }
    return s->index < s->n || !active;
}

/* Check those behind the first, whose context is entered. */
static rcx_status_t check_others(const char *call, const struct several *s,
                                 size_t first)
{
    const struct rcx_context *context = s->requests[first]->comm->context;

    for (size_t i = first + 1; i < s->n; i++) {
        const struct rcx_request *r = s->requests[i];

        if (r && (!r->comm || r->state == RCX_REQUEST_FREE))
            return was_freed(call, context, r);
        if (r && r->comm->context != context)
            return rcx_fail(&context->log, RCX_ERR_ARG,
                            "rcx_%s: requests[%zu]=%p: is of another context "
                            "than requests[%zu]; all requests of a call must "
                            "be of one context",
                            call, i, (const void *)r, first);
    }
    return RCX_OK;
}

/* Check them, and enter their context. *first_p: the first that is not NULL; n:
 * there is none, and nothing is entered. */
static rcx_status_t enter_several(const char *call, const struct several *s,
                                  size_t *first_p)
{
    struct rcx_context *context;
    rcx_status_t status;
    size_t first = 0;

    if (s->n > 0 && !s->requests)
        return rcx_bad_handle(call, "requests", s->requests);
    while (first < s->n && !s->requests[first])
        first++;
    *first_p = first;
    if (first == s->n)
        return RCX_OK;
    status = enter(call, s->requests[first]);
    if (status != RCX_OK)
        return status;
    context = s->requests[first]->comm->context;
    status = check_others(call, s, first);
    return status == RCX_OK ? RCX_OK : leave(context, status);
}

static void set_all_waiting(const struct several *s, bool wait)
{
    for (size_t i = 0; i < s->n; i++)
        if (s->requests[i])
            set_waiting(s->requests[i], wait);
}

static rcx_status_t take_first(struct rcx_context *context, struct several *s,
                               uint64_t until_ns, size_t *index_p)
{
    bool is_over;

    if (!look(s))
        look_once(context, until_ns > 0);
    set_all_waiting(s, true);
    is_over = rcx_context_wait(context, until_ns, look, s);
    set_all_waiting(s, false);
    if (!is_over)
        return RCX_IN_PROGRESS;
    *index_p = s->index;
    return s->index < s->n ? collect(s->requests[s->index]) : RCX_OK;
}

static rcx_status_t wait_any(const char *call, size_t n,
                             rcx_request_t *const requests[], uint64_t until_ns,
                             size_t *index_p)
{
    struct several s = {.n = n, .requests = requests};
    struct rcx_context *context;
    rcx_status_t status;
    size_t first;

    if (!index_p)
        return rcx_bad_handle(call, "index_p", index_p);
    status = enter_several(call, &s, &first);
    if (status != RCX_OK)
        return status;
    if (first == n) {
        *index_p = n;
        return RCX_OK;
    }
    context = requests[first]->comm->context;
    return leave(context, take_first(context, &s, until_ns, index_p));
}

rcx_status_t rcx_wait_any(size_t n, rcx_request_t *const requests[],
                          size_t *index_p)
{
    return wait_any("wait_any", n, requests, UINT64_MAX, index_p);
}

rcx_status_t rcx_test_any(size_t n, rcx_request_t *const requests[],
                          size_t *index_p)
{
    return wait_any("test_any", n, requests, 0, index_p);
}

/* As rcx_wait_all() would return it. */
static rcx_status_t collect_all(size_t n, rcx_request_t *const requests[])
{
    rcx_status_t first = RCX_OK;

    for (size_t i = 0; i < n; i++) {
        const rcx_status_t status = requests[i] ? collect(requests[i]) : RCX_OK;

        first = first == RCX_OK ? status : first;
    }
    return first;
}

static bool are_complete(size_t n, rcx_request_t *const requests[])
{
    size_t i = 0;

    while (i < n && (!requests[i] || is_complete(requests[i])))
        i++;
    return i == n;
}

rcx_status_t rcx_test_all(size_t n, rcx_request_t *const requests[],
                          int *done_p)
{
    const struct several s = {.n = n, .requests = requests};
    struct rcx_context *context;
    rcx_status_t status;
    size_t first;

    if (!done_p)
        return rcx_bad_handle("test_all", "done_p", done_p);
    status = enter_several("test_all", &s, &first);
    if (status != RCX_OK)
        return status;
    *done_p = first == n;
    if (first == n)
        return RCX_OK;
    context = requests[first]->comm->context;
    if (!are_complete(n, requests))
        rcx_context_test(context);
    *done_p = are_complete(n, requests);
    return leave(context, *done_p ? collect_all(n, requests) : RCX_OK);
}

/* ---- Their end ----------------------------------------------------------- */

void rcx_request_put(struct rcx_request *r)
{
    struct rcx_context *context = r->comm->context;

    rcx_registry_pin(&context->registry, r->program->record.type,
                     r->program->record.op, -1);
    context->requests.live--;
}

void rcx_request_release(struct rcx_request *r)
{
    struct rcx_comm *comm = r->comm;

    rcx_request_put(r);
    rcx_request_destroy(r);
    rcx_comm_end_use(comm);
}

static rcx_status_t release(struct rcx_request *r)
{
    if (r->state == RCX_REQUEST_ACTIVE)
        return rcx_fail(&r->comm->context->log, RCX_ERR_BUSY,
                        "rcx_request_free: request=%p: is active; wait for it "
                        "first",
                        (void *)r);
    rcx_request_release(r);
    return RCX_OK;
}

rcx_status_t rcx_request_free(rcx_request_t **request_p)
{
    rcx_request_t *request = request_p ? *request_p : NULL;
    rcx_status_t status;

    if (request_p && !request)
        return RCX_OK;
    status = enter("request_free", request);
    if (status != RCX_OK)
        return status;
    status = leave(request->comm->context, release(request));
    if (status == RCX_OK)
        *request_p = NULL;
    return status;
}

/* The transport may end it in the call. A thread that sleeps must learn of
 * it. */
static rcx_status_t cancel(struct rcx_request *r)
{
    struct rcx_context *context = r->comm->context;

    if (!r->program->is_p2p || rcx_p2p_of(r->program)->call.sends)
        return rcx_fail(&context->log, RCX_ERR_ARG,
                        "rcx_cancel: request=%p: is not a receive", (void *)r);
    if (r->state != RCX_REQUEST_ACTIVE)
        return RCX_OK;
    rcx_request_withdraw(r);
    rcx_context_poll(context);
    rcx_wake_sleeper(&context->sleeper);
    return RCX_OK;
}

rcx_status_t rcx_cancel(rcx_request_t *request)
{
    const rcx_status_t status = enter("cancel", request);

    return status == RCX_OK ? leave(request->comm->context, cancel(request))
                            : status;
}

static rcx_status_t set_callback(struct rcx_request *r, rcx_callback_fn_t fn,
                                 void *arg)
{
    if (!fn)
        return rcx_missing(&r->comm->context->log,
                           "rcx_request_set_callback: fn");
    r->callback = fn;
    r->callback_arg = arg;
    if (!r->persistent && r->state == RCX_REQUEST_IDLE)
        rcx_callback_add(&r->comm->context->callbacks, r);
    return RCX_OK;
}

rcx_status_t rcx_request_set_callback(rcx_request_t *request,
                                      rcx_callback_fn_t fn, void *arg)
{
    const rcx_status_t status = enter("request_set_callback", request);

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

static rcx_status_t recv_info(const struct rcx_request *r,
                              rcx_recv_info_t *info_p)
{
    const struct rcx_log *log = &r->comm->context->log;

    if (!info_p)
        return rcx_missing(log, "rcx_request_recv_info: info_p");
    if (!r->program->is_p2p || rcx_p2p_of(r->program)->call.sends)
        return rcx_fail(log, RCX_ERR_ARG,
                        "rcx_request_recv_info: request=%p: is not a receive",
                        (const void *)r);
    if (r->state == RCX_REQUEST_ACTIVE)
        return rcx_fail(log, RCX_ERR_BUSY,
                        "rcx_request_recv_info: request=%p: is active; wait "
                        "for it first",
                        (const void *)r);
    if (!rcx_p2p_of(r->program)->has_info)
        return rcx_fail(
            log, RCX_ERR_ARG,
            "rcx_request_recv_info: request=%p: has received no message yet",
            (const void *)r);
    *info_p = rcx_p2p_of(r->program)->info;
    return RCX_OK;
}

rcx_status_t rcx_request_recv_info(rcx_request_t *request,
                                   rcx_recv_info_t *info_p)
{
    const rcx_status_t status = enter("request_recv_info", request);

    return status == RCX_OK
               ? leave(request->comm->context, recv_info(request, info_p))
               : status;
}
