/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef RCX_TRANSPORT_UCP_ADJUST_H
#define RCX_TRANSPORT_UCP_ADJUST_H

#include <sys/types.h>

#include "core/iface/transport.h"
#include "transport/node/caps.h"

struct ucp_config;
struct ucp_ep;

/* Adjust config to the node: which transports work there, and what is fast.
 * Settings of the user are kept. All ranks of a node come to the same. */
rcx_status_t rcx_ucp_adjust(const struct rcx_transport_args *args,
                            struct ucp_config *config, struct rcx_node *node,
                            size_t *ack_bytes_p);

/* Whether this process may open as many descriptors as UCX needs. UCX 1.13 ends
 * the process, or does not tell the cause, if it lacks some. RCX_ERR_LIMIT,
 * logged. */
rcx_status_t rcx_ucp_check_descriptors(const struct rcx_log *log);

/* A call that opens UCX has failed with a ucs_status_t: log it, with the likely
 * cause. */
rcx_status_t rcx_ucp_fail_to_open(const struct rcx_log *log, const char *call,
                                  int status);

/* Store the text for a peer that no transport leads to. */
void rcx_ucp_print_lost(struct rcx_boot *boot, const struct rcx_log *log,
                        int peer, const char *why, char *text, size_t bytes);

/* The same for a peer whose process has ended. */
void rcx_ucp_print_ended(struct rcx_boot *boot, const struct rcx_log *log,
                         int peer, pid_t pid, char *text, size_t bytes);

/* Log which transports lead to peer. */
void rcx_ucp_log_lanes(const struct rcx_log *log, rcx_log_level_t level,
                       int peer, struct ucp_ep *endpoint);

#endif
