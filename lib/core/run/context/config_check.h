/* SPDX-License-Identifier: BSD-3-Clause */
/* What each rank tells the others at start. */
#ifndef RCX_CORE_RUN_CONTEXT_CONFIG_CHECK_H
#define RCX_CORE_RUN_CONTEXT_CONFIG_CHECK_H

#include "core/run/object/context.h"

/* Publish the transport's address and what peers may want to know of us. */
rcx_status_t rcx_peer_publish(struct rcx_context *context);

/*
 * Read what all ranks published: which node each is on becomes the context's
 * map, and whether they have cores enough. RCX_ERR_CONFIG, on all ranks, where
 * the environment of some is not valid, or where their settings would have them
 * send other messages than others expect. The lowest rank that has something to say of its environment says it
 * for all that have the same. After publish.
 */
rcx_status_t rcx_peer_learn(struct rcx_context *context);

#endif
