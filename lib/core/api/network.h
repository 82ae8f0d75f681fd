/* SPDX-License-Identifier: BSD-3-Clause */
/* The network between nodes, measured when a context opens. */
#ifndef RCX_CORE_API_NETWORK_H
#define RCX_CORE_API_NETWORK_H

#include "core/run/context/context.h"

/*
 * Collective over the job, on several nodes. On rank 0, store in *far what a
 * message and a byte cost more to another node than within one. An error is
 * that of a message, and logged.
 */
rcx_status_t rcx_network_time(struct rcx_context *context,
                              struct rcx_link *far);

/*
 * Where there are several nodes and nothing prescribes prices, set those of
 * context->machine between nodes. Collective over the job. All ranks get the
 * same, whatever fails: those of the configuration stay if nothing could be
 * measured. An error is that of the agreement, or RCX_ERR_NOMEM, and logged.
 */
rcx_status_t rcx_network_measure(struct rcx_context *context);

#endif
