/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef RCX_TRANSPORT_UCP_ADJUST_H
#define RCX_TRANSPORT_UCP_ADJUST_H

#include "core/exec/transport.h"

struct ucp_config;
struct ucp_ep;

/* Adjust config to the node: which lanes work there, and what is fast. What the
 * user set stays. Ranks of a node come to the same. */
rcx_status_t rcx_ucp_adjust(const struct rcx_transport_args *args,
                            struct ucp_config *config, size_t *credit_bytes_p);

/* What the user set, for RCX or for all of UCX; NULL: nothing. */
const char *rcx_ucp_user_setting(const char *name);

/* Tell which transports lead to peer. */
void rcx_ucp_tell_lanes(const struct rcx_log *log, rcx_log_level_t level,
                        int peer, struct ucp_ep *endpoint);

#endif
