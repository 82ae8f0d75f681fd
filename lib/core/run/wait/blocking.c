/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The slow part of blocking calls, and the fast start of requests. See
 * blocking.h for the fast path of a blocking call.
 */
#include "core/run/wait/blocking.h"

#include "core/base/relax.h"
#include "core/run/detect/poll.h"
#include "core/run/observe/observer.h"
#include "core/run/request/request_pool.h"

bool rcx_exec_is_soon_over(struct rcx_context *context, struct rcx_exec *x)
{
    struct rcx_transport *t = context->transport;

    for (unsigned polls = context->progress.polls; polls > 0; polls--) {
        struct rcx_message *m;

        if (!t->done && !t->ops->progress(t)) {
            rcx_relax();
            continue;
        }
        for (m = t->done; m && m->owner == x && !t->ctrl; m = t->done)
            if (rcx_exec_advance(x, rcx_take_done(t)))
                return true;
        if (m)
            return false;
    }
    return false;
}

rcx_status_t rcx_request_finish_blocking(struct rcx_comm *comm,
                                         struct rcx_program *program,
                                         const void *in, void *out,
                                         struct rcx_exec *x, bool is_over)
{
    struct rcx_request r;
    rcx_status_t status;

    if (!is_over)
        is_over = rcx_exec_is_soon_over(comm->context, x);
    if (is_over && x->status == RCX_OK) {
        rcx_request_conclude(comm, program, x);
        return RCX_OK;
    }
    rcx_exec_keep(&program->pieces->pool);
    rcx_program_pin(program);
    r.kind = RCX_REQUEST_INSIDE;
    rcx_request_prepare(&r, comm, program, in, out);
    x->owner = &r;
    rcx_request_adopt(&r, x, is_over, rcx_recorder_reopen(&comm->recorder));
    status = rcx_request_wait(&r);
    rcx_program_unpin(comm->cache, program);
    return status;
}

struct rcx_request *rcx_request_start_fast(struct rcx_comm *comm,
                                           struct rcx_program *program,
                                           const void *in, void *out,
                                           const void *site)
{
    struct rcx_context *context = comm->context;
    struct rcx_request *r = NULL;
    struct rcx_exec *x;
    bool is_over;

    if (program->is_short && rcx_request_has_room(comm, program))
        r = rcx_requests_get(&context->requests, &context->heap);
    x = r ? rcx_exec_get(&program->pieces->pool) : NULL;
    if (!x) {
        if (r)
            rcx_requests_put(&context->requests, r);
        return NULL;
    }
    rcx_program_pin(program);
    rcx_request_fill(r, comm, program, in, out);
    if (__builtin_expect(program->is_observed, 0)) {
        r->site = site;
        r->sequence = comm->window.next;
        rcx_observe_start(r);
    }
    is_over = rcx_request_begin(comm, program, in, out, x);
    rcx_request_note(comm, program);
    is_over = is_over || rcx_exec_go_on(x, 0);
    if (is_over && x->status == RCX_OK) {
        rcx_request_complete_call(comm, program, program->pieces, x);
        rcx_exec_put(x);
        r->ended = context->progress.ticks;
        if (__builtin_expect(program->is_observed, 0)) {
            r->begin = r->ended;
            rcx_observe_end(r, rcx_ticks());
        }
        return r;
    }
    x->owner = r;
    rcx_request_adopt(r, x, is_over, rcx_recorder_reopen(&comm->recorder));
    return r;
}

rcx_status_t rcx_request_run_as_request(struct rcx_comm *comm,
                                        struct rcx_program *program,
                                        const void *in, void *out)
{
    struct rcx_request r;
    rcx_status_t status;

    rcx_program_pin(program);
    r.kind = RCX_REQUEST_INSIDE;
    status = rcx_request_prepare(&r, comm, program, in, out);
    if (status == RCX_OK) {
        rcx_request_launch(&r);
        status = rcx_request_wait(&r);
    }
    rcx_request_clear(&r);
    return status;
}
