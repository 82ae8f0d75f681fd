/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * How a start fails: deadlines, ranks that are missing or have ended, and the
 * control frames about them. Used by the steps of the tree.
 */
#ifndef RCX_BOOTSTRAP_SOCKET_FAILURE_H
#define RCX_BOOTSTRAP_SOCKET_FAILURE_H

#include "bootstrap/socket_tree.h"

/* Whether the parts of all ranks below have arrived. */
bool rcx_socket_has_all_below(const struct rcx_socket_tree *t);
/* Whether the frame of this step to link has been sent. */
bool rcx_socket_is_served(const struct rcx_socket_tree *t,
                          const struct rcx_socket_link *link);

/* Wait for an event until until_ns, and handle those of the server. */
void rcx_socket_tree_wait(struct rcx_socket_tree *t, uint64_t until_ns);

/* Do what deadlines require. Returns the time of the next call. */
uint64_t rcx_socket_check_time(struct rcx_socket_tree *t);

/* Handle a control frame of link. */
void rcx_socket_take_control(struct rcx_socket_tree *t,
                             struct rcx_socket_link *link);

/* Fail for these reasons: */
void rcx_socket_fail_ended(struct rcx_socket_tree *t,
                           struct rcx_socket_link *link);
void rcx_socket_fail_malformed(struct rcx_socket_tree *t,
                               const struct rcx_socket_link *link);
void rcx_socket_fail_memory(struct rcx_socket_tree *t, size_t bytes);

#endif
