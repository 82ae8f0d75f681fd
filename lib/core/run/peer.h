/* SPDX-License-Identifier: BSD-3-Clause */
/* What each rank tells the others at start. */
#ifndef RCX_CORE_PEER_H
#define RCX_CORE_PEER_H

#include "core/run/context.h"

/* Publish the transport's address and what peers may want to know of us. */
rcx_status_t rcx_peer_publish(struct rcx_context *context);

/* RCX_ERR_CONFIG where another rank's settings would have it send other
 * messages than this one expects. After publish. */
rcx_status_t rcx_peer_compare_settings(struct rcx_context *context);

/* Whether ranks on this node have to share cores. */
bool rcx_peer_cores_are_shared(struct rcx_context *context);

#endif
