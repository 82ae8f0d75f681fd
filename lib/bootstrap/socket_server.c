/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The server's side of handshakes. A connection whose hello has a wrong code is
 * closed. No call waits for a connection.
 */
#include "bootstrap/socket_server.h"

#include <errno.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "core/base/clock.h"

/* How long a connection is kept at least while others wait for its place. */
static const uint64_t grace_ns = 20000000;

struct rcx_socket_pending {
    int fd; /* -1: none */
    size_t got;
    uint64_t since_ns;
    struct rcx_socket_key nonce;
    struct rcx_socket_hello hello;
};

static void watch_listener(struct rcx_socket_server *server, bool yes)
{
    struct epoll_event event = {.events = EPOLLIN,
                                .data.u64 = RCX_SOCKET_EV_LISTENER};

    if (server->is_watched == yes || server->listener < 0)
        return;
    epoll_ctl(server->epoll, yes ? EPOLL_CTL_ADD : EPOLL_CTL_DEL,
              server->listener, &event);
    server->is_watched = yes;
}

bool rcx_socket_server_open(struct rcx_socket_server *server, int listener,
                            int epoll, const struct rcx_socket_key *key,
                            struct rcx_heap *heap)
{
    server->listener = listener;
    server->epoll = epoll;
    server->key = *key;
    server->at = rcx_heap_alloc(heap, RCX_SOCKET_PENDING * sizeof *server->at);
    if (!server->at)
        return false;
    for (int i = 0; i < RCX_SOCKET_PENDING; i++)
        server->at[i].fd = -1;
    watch_listener(server, true);
    return true;
}

static void remove_pending(struct rcx_socket_server *server,
                           struct rcx_socket_pending *p)
{
    p->fd = -1;
    server->n--;
}

static void close_pending(struct rcx_socket_server *server,
                          struct rcx_socket_pending *p)
{
    close(p->fd); /* leaves epoll */
    remove_pending(server, p);
}

/* Send without waiting; a new connection has room for any handshake. */
static bool send_all(int fd, const void *message, size_t bytes)
{
    return send(fd, message, bytes, MSG_NOSIGNAL | MSG_DONTWAIT) ==
           (ssize_t)bytes;
}

static void add_pending(struct rcx_socket_server *server, int fd)
{
    struct rcx_socket_banner banner;
    struct rcx_socket_pending *p = server->at;
    struct epoll_event event = {.events = EPOLLIN};

    while (p->fd >= 0)
        p++;
    event.data.u64 = RCX_SOCKET_EV_PENDING | (uint64_t)(p - server->at);
    memcpy(banner.magic, rcx_socket_magic, sizeof banner.magic);
    if (!rcx_socket_random(&banner.nonce, sizeof banner.nonce) ||
        !send_all(fd, &banner, sizeof banner) ||
        epoll_ctl(server->epoll, EPOLL_CTL_ADD, fd, &event) != 0) {
        close(fd);
        return;
    }
    p->fd = fd;
    p->got = 0;
    p->since_ns = rcx_now_ns();
    p->nonce = banner.nonce;
    server->n++;
}

static void answer(struct rcx_socket_server *server,
                   struct rcx_socket_pending *p)
{
    struct rcx_socket_reply reply;
    const struct rcx_socket_hello *hello = &p->hello;
    const int fd = p->fd;
    struct rcx_socket_key code =
        rcx_socket_code_of(&server->key, &p->nonce, hello, sizeof *hello);
    bool keeps;

    if (!rcx_socket_same(&code, &hello->code)) {
        server->has_refused |= rcx_socket_peer_addr(fd, &server->refused);
        close_pending(server, p);
        return;
    }
    memset(&reply, 0, sizeof reply);
    keeps = server->admit(hello, fd, &reply, server->arg);
    reply.code =
        rcx_socket_code_of(&server->key, &hello->nonce, &reply, sizeof reply);
    if (keeps)
        epoll_ctl(server->epoll, EPOLL_CTL_DEL, fd, NULL);
    send_all(fd, &reply, sizeof reply);
    if (keeps)
        remove_pending(server, p);
    else
        close_pending(server, p);
}

static void read_hello(struct rcx_socket_server *server,
                       struct rcx_socket_pending *p)
{
    const ssize_t n = recv(p->fd, (char *)&p->hello + p->got,
                           sizeof p->hello - p->got, MSG_DONTWAIT);

    if (n > 0)
        p->got += (size_t)n;
    else if (n == 0 || (errno != EAGAIN && errno != EINTR))
        close_pending(server, p);
    if (p->fd >= 0 && p->got == sizeof p->hello)
        answer(server, p);
}

/* Close the oldest pending connection, so that another one has its place or
 * descriptor. Its hello may have arrived. False: all are young. */
static bool drop_oldest(struct rcx_socket_server *server)
{
    struct rcx_socket_pending *oldest = NULL;

    for (int i = 0; i < RCX_SOCKET_PENDING; i++) {
        struct rcx_socket_pending *p = &server->at[i];

        if (p->fd >= 0 && (!oldest || p->since_ns < oldest->since_ns))
            oldest = p;
    }
    if (!oldest || rcx_now_ns() - oldest->since_ns < grace_ns)
        return false;
    read_hello(server, oldest);
    if (oldest->fd >= 0)
        close_pending(server, oldest);
    return true;
}

static bool is_exhausted(int error)
{
    return error == EMFILE || error == ENFILE || error == ENOBUFS ||
           error == ENOMEM;
}

/* False: connections wait, and those that are pending are young. */
static bool accept_all(struct rcx_socket_server *server)
{
    for (;;) {
        const bool is_full = server->n == RCX_SOCKET_PENDING;
        const int fd = is_full ? -1 : rcx_socket_accept(server->listener);

        if (fd >= 0)
            add_pending(server, fd);
        else if (is_full || is_exhausted(errno)) {
            if (!drop_oldest(server))
                return false;
        } else if (errno != ECONNABORTED && errno != EINTR)
            return true;
    }
}

void rcx_socket_server_event(struct rcx_socket_server *server, uint32_t mark)
{
    const uint32_t i = mark & (RCX_SOCKET_EV_PENDING - 1);

    if (mark & RCX_SOCKET_EV_LISTENER) {
        if (server->listener >= 0 && !accept_all(server))
            watch_listener(server, false);
    } else if (server->at && i < RCX_SOCKET_PENDING && server->at[i].fd >= 0) {
        read_hello(server, &server->at[i]);
    }
}

bool rcx_socket_server_tidy(struct rcx_socket_server *server)
{
    if (!server->at || server->listener < 0 || server->is_watched)
        return false;
    if (!accept_all(server))
        return true;
    watch_listener(server, true);
    return false;
}

void rcx_socket_listener_close(int listener)
{
    if (listener < 0)
        return;
    shutdown(listener, SHUT_RDWR); /* also ends its copies in other processes */
    close(listener);
}

void rcx_socket_server_close(struct rcx_socket_server *server,
                             struct rcx_heap *heap)
{
    for (int i = 0; server->at && i < RCX_SOCKET_PENDING; i++)
        if (server->at[i].fd >= 0)
            close_pending(server, &server->at[i]);
    rcx_heap_free(heap, server->at);
    server->at = NULL;
    watch_listener(server, false); /* a copy would keep it in epoll */
    rcx_socket_listener_close(server->listener);
    server->listener = -1;
}
