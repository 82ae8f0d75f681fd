/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The client's side of a handshake. Connections to several addresses are open
 * at a time, and the client speaks on one of them at a time: otherwise it would
 * come to the server twice.
 */
#include "bootstrap/socket_call.h"

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "core/base/clock.h"

enum { NOBODY = -1 };
static const uint64_t apart_ns = 250000000;

/* How much a reason says about the cause. */
enum weight { SILENT = 1, FAILED, STRANGE, REJECTED };

enum way_state {
    CONNECTING,
    LISTENING, /* for the banner */
    READY,     /* has the banner */
    ASKING,    /* hello is sent */
    OVER
};

/* One of the addresses. */
struct way {
    enum way_state state;
    int fd;
    size_t got; /* bytes of banner or reply */
    struct rcx_socket_banner banner;
};

struct attempt {
    struct rcx_socket_call *call;
    const struct rcx_socket_addrs *addrs;
    struct way ways[RCX_SOCKET_ADDRS];
    int begun;
    int speaking;     /* the way whose state is ASKING; or NOBODY */
    uint64_t next_ns; /* when the next way begins */
    struct rcx_socket_reply reply;
};

static void say_why(struct attempt *a, const struct way *way,
                    enum weight weight, const char *reason)
{
    char text[RCX_SOCKET_ADDR_TEXT];

    if ((int)weight < a->call->weight)
        return;
    a->call->weight = (int)weight;
    rcx_socket_addr_print(&a->addrs->at[way - a->ways], text, sizeof text);
    snprintf(a->call->why, sizeof a->call->why, "%s: %s", text, reason);
}

static void drop(struct attempt *a, struct way *way, enum weight weight,
                 const char *reason)
{
    say_why(a, way, weight, reason);
    if (way->fd >= 0)
        close(way->fd);
    way->fd = -1;
    way->state = OVER;
    if (a->speaking == (int)(way - a->ways))
        a->speaking = NOBODY;
}

static void begin(struct attempt *a, uint64_t now)
{
    struct way *way = &a->ways[a->begun];

    way->fd = rcx_socket_connect(&a->addrs->at[a->begun++]);
    a->next_ns = now + apart_ns;
    if (way->fd < 0)
        drop(a, way, FAILED, strerror(errno));
    else
        say_why(a, way, SILENT, "no answer");
}

/* Read up to bytes in all. True: all have arrived. */
static bool read_more(struct attempt *a, struct way *way, void *message,
                      size_t bytes)
{
    const ssize_t n = recv(way->fd, (char *)message + way->got,
                           bytes - way->got, MSG_DONTWAIT);

    if (n > 0)
        way->got += (size_t)n;
    else if (n == 0)
        drop(a, way, way->state == ASKING ? REJECTED : FAILED,
             way->state == ASKING
                 ? "it has another secret, or belongs to another job"
                 : "closes the connection");
    else if (errno != EAGAIN && errno != EINTR)
        drop(a, way, FAILED, strerror(errno));
    return way->state != OVER && way->got == bytes;
}

static void speak(struct attempt *a, struct way *way)
{
    struct rcx_socket_call *call = a->call;
    struct rcx_socket_hello hello = call->hello;

    if ((call->prepare && !call->prepare(&hello, way->fd, call->arg)) ||
        !rcx_socket_random(&hello.nonce, sizeof hello.nonce)) {
        drop(a, way, FAILED, strerror(errno));
        return;
    }
    hello.code = rcx_socket_code_of(&call->key, &way->banner.nonce, &hello,
                                    sizeof hello);
    call->hello.nonce = hello.nonce;
    if (send(way->fd, &hello, sizeof hello, MSG_NOSIGNAL | MSG_DONTWAIT) !=
        (ssize_t)sizeof hello) {
        drop(a, way, FAILED, strerror(errno));
        return;
    }
    a->speaking = (int)(way - a->ways);
    way->state = ASKING;
    way->got = 0;
}

static void connected(struct attempt *a, struct way *way)
{
    int error = 0;
    socklen_t bytes = sizeof error;

    getsockopt(way->fd, SOL_SOCKET, SO_ERROR, &error, &bytes);
    if (error != 0)
        drop(a, way, FAILED, strerror(error));
    else
        way->state = LISTENING;
}

