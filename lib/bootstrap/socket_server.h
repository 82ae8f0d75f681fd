/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The server's side of handshakes: a listener, and pending connections, whose
 * other side has not proved yet that it knows the secret. Their number is
 * limited; if it is reached, the oldest is closed for the next one that waits.
 */
#ifndef RCX_BOOTSTRAP_SOCKET_SERVER_H
#define RCX_BOOTSTRAP_SOCKET_SERVER_H

#include "bootstrap/socket_wire.h"
#include "core/base/heap.h"

enum { RCX_SOCKET_PENDING = 256 };

struct rcx_socket_pending;

struct rcx_socket_server {
    int listener; /* -1: none */
    int epoll;
    bool is_watched; /* the listener is in epoll */
    struct rcx_socket_key key;
    struct rcx_socket_pending *at;  /* RCX_SOCKET_PENDING of them */
    int n;                          /* that are open */
    bool has_refused;               /* one with another secret */
    struct rcx_socket_addr refused; /* the last of them */
    /* Complete the reply to a hello with the right code. True: the callback
     * keeps the connection fd. */
    bool (*admit)(const struct rcx_socket_hello *hello, int fd,
                  struct rcx_socket_reply *reply, void *arg);
    void *arg;
};

/* Marks of events of epoll: of pending connections, and of the listener. */
enum { RCX_SOCKET_EV_PENDING = 1 << 16, RCX_SOCKET_EV_LISTENER = 1 << 17 };

/* Take over the listener. False: no memory. */
bool rcx_socket_server_open(struct rcx_socket_server *server, int listener,
                            int epoll, const struct rcx_socket_key *key,
                            struct rcx_heap *heap);

/* An event of epoll with one of the marks above has occurred. */
void rcx_socket_server_event(struct rcx_socket_server *server, uint32_t mark);

/* Accept connections that wait since the limit was reached. True: some wait
 * still, so this is to be called again after a moment. */
bool rcx_socket_server_tidy(struct rcx_socket_server *server);

/* Close all pending connections and the listener, also for children of fork()
 * that have a copy of it. */
void rcx_socket_server_close(struct rcx_socket_server *server,
                             struct rcx_heap *heap);

/* Close a listener, in the same way; -1: none. */
void rcx_socket_listener_close(int listener);

#endif
