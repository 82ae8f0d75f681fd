/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A whole operation: start and wait. There are two paths. A call of one segment
 * that may start at once runs without a request: most such calls complete
 * within a few polls, and without a request a broadcast of 8 bytes takes a
 * quarter less time. This fast path is inlined into each blocking collective,
 * and a nonblocking call starts by it as well. All other operations are
 * requests (request.c), which launch their segments. Both paths end in
 * rcx_request_complete_call(); a call that takes longer becomes a request by
 * rcx_request_adopt().
 */
#ifndef RCX_CORE_RUN_WAIT_BLOCKING_H
#define RCX_CORE_RUN_WAIT_BLOCKING_H

#include "core/run/request/request.h"
#include "core/run/request/seq_window.h"
#include "core/run/wait/enter.h"

/* Whether the windows have room for a segment. */
static inline bool rcx_request_has_room(const struct rcx_comm *comm,
                                        const struct rcx_program *program)
{
    const struct rcx_seq_window *w = &comm->window;
    const uint64_t most = comm->context->ahead;

    return w->next < w->limit &&
           (w->ahead & (most - 1)) + program->weight < most;
}

/* Whether the only segment of program may start at once, with no observer. */
static inline bool rcx_request_may_start(const struct rcx_comm *comm,
                                         const struct rcx_program *program)
{
    return program->is_single && rcx_request_has_room(comm, program);
}

/* Start x. True: it has completed. False: continue with rcx_exec_go_on(). */
static inline bool rcx_request_begin(struct rcx_comm *comm,
                                     struct rcx_program *program,
                                     const void *in, void *out,
                                     struct rcx_exec *x)
{
    struct rcx_seq_window *w = &comm->window;

    x->segment = 0;
    x->base[RCX_BUFFER_IN] = (char *)in;
    x->base[RCX_BUFFER_OUT] = out;
    x->tag_base = (program->tag ^ rcx_seq_window_next_mark(w)) |
                  rcx_seq_window_tag(w, w->next);
    w->next++;
    w->ahead += program->weight;
    return rcx_exec_begin(x);
}

/* Record the call while its first messages travel. It is recorded as complete;
 * a call that takes longer than a few polls corrects that. */
static inline void rcx_request_note(struct rcx_comm *comm,
                                    struct rcx_program *program)
{
    struct rcx_context *context = comm->context;

    if (context->transport->doorbell)
        rcx_stamp_sent(context);
    rcx_recorder_add(&comm->recorder, &program->record, context->progress.ticks,
                     RCX_OK);
}

/* The call has completed. */
static inline void rcx_request_conclude(struct rcx_comm *comm,
                                        struct rcx_program *program,
                                        struct rcx_exec *x)
{
    rcx_request_complete_call(comm, program, program->pieces, x);
    rcx_exec_return(&program->pieces->pool, x);
    rcx_context_maybe_progress(comm->context);
}

/* Whether x completes within a few polls in which nothing else happens. A
 * control message comes first: what follows it may be of a call that has
 * failed. */
bool rcx_exec_is_soon_over(struct rcx_context *context, struct rcx_exec *x);

/* Complete a call that did not complete at once. x is lent, and in flight or
 * failed; its record is the newest. */
rcx_status_t rcx_request_finish_blocking(struct rcx_comm *comm,
                                         struct rcx_program *program,
                                         const void *in, void *out,
                                         struct rcx_exec *x, bool is_over);
/* Start a request in the same way. NULL: it may not start so, or memory ran
 * out, and nothing has happened. Takes a pin of its own. */
struct rcx_request *rcx_request_start_fast(struct rcx_comm *comm,
                                           struct rcx_program *program,
                                           const void *in, void *out,
                                           const void *site);
/* Run a call that may not start at once, has several segments, or is observed:
 * see observed.c.
 * site: where the user called; NULL: not known. */
rcx_status_t rcx_request_run_slow(struct rcx_comm *comm,
                                  struct rcx_program *program, const void *in,
                                  void *out, const void *site);
/* The same as a request, whether it is observed or not. */
rcx_status_t rcx_request_run_as_request(struct rcx_comm *comm,
                                        struct rcx_program *program,
                                        const void *in, void *out);

/* program need not be pinned while nothing else runs; the slow functions above
 * pin it. */
__attribute__((always_inline)) static inline rcx_status_t
rcx_request_run(struct rcx_comm *comm, struct rcx_program *program,
                const void *in, void *out, const void *site)
{
    struct rcx_exec *x = rcx_request_may_start(comm, program)
                             ? rcx_exec_lend(&program->pieces->pool)
                             : NULL;
    bool is_over;

    if (__builtin_expect(!x, 0))
        return rcx_request_run_slow(comm, program, in, out, site);
    is_over = rcx_request_begin(comm, program, in, out, x);
    rcx_request_note(comm, program);
    if (!is_over)
        is_over = rcx_exec_go_on(x, comm->context->progress.polls);
    if (__builtin_expect(!is_over || x->status != RCX_OK, 0))
        return rcx_request_finish_blocking(comm, program, in, out, x, is_over);
    rcx_request_conclude(comm, program, x);
    return RCX_OK;
}

#endif
