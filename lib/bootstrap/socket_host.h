/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The side of the tree that accepts connections: rank 0 listens and gives each
 * process its position, and each parent accepts its children.
 */
#ifndef RCX_BOOTSTRAP_SOCKET_HOST_H
#define RCX_BOOTSTRAP_SOCKET_HOST_H

#include "bootstrap/socket_job.h"
#include "bootstrap/socket_tree.h"

/* Rank 0: listen where the job says. Errors are logged. */
rcx_status_t rcx_socket_host(struct rcx_socket_tree *t,
                             struct rcx_socket_job *job);

/* Rank 0: close the listener, and remove the file of the job. Another rank:
 * close the listener. */
void rcx_socket_unhost(struct rcx_socket_tree *t,
                       const struct rcx_socket_job *job);

/* Accept children with this key. Takes over the listener, also on failure.
 * False: no memory. */
bool rcx_socket_accept_children(struct rcx_socket_tree *t, int listener,
                                const struct rcx_socket_key *key);

#endif
