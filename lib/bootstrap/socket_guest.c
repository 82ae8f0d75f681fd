/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The server's side of handshakes. A connection whose hello has a wrong code is
 * closed and costs nothing more; none of them is waited for.
 */
#include "bootstrap/socket_guest.h"

#include <errno.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "core/base/clock.h"

static const uint64_t silence_ns = 1000000000;

struct rcx_socket_guest {
    int fd; /* -1: none */
    size_t got;
    uint64_t since_ns;
    struct rcx_socket_key nonce;
    struct rcx_socket_hello hello;
};

static void hear(struct rcx_socket_guests *guests, bool yes)
{
    struct epoll_event event = {.events = EPOLLIN,
                                .data.u64 = RCX_SOCKET_EV_LISTENER};

    if (guests->is_heard == yes || guests->listener < 0)
        return;
    epoll_ctl(guests->epoll, yes ? EPOLL_CTL_ADD : EPOLL_CTL_DEL,
              guests->listener, &event);
    guests->is_heard = yes;
}

bool rcx_socket_guests_open(struct rcx_socket_guests *guests, int listener,
                            int epoll, const struct rcx_socket_key *key,
                            struct rcx_heap *heap)
{
    guests->listener = listener;
    guests->epoll = epoll;
    guests->key = *key;
    guests->at = rcx_heap_alloc(heap, RCX_SOCKET_GUESTS * sizeof *guests->at);
    if (!guests->at)
        return false;
    for (int i = 0; i < RCX_SOCKET_GUESTS; i++)
        guests->at[i].fd = -1;
    hear(guests, true);
    return true;
}

static void forget(struct rcx_socket_guests *guests,
                   struct rcx_socket_guest *guest)
{
    guest->fd = -1;
    guests->n--;
}

static void drop(struct rcx_socket_guests *guests,
                 struct rcx_socket_guest *guest)
{
    close(guest->fd); /* leaves epoll */
    forget(guests, guest);
}

/* Send without waiting; a new connection has room for any handshake. */
static bool send_all(int fd, const void *message, size_t bytes)
{
    return send(fd, message, bytes, MSG_NOSIGNAL | MSG_DONTWAIT) ==
           (ssize_t)bytes;
}

static void receive(struct rcx_socket_guests *guests, int fd)
{
    struct rcx_socket_banner banner;
    struct rcx_socket_guest *guest = guests->at;
    struct epoll_event event = {.events = EPOLLIN};

    while (guest->fd >= 0)
        guest++;
    event.data.u64 = RCX_SOCKET_EV_GUEST | (uint64_t)(guest - guests->at);
    memcpy(banner.magic, rcx_socket_magic, sizeof banner.magic);
    if (!rcx_socket_random(&banner.nonce, sizeof banner.nonce) ||
        !send_all(fd, &banner, sizeof banner) ||
        epoll_ctl(guests->epoll, EPOLL_CTL_ADD, fd, &event) != 0) {
        close(fd);
        return;
    }
    guest->fd = fd;
    guest->got = 0;
    guest->since_ns = rcx_now_ns();
    guest->nonce = banner.nonce;
    guests->n++;
}

/* False: too many connections, or no descriptor. */
static bool accept_all(struct rcx_socket_guests *guests)
{
    while (guests->n < RCX_SOCKET_GUESTS) {
        const int fd = rcx_socket_accept(guests->listener);

        if (fd >= 0)
            receive(guests, fd);
        else if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS ||
                 errno == ENOMEM)
            return false;
        else if (errno != ECONNABORTED && errno != EINTR)
            return true;
    }
    return false;
}

static void answer(struct rcx_socket_guests *guests,
                   struct rcx_socket_guest *guest)
{
    struct rcx_socket_reply reply;
    const struct rcx_socket_hello *hello = &guest->hello;
    const int fd = guest->fd;
    struct rcx_socket_key code =
        rcx_socket_code_of(&guests->key, &guest->nonce, hello, sizeof *hello);
    bool keeps;

    if (!rcx_socket_same(&code, &hello->code)) {
        drop(guests, guest);
        return;
    }
    memset(&reply, 0, sizeof reply);
    keeps = guests->welcome(hello, fd, &reply, guests->arg);
    reply.code =
        rcx_socket_code_of(&guests->key, &hello->nonce, &reply, sizeof reply);
    if (keeps)
        epoll_ctl(guests->epoll, EPOLL_CTL_DEL, fd, NULL);
    send_all(fd, &reply, sizeof reply);
    if (keeps)
        forget(guests, guest);
    else
        drop(guests, guest);
}

static void read_hello(struct rcx_socket_guests *guests,
                       struct rcx_socket_guest *guest)
{
    const ssize_t n = recv(guest->fd, (char *)&guest->hello + guest->got,
                           sizeof guest->hello - guest->got, MSG_DONTWAIT);

    if (n > 0)
        guest->got += (size_t)n;
    else if (n == 0 || (errno != EAGAIN && errno != EINTR))
        drop(guests, guest);
    if (guest->fd >= 0 && guest->got == sizeof guest->hello)
        answer(guests, guest);
}

void rcx_socket_guests_event(struct rcx_socket_guests *guests, uint32_t mark)
{
    const uint32_t i = mark & (RCX_SOCKET_EV_GUEST - 1);

    if (mark & RCX_SOCKET_EV_LISTENER) {
        if (guests->listener >= 0 && !accept_all(guests))
            hear(guests, false);
    } else if (guests->at && i < RCX_SOCKET_GUESTS && guests->at[i].fd >= 0) {
        read_hello(guests, &guests->at[i]);
    }
}

bool rcx_socket_guests_tidy(struct rcx_socket_guests *guests)
{
    const uint64_t now = rcx_now_ns();

    if (!guests->at || guests->listener < 0 || guests->is_heard)
        return false;
    for (int i = 0; i < RCX_SOCKET_GUESTS; i++)
        if (guests->at[i].fd >= 0 && now - guests->at[i].since_ns >= silence_ns)
            drop(guests, &guests->at[i]);
    if (!accept_all(guests))
        return true;
    hear(guests, true);
    return false;
}

void rcx_socket_listener_close(int listener)
{
    if (listener < 0)
        return;
    shutdown(listener, SHUT_RDWR); /* copies of it listen no more, either */
    close(listener);
}

void rcx_socket_guests_close(struct rcx_socket_guests *guests,
                             struct rcx_heap *heap)
{
    for (int i = 0; guests->at && i < RCX_SOCKET_GUESTS; i++)
        if (guests->at[i].fd >= 0)
            drop(guests, &guests->at[i]);
    rcx_heap_free(heap, guests->at);
    guests->at = NULL;
    hear(guests, false); /* a copy would keep it in epoll */
    rcx_socket_listener_close(guests->listener);
    guests->listener = -1;
}
