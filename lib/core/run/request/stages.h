/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The stages of RCX's own before and behind a user's operation. Hardly any has
 * one. An opening and a closing are small allreduces. A first step tells ranks
 * how long blocks are that pass them on their way to others; it is what was
 * called with blocks of one element, which are these lengths. Vectors are in the
 * execution.
 */
#ifndef RCX_CORE_RUN_REQUEST_STAGES_H
#define RCX_CORE_RUN_REQUEST_STAGES_H

#include "core/run/request/request.h"

/* Whether r is in the one before what was called. */
static inline bool rcx_request_is_prologue(const struct rcx_request *r)
{
    return r->program->has_prologue && r->stage == r->stages;
}

/* Whether it is in the step that tells what passes. */
static inline bool rcx_request_is_first_step(const struct rcx_request *r)
{
    return rcx_call_is_first_step(&r->stage->program->call);
}
/* That is over, and all went well: the call itself comes, with what was told;
 * later starts begin with it. */
void rcx_request_take_over(struct rcx_request *r);

/* A segment of r's stage, which is a round, is about to start. */
void rcx_stage_begin(struct rcx_request *r, struct rcx_exec *x);
/* It is over, and all went well. False: r's stages behind it are not to run. */
bool rcx_stage_end(struct rcx_request *r, struct rcx_exec *x);

#endif
