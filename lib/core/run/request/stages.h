/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Stages of RCX's own before and behind a user's operation; most operations
 * have none. Prologue and epilogue are small allreduces. A first step tells
 * ranks the lengths of blocks that they forward to others: it is the same
 * collective with blocks of one element, the lengths. Vectors are part of the
 * execution.
 */
#ifndef RCX_CORE_RUN_REQUEST_STAGES_H
#define RCX_CORE_RUN_REQUEST_STAGES_H

#include "core/run/request/request.h"

/* Whether r is in its prologue. */
static inline bool rcx_request_is_prologue(const struct rcx_request *r)
{
    return r->program->has_prologue && r->stage == r->stages;
}

/* Whether r is in its first step. */
static inline bool rcx_request_is_first_step(const struct rcx_request *r)
{
    return r->stage->program->call.role == RCX_CALL_FIRST_STEP;
}
/* Its stages are a communicator's, whose vectors do not lie in executions. */
static inline bool rcx_request_is_creating(const struct rcx_request *r)
{
    return r->program->makes_comm && !rcx_request_is_prologue(r);
}
/* The first step has completed: continue with the call itself, for which all
 * lengths are known. Later starts begin there. */
void rcx_request_take_over(struct rcx_request *r);

/* A segment of a stage is about to start. */
void rcx_stage_begin(struct rcx_request *r, struct rcx_exec *x);
/* The stage has completed. False: the stages behind it must not run. */
bool rcx_stage_end(struct rcx_request *r, struct rcx_exec *x);

#endif
