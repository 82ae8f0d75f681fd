/* SPDX-License-Identifier: BSD-3-Clause */
/* Configuration check: what ranks tell each other at start. */
#ifndef RCX_CORE_RUN_CONTEXT_CONFIG_CHECK_H
#define RCX_CORE_RUN_CONTEXT_CONFIG_CHECK_H

#include "core/run/object/context.h"

/* Publish the header and the transport's address. */
rcx_status_t rcx_config_publish(struct rcx_context *context);

/*
 * Read what all ranks have published, after publishing. Sets the context's map
 * of nodes and whether ranks outnumber cores. RCX_ERR_CONFIG on all ranks if
 * the environment of one is invalid, or if settings differ so that messages
 * would not match. Of the ranks that have the same lines to log, the lowest one
 * logs them.
 */
rcx_status_t rcx_config_check(struct rcx_context *context);

#endif
