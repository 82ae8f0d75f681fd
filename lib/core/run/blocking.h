/* SPDX-License-Identifier: BSD-3-Clause */
/* A whole operation: start and wait. */
#ifndef RCX_CORE_RUN_BLOCKING_H
#define RCX_CORE_RUN_BLOCKING_H

#include "core/run/program.h"

/* Takes over the caller's pin of program. */
rcx_status_t rcx_request_run(struct rcx_comm *comm, struct rcx_program *program,
                             const void *in, void *out);

#endif