static void hear_banner(struct attempt *a, struct way *way)
{
    if (!read_more(a, way, &way->banner, sizeof way->banner))
        return;
    if (memcmp(way->banner.magic, rcx_socket_magic, sizeof way->banner.magic) ==
        0)
        way->state = READY;
    else
        drop(a, way, STRANGE, "what answers there is not RCX");
}

/* True: the handshake is complete. */
static bool hear_reply(struct attempt *a, struct way *way)
{
    struct rcx_socket_key code;

    if (!read_more(a, way, &a->reply, sizeof a->reply))
        return false;
    code = rcx_socket_code_of(&a->call->key, &a->call->hello.nonce, &a->reply,
                              sizeof a->reply);
    if (rcx_socket_same(&code, &a->reply.code))
        return true;
    drop(a, way, REJECTED, "it has another secret, or belongs to another job");
    return false;
}

/* Poll the ways until one is ready or something else is to be done. */
static void wait_for_any(struct attempt *a, uint64_t now)
{
    struct pollfd fds[RCX_SOCKET_ADDRS];
    struct way *ways[RCX_SOCKET_ADDRS];
    uint64_t until = a->call->until_ns;
    int n = 0;
    int ms = -1;

    if (a->begun < a->addrs->n && a->next_ns < until)
        until = a->next_ns;
    if (until != UINT64_MAX)
        ms = until - now > UINT64_C(1000000) * INT_MAX
                 ? INT_MAX
                 : (int)((until - now + 999999) / 1000000);
    for (int i = 0; i < a->begun; i++) {
        struct way *way = &a->ways[i];

        if (way->state == OVER || way->state == READY)
            continue;
        fds[n] = (struct pollfd){.fd = way->fd,
                                 .events = way->state == CONNECTING ? POLLOUT
                                                                    : POLLIN};
        ways[n++] = way;
    }
    if (poll(fds, (nfds_t)n, ms) <= 0)
        return;
    for (int i = 0; i < n; i++) {
        if (fds[i].revents == 0)
            continue;
        if (ways[i]->state == CONNECTING)
            connected(a, ways[i]);
        else if (ways[i]->state == LISTENING)
            hear_banner(a, ways[i]);
    }
}

static int close_all(struct attempt *a, int but)
{
    for (int i = 0; i < a->begun; i++)
        if (i != but && a->ways[i].fd >= 0)
            close(a->ways[i].fd);
    return but < 0 ? -1 : a->ways[but].fd;
}

static int count(const struct attempt *a, enum way_state state)
{
    int n = 0;

    for (int i = 0; i < a->begun; i++)
        n += a->ways[i].state == state;
    return n;
}

/* Let the next way that has a banner speak, if none does. */
static void take_turn(struct attempt *a)
{
    for (int i = 0; i < a->begun && a->speaking == NOBODY; i++)
        if (a->ways[i].state == READY)
            speak(a, &a->ways[i]);
}

rcx_status_t rcx_socket_call(struct rcx_socket_call *call,
                             const struct rcx_socket_addrs *addrs,
                             struct rcx_socket_reply *reply_p, int *fd_p)
{
    struct attempt a = {.call = call, .addrs = addrs, .speaking = NOBODY};

    call->weight = 0;
    for (;;) {
        const uint64_t now = rcx_now_ns();

        if (a.speaking != NOBODY && hear_reply(&a, &a.ways[a.speaking])) {
            *fd_p = close_all(&a, a.speaking);
            *reply_p = a.reply;
            return RCX_OK;
        }
        take_turn(&a);
        if (now >= call->until_ns) {
            close_all(&a, NOBODY);
            return RCX_ERR_TIMEOUT;
        }
        if (a.begun < addrs->n &&
            (now >= a.next_ns || count(&a, OVER) == a.begun)) {
            begin(&a, now);
            continue;
        }
        if (count(&a, OVER) == addrs->n)
            return RCX_IN_PROGRESS;
        wait_for_any(&a, now);
    }
}
