/* SPDX-License-Identifier: BSD-3-Clause */
/* How a rank gets its place in the tree: rank 0 begins to listen, and another
 * rank asks it for its parent and connects to that. */
#ifndef RCX_BOOTSTRAP_SOCKET_JOIN_H
#define RCX_BOOTSTRAP_SOCKET_JOIN_H

#include "bootstrap/socket_job.h"
#include "bootstrap/socket_tree.h"

/* Rank 0: listen where the job says. Errors are logged. */
rcx_status_t rcx_socket_host(struct rcx_socket_tree *t,
                             struct rcx_socket_job *job);

/* Rank 0: the listener is needed no more, and the file neither. */
void rcx_socket_unhost(struct rcx_socket_tree *t,
                       const struct rcx_socket_job *job);

/* Another rank: connect to the parent. Errors are logged. */
rcx_status_t rcx_socket_join(struct rcx_socket_tree *t,
                             const struct rcx_socket_job *job);

#endif
