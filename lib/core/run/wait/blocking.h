/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A whole operation: start and wait. A short call is one segment, which starts
 * before there is a request. Most are over after a few polls, or at once where
 * nothing is waited for, as often by who only sends: these never have one. That
 * way is inlined into each collective's blocking call. Requests of users begin
 * likewise.
 */
#ifndef RCX_CORE_RUN_WAIT_BLOCKING_H
#define RCX_CORE_RUN_WAIT_BLOCKING_H

#include "core/run/request/request.h"
#include "core/run/request/seq_window.h"
#include "core/run/wait/enter.h"

/* Whether the only segment of program may start at once. */
static inline bool rcx_request_may_start(const struct rcx_comm *comm,
                                         const struct rcx_program *program)
{
    const struct rcx_window *w = &comm->window;
    const uint64_t most = comm->context->ahead;

    return program->is_single && w->next < w->limit &&
           (w->ahead & (most - 1)) + program->weight < most;
}

/* True: it is over. False: rcx_exec_go_on(). */
static inline bool rcx_request_begin(struct rcx_comm *comm,
                                     struct rcx_program *program,
                                     const void *in, void *out,
                                     struct rcx_exec *x)
{
    struct rcx_window *w = &comm->window;

    x->segment = 0;
    x->base[RCX_BUFFER_IN] = (char *)in;
    x->base[RCX_BUFFER_OUT] = out;
    x->tag_base =
        (program->tag ^ rcx_window_next_mark(w)) | rcx_window_tag(w, w->next);
    w->next++;
    w->ahead += program->weight;
    return rcx_exec_begin(x);
}

/* While the first messages travel. To the recorder it is over: whom it takes
 * longer than a few looks says otherwise. */
static inline void rcx_request_note(struct rcx_comm *comm,
                                    struct rcx_program *program)
{
    struct rcx_context *context = comm->context;

    if (context->transport->doorbell)
        rcx_note_sent(context);
    rcx_recorder_add(&comm->recorder, &program->record, context->progress.ticks,
                     RCX_OK);
}

/* All of it is done. */
static inline void rcx_request_conclude(struct rcx_comm *comm,
                                        struct rcx_program *program,
                                        struct rcx_exec *x)
{
    rcx_request_round_off(comm, program, program->pieces, x);
    rcx_exec_give_back(&program->pieces->pool, x);
    rcx_context_pass_by(comm->context);
}

/* What is not over at once: x, lent, which is under way or has failed;
 * its entry is the newest. */
rcx_status_t rcx_request_go_on(struct rcx_comm *comm,
                               struct rcx_program *program, const void *in,
                               void *out, struct rcx_exec *x, bool is_over);
/* A request that was begun so; NULL: it may not, or memory ran out, and nothing has
 * happened. Takes a pin of its own. */
struct rcx_request *rcx_request_begun(struct rcx_comm *comm,
                                      struct rcx_program *program,
                                      const void *in, void *out);
/* What may not start at once, or is more than a segment. */
rcx_status_t rcx_request_run_any(struct rcx_comm *comm,
                                 struct rcx_program *program, const void *in,
                                 void *out);

/* program stays for as long as nothing else happens; both above pin it. */
__attribute__((always_inline)) static inline rcx_status_t
rcx_request_run(struct rcx_comm *comm, struct rcx_program *program,
                const void *in, void *out)
{
    struct rcx_exec *x = rcx_request_may_start(comm, program)
                             ? rcx_exec_lend(&program->pieces->pool)
                             : NULL;
    bool is_over;

    if (__builtin_expect(!x, 0))
        return rcx_request_run_any(comm, program, in, out);
    is_over = rcx_request_begin(comm, program, in, out, x);
    rcx_request_note(comm, program);
    if (!is_over)
        is_over = rcx_exec_go_on(x, comm->context->progress.polls);
    if (__builtin_expect(!is_over || x->status != RCX_OK, 0))
        return rcx_request_go_on(comm, program, in, out, x, is_over);
    rcx_request_conclude(comm, program, x);
    return RCX_OK;
}

#endif
