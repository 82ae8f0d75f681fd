/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The server's side of handshakes: a listener, and connections whose other side
 * is not known yet. There is room for a limited number; a connection that
 * has been silent for a second makes room for a new one.
 */
#ifndef RCX_BOOTSTRAP_SOCKET_GUEST_H
#define RCX_BOOTSTRAP_SOCKET_GUEST_H

#include "bootstrap/socket_wire.h"
#include "core/base/heap.h"

enum { RCX_SOCKET_GUESTS = 128 };

struct rcx_socket_guest;

struct rcx_socket_guests {
    int listener; /* -1: none */
    int epoll;
    bool is_heard; /* the listener is in epoll */
    struct rcx_socket_key key;
    struct rcx_socket_guest *at; /* RCX_SOCKET_GUESTS of them */
    int n;                       /* that are open */
    /* A process that knows the secret said hello: complete the reply. True:
     * the connection fd is kept, and no longer a guest's. */
    bool (*welcome)(const struct rcx_socket_hello *hello, int fd,
                    struct rcx_socket_reply *reply, void *arg);
    void *arg;
};

/* Marks of events of epoll: those of guests, and of the listener. */
enum { RCX_SOCKET_EV_GUEST = 1 << 16, RCX_SOCKET_EV_LISTENER = 1 << 17 };

/* Take over the listener. False: no memory. */
bool rcx_socket_guests_open(struct rcx_socket_guests *guests, int listener,
                            int epoll, const struct rcx_socket_key *key,
                            struct rcx_heap *heap);

/* An event of epoll with one of the marks above has occurred. */
void rcx_socket_guests_event(struct rcx_socket_guests *guests, uint32_t mark);

/* Make room if there is none. Returns true if this has to be called again
 * after a moment, as connections wait for room. */
bool rcx_socket_guests_tidy(struct rcx_socket_guests *guests);

/* Close the listener, also for children of fork() that have a copy of it, and
 * all guests. */
void rcx_socket_guests_close(struct rcx_socket_guests *guests,
                             struct rcx_heap *heap);

/* The same for a listener without guests. */
void rcx_socket_listener_close(int listener);

#endif
