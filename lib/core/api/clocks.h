/* SPDX-License-Identifier: BSD-3-Clause */
/* The clocks of a job's machines. */
#ifndef RCX_CORE_API_CLOCKS_H
#define RCX_CORE_API_CLOCKS_H

#include "core/run/observe/observer.h"

/* Measure the offset of this machine's clock from that of rank 0, and add it to
 * the observer's marks. Collective; nothing is sent on one machine. */
rcx_status_t rcx_clocks_measure(struct rcx_context *context);

#endif
