/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The stages of RCX's own before and behind a user's operation. Hardly any has
 * one. Each is a small allreduce whose vector is in the execution.
 */
#ifndef RCX_CORE_RUN_ROUNDS_H
#define RCX_CORE_RUN_ROUNDS_H

#include "core/run/request.h"

/* Whether r is in the one before what was called. */
static inline bool rcx_request_is_opening(const struct rcx_request *r)
{
    return r->program->has_opening && r->stage == r->stages;
}

/* A segment of r's stage, which is a round, is about to start. */
void rcx_round_begin(struct rcx_request *r, struct rcx_exec *x);
/* It is over, and all went well. False: r's stages behind it are not to run. */
bool rcx_round_end(struct rcx_request *r, struct rcx_exec *x);

#endif
