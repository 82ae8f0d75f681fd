/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The client's side of a handshake, over the first of several addresses at
 * which a process answers that knows the secret.
 */
#ifndef RCX_BOOTSTRAP_SOCKET_CLIENT_H
#define RCX_BOOTSTRAP_SOCKET_CLIENT_H

#include "bootstrap/socket_wire.h"

struct rcx_socket_client {
    struct rcx_socket_key key;
    struct rcx_socket_hello hello; /* without nonce and code */
    uint64_t until_ns;
    /* Complete the hello for the connection fd before it is sent. False:
     * see errno. NULL: the hello is complete. */
    bool (*prepare)(struct rcx_socket_hello *hello, int fd, void *arg);
    void *arg;
    struct rcx_start_wait *wait; /* NULL: nothing warns */
    const char *whom;            /* it connects to, for warnings */
    char why[RCX_SOCKET_TEXT];   /* reason of the last failed attempt */
    int weight;                  /* of the reason; 0: there was no attempt */
    bool is_absent;              /* the reason: it may not have started */
};

/*
 * Do a handshake with the first address at which a process answers that knows
 * the secret. Addresses are tried 250 ms apart; after a failure the next one at
 * once. RCX_OK: *fd_p is the connection. RCX_IN_PROGRESS: all have failed.
 * RCX_ERR_TIMEOUT: until_ns has passed. why is set unless it is RCX_OK. Logs
 * nothing.
 */
rcx_status_t rcx_socket_client_connect(struct rcx_socket_client *client,
                                       const struct rcx_socket_addrs *addrs,
                                       struct rcx_socket_reply *reply_p,
                                       int *fd_p);

/* What follows from the reason, behind it in messages. */
const char *rcx_socket_client_hint(const struct rcx_socket_client *client);

/* Warn of a start that waits for this connection, if that is due. */
void rcx_socket_client_warn(const struct rcx_socket_client *client);

#endif
