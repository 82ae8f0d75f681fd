/* SPDX-License-Identifier: BSD-3-Clause */
/* Blocking collectives that RCX runs for itself. */
#ifndef RCX_CORE_RUN_COMM_INTERNAL_H
#define RCX_CORE_RUN_COMM_INTERNAL_H

#include "core/run/object/comm.h"

rcx_status_t rcx_internal_run(struct rcx_comm *comm,
                              const struct rcx_call *call, const void *in,
                              void *out);
rcx_status_t rcx_internal_barrier(struct rcx_comm *comm);

#endif
