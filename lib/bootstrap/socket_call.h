/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The client's side of a handshake, over the first of several addresses at
 * which a process answers that knows the secret.
 */
#ifndef RCX_BOOTSTRAP_SOCKET_CALL_H
#define RCX_BOOTSTRAP_SOCKET_CALL_H

#include "bootstrap/socket_wire.h"

struct rcx_socket_call {
    struct rcx_socket_key key;
    struct rcx_socket_hello hello; /* but for nonce and code */
    uint64_t until_ns;
    /* Complete the hello for the connection fd before it is sent. False:
     * errno says why that is not possible. NULL: it is complete. */
    bool (*prepare)(struct rcx_socket_hello *hello, int fd, void *arg);
    void *arg;
    char why[RCX_SOCKET_TEXT]; /* why the last attempt failed */
    int weight;                /* how much that says */
};

/*
 * Try all addresses: one after the other, a moment apart, or at once where one
 * fails. RCX_OK: *fd_p is the connection. RCX_IN_PROGRESS: all have failed.
 * RCX_ERR_TIMEOUT: until_ns has passed. why is set unless it is RCX_OK. Logs
 * nothing.
 */
rcx_status_t rcx_socket_call(struct rcx_socket_call *call,
                             const struct rcx_socket_addrs *addrs,
                             struct rcx_socket_reply *reply_p, int *fd_p);

#endif
