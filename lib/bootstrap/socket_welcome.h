/* SPDX-License-Identifier: BSD-3-Clause */
/* What a rank says to processes that connect to it: rank 0 gives each its place
 * in the tree, and a parent takes its children. */
#ifndef RCX_BOOTSTRAP_SOCKET_WELCOME_H
#define RCX_BOOTSTRAP_SOCKET_WELCOME_H

#include "bootstrap/socket_tree.h"

/* Prepare rank 0 to give places. False: no memory. */
bool rcx_socket_welcome_open(struct rcx_socket_tree *t);

/* For struct rcx_socket_guests; arg is the tree. */
bool rcx_socket_welcome(const struct rcx_socket_hello *hello, int fd,
                        struct rcx_socket_reply *reply, void *arg);

#endif
