/* SPDX-License-Identifier: BSD-3-Clause */
/* Requests: the life cycle of one operation. */
#ifndef RCX_CORE_RUN_REQUEST_REQUEST_H
#define RCX_CORE_RUN_REQUEST_REQUEST_H

#include "core/run/object/request.h"
#include "core/run/plan/cache.h"

/* Add the stages before and behind the call that its program has; stages.c. */
rcx_status_t rcx_request_add_stages(struct rcx_request *r);
void rcx_request_free_stages(struct rcx_request *r);
/* Add a last stage to a request that has stages. */
rcx_status_t rcx_request_append_stage(struct rcx_request *r,
                                      const struct rcx_call *call);

/* Prepare a request of RCX's own, whose kind is set. Not started yet. Takes
 * over the caller's pin of program, also on failure, until the request is
 * cleared. */
static inline rcx_status_t rcx_request_prepare(struct rcx_request *r,
                                               struct rcx_comm *comm,
                                               struct rcx_program *program,
                                               const void *in, void *out)
{
    r->comm = comm;
    r->program = program;
    r->callback = NULL;
    r->stages[0] = (struct rcx_stage){program, (char *)in, out};
    return program->has_stages ? rcx_request_add_stages(r) : RCX_OK;
}
/* The same for a user's request. */
static inline rcx_status_t rcx_request_fill(struct rcx_request *r,
                                            struct rcx_comm *comm,
                                            struct rcx_program *program,
                                            const void *in, void *out)
{
    r->kind = 0;
    r->state = RCX_REQUEST_IDLE;
    r->status = RCX_OK;
    r->ended = 0;
    r->veclist = NULL;
    r->site = NULL;
    return rcx_request_prepare(r, comm, program, in, out);
}
static inline void rcx_request_clear(struct rcx_request *r)
{
    if (r->program->has_stages)
        rcx_request_free_stages(r);
    rcx_program_unpin(r->comm->cache, r->program);
}
/* Takes over the caller's pin of program, also on failure. */
rcx_status_t rcx_request_create(struct rcx_comm *comm,
                                struct rcx_program *program, const void *in,
                                void *out, struct rcx_request **request_p);
void rcx_request_destroy(struct rcx_request *request);
/* Start it. It completes at once or by rcx_context_progress(). */
void rcx_request_launch(struct rcx_request *request);
/* The same for a request whose only segment, x, has been started with the last
 * number given out, and is recorded. */
void rcx_request_adopt(struct rcx_request *r, struct rcx_exec *x, bool is_over,
                       uint64_t record);
/* The same two for a message. */
void rcx_request_post(struct rcx_request *request);
void rcx_request_adopt_message(struct rcx_request *r, struct rcx_exec *x,
                               bool is_over, uint64_t record);
/* Cancel an active receive, unless a message has matched it. */
void rcx_request_withdraw(struct rcx_request *request);
/* A segment's steps are done: what its op does with the sum of all. */
static inline void rcx_request_complete_call(const struct rcx_comm *comm,
                                             const struct rcx_program *program,
                                             const struct rcx_piece *piece,
                                             struct rcx_exec *x)
{
    if (program->combine.finish)
        program->combine.finish(x->base[RCX_BUFFER_OUT],
                                x->base[RCX_BUFFER_OUT], NULL, piece->out_count,
                                comm->size);
}
/* A request whose executions are gone ends with the status that it has. */
void rcx_request_finish(struct rcx_request *r);
/* An execution of it is complete: go on with what follows. */
void rcx_request_advance(struct rcx_request *r, struct rcx_exec *x);
/* A message of it with peer cannot be given or got: its communicator fails, as
 * the transport says why, unless a rank says why else. */
void rcx_request_message_failed(const struct rcx_request *r,
                                rcx_status_t status, int peer);
/* The oldest message of comm that a thread waits for; or NULL. */
const struct rcx_request *rcx_comm_awaited_message(const struct rcx_comm *comm);
#endif
