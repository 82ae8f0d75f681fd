/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The side of the tree that connects: a rank other than 0 asks rank 0 for its
 * position and parent, and connects to the parent.
 */
#ifndef RCX_BOOTSTRAP_SOCKET_JOIN_H
#define RCX_BOOTSTRAP_SOCKET_JOIN_H

#include "bootstrap/socket_job.h"
#include "bootstrap/socket_tree.h"

/* Connect to the parent, and listen for children. Errors are logged. */
rcx_status_t rcx_socket_join(struct rcx_socket_tree *t,
                             const struct rcx_socket_job *job);

/* Rank 0 finds its port occupied. If rank 0 of this job listens there, too, the
 * job fails on both, logged. RCX_OK: it is another process. */
rcx_status_t rcx_socket_ask_holder(struct rcx_socket_tree *t,
                                   const struct rcx_socket_job *job);

#endif
