/* SPDX-License-Identifier: BSD-3-Clause */
/* The network between nodes, measured when a context opens. */
#ifndef RCX_CORE_API_NETWORK_H
#define RCX_CORE_API_NETWORK_H

#include "core/run/context/context.h"

/*
 * Where there are several nodes and nothing prescribes prices, set those of
 * context->machine between nodes. Collective over the job. All ranks get the
 * same, whatever fails: those of the configuration stay if nothing could be
 * measured. An error is that of the agreement, and logged.
 */
rcx_status_t rcx_network_measure(struct rcx_context *context);

#endif
