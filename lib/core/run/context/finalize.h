/* SPDX-License-Identifier: BSD-3-Clause */
/* The end of a context's life: what ranks owe each other before they go. */
#ifndef RCX_CORE_RUN_CONTEXT_FINALIZE_H
#define RCX_CORE_RUN_CONTEXT_FINALIZE_H

#include "core/run/object/context.h"

/* What rcx_finalize() returns. No peer needs this rank afterwards, or the world
 * has failed. */
rcx_status_t rcx_context_finalize(struct rcx_context *context);

#endif
