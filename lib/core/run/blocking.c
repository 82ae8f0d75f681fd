/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A short call is one segment, which starts before there is a request. Most are
 * over after a few polls, or at once where nothing is waited for, as often by
 * who only sends: these never have one.
 */
#include "core/run/blocking.h"

#include "core/run/poll.h"
#include "core/run/progress.h"
#include "core/run/request.h"

/* Whether the only segment of program may start at once. */
static inline bool may_start(const struct rcx_comm *comm,
                             const struct rcx_program *program)
{
    const struct rcx_window *w = &comm->window;
    const uint64_t most = comm->context->ahead;

    return program->is_single && w->next < w->limit &&
           (w->ahead & (most - 1)) + program->weight < most;
}

static inline bool start(struct rcx_comm *comm, struct rcx_program *program,
                         const void *in, void *out, struct rcx_exec *x)
{
    struct rcx_window *w = &comm->window;

    x->segment = 0;
    x->base[RCX_BUFFER_IN] = (char *)in;
    x->base[RCX_BUFFER_OUT] = out;
    x->tag_base = (program->tag ^ rcx_window_next_mark(w)) |
                  rcx_tag_sequence(&x->layout, w->next);
    w->next++;
    w->ahead += program->weight;
    return rcx_exec_start(x);
}

/* Whether x is over after a few polls, in which nothing else happened. */
static inline bool is_soon_over(struct rcx_context *context, struct rcx_exec *x)
{
    struct rcx_transport *t = context->transport;

    for (unsigned polls = context->progress.polls; polls > 0; polls--) {
        struct rcx_message *m;

        if (!t->done && !t->ops->progress(t))
            continue;
        for (m = t->done; m && m->owner == x; m = t->done)
            if (rcx_exec_advance(x, rcx_take_done(t)))
                return true;
        if (m)
            return false;
    }
    return false;
}

/* All of it is done. */
static inline void conclude(struct rcx_comm *comm,
                            const struct rcx_program *program,
                            struct rcx_exec *x)
{
    const uint64_t now = comm->context->progress.ticks;
    uint64_t number;

    if (program->combine.finish)
        program->combine.finish(x->base[RCX_BUFFER_OUT],
                                program->pieces->out_count, comm->size);
    rcx_exec_put(x);
    number = rcx_recorder_begin(&comm->recorder, &program->record,
                                1 + comm->recorder.next, now);
    rcx_recorder_end(&comm->recorder, number, RCX_OK, now);
    rcx_context_pass_by(comm->context);
}

__attribute__((noinline)) static rcx_status_t
finish(struct rcx_comm *comm, struct rcx_program *program, const void *in,
       void *out, struct rcx_exec *x, bool is_over)
{
    struct rcx_request r;

    r.kind = RCX_REQUEST_INSIDE;
    rcx_request_prepare(&r, comm, program, in, out);
    x->owner = &r;
    rcx_request_adopt(&r, x, is_over);
    return rcx_request_wait(&r);
}

__attribute__((noinline)) static rcx_status_t
run_any(struct rcx_comm *comm, struct rcx_program *program, const void *in,
        void *out)
{
    struct rcx_request r;
    rcx_status_t status;

    r.kind = RCX_REQUEST_INSIDE;
    status = rcx_request_prepare(&r, comm, program, in, out);
    if (status == RCX_OK) {
        rcx_request_launch(&r);
        status = rcx_request_wait(&r);
    }
    rcx_request_let_go(&r);
    return status;
}

rcx_status_t rcx_request_run(struct rcx_comm *comm, struct rcx_program *program,
                             const void *in, void *out)
{
    struct rcx_exec *x =
        may_start(comm, program) ? rcx_exec_get(&program->pieces->pool) : NULL;
    rcx_status_t status = RCX_OK;
    bool is_over;

    if (!x)
        return run_any(comm, program, in, out);
    is_over =
        start(comm, program, in, out, x) || is_soon_over(comm->context, x);
    if (is_over && x->status == RCX_OK)
        conclude(comm, program, x);
    else
        status = finish(comm, program, in, out, x, is_over);
    rcx_program_unpin(&comm->cache, program);
    return status;
}
