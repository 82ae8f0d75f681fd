/* SPDX-License-Identifier: BSD-3-Clause */
/* Who makes progress, and waiting. */
#ifndef RCX_CORE_RUN_PROGRESS_H
#define RCX_CORE_RUN_PROGRESS_H

#include <stdint.h>

#include "rcx/rcx.h"

struct rcx_comm;
struct rcx_context;
struct rcx_program;
struct rcx_request;

struct rcx_progress {
    uint64_t ticks; /* when a collective was last called */
    unsigned turns; /* since the last watch */
    unsigned polls; /* in a row, before anything else */
    unsigned spin;  /* empty polls before the core is yielded */
};

rcx_status_t rcx_request_wait(struct rcx_request *request);
/* A whole operation: start and wait. Takes over the pin of program. */
rcx_status_t rcx_request_run(struct rcx_comm *comm, struct rcx_program *program,
                             const void *in, void *out);

/* Progress the transport and all requests, and watch now and then; events
 * handled. */
int rcx_context_progress(struct rcx_context *context);
/* See all that has come while this process was elsewhere. */
void rcx_context_catch_up(struct rcx_context *context);

#endif
