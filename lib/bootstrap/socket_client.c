/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The client's side of a handshake. Connections to several addresses may be
 * open at a time, but the client sends its hello on one of them at a time:
 * otherwise the server might register it twice.
 */
#include "bootstrap/socket_client.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "core/base/clock.h"

enum { NONE = -1 };
static const uint64_t apart_ns = 250000000;

/* The reason with the highest weight is kept for messages. */
enum weight { SILENT = 1, FAILED, STRANGE, REJECTED };

enum candidate_state {
    CONNECTING,
    CONNECTED, /* waits for the banner */
    READY,     /* has the banner */
    ASKING,    /* hello is sent */
    OVER
};

/* One of the addresses. */
struct candidate {
    enum candidate_state state;
    int fd;
    size_t got; /* bytes of banner or reply */
    struct rcx_socket_banner banner;
};

struct attempt {
    struct rcx_socket_client *client;
    const struct rcx_socket_addrs *addrs;
    struct candidate candidates[RCX_SOCKET_ADDRS];
    int begun;
    int asking; /* index of the candidate whose state is ASKING; or NONE */
    uint64_t begin_ns;
    uint64_t next_ns; /* when the next candidate begins */
    struct rcx_socket_reply reply;
};

static void set_reason(struct attempt *a, const struct candidate *c,
                       enum weight weight, const char *reason)
{
    char text[RCX_SOCKET_ADDR_TEXT];

    if ((int)weight < a->client->weight)
        return;
    a->client->weight = (int)weight;
    a->client->is_absent = weight <= FAILED;
    rcx_socket_addr_print(&a->addrs->at[c - a->candidates], text, sizeof text);
    snprintf(a->client->why, sizeof a->client->why, "%s: %s", text, reason);
}

static void discard(struct attempt *a, struct candidate *c, enum weight weight,
                    const char *reason)
{
    set_reason(a, c, weight, reason);
    if (c->fd >= 0)
        close(c->fd);
    c->fd = -1;
    c->state = OVER;
    if (a->asking == (int)(c - a->candidates))
        a->asking = NONE;
}

static void begin(struct attempt *a, uint64_t now)
{
    struct candidate *c = &a->candidates[a->begun];

    c->fd = rcx_socket_connect(&a->addrs->at[a->begun++]);
    a->next_ns = now + apart_ns;
    if (c->fd < 0)
        discard(a, c, FAILED, strerror(errno));
    else
        set_reason(a, c, SILENT, "no answer");
}

/* Read up to bytes in all. True: all have arrived. */
static bool read_more(struct attempt *a, struct candidate *c, void *message,
                      size_t bytes)
{
    const ssize_t n =
        recv(c->fd, (char *)message + c->got, bytes - c->got, MSG_DONTWAIT);

    if (n > 0)
        c->got += (size_t)n;
    else if (n == 0)
        discard(a, c, c->state == ASKING ? REJECTED : FAILED,
                c->state == ASKING
                    ? "it has another secret, or belongs to another job"
                    : "closes the connection");
    else if (errno != EAGAIN && errno != EINTR)
        discard(a, c, FAILED, strerror(errno));
    return c->state != OVER && c->got == bytes;
}

static void send_hello(struct attempt *a, struct candidate *c)
{
    struct rcx_socket_client *client = a->client;
    struct rcx_socket_hello hello = client->hello;

    if ((client->prepare && !client->prepare(&hello, c->fd, client->arg)) ||
        !rcx_socket_random(&hello.nonce, sizeof hello.nonce)) {
        discard(a, c, FAILED, strerror(errno));
        return;
    }
    hello.code = rcx_socket_code_of(&client->key, &c->banner.nonce, &hello,
                                    sizeof hello);
    client->hello.nonce = hello.nonce;
    if (send(c->fd, &hello, sizeof hello, MSG_NOSIGNAL | MSG_DONTWAIT) !=
        (ssize_t)sizeof hello) {
        discard(a, c, FAILED, strerror(errno));
        return;
    }
    a->asking = (int)(c - a->candidates);
    c->state = ASKING;
    c->got = 0;
}

static void connected(struct attempt *a, struct candidate *c)
{
    int error = 0;
    socklen_t bytes = sizeof error;

    getsockopt(c->fd, SOL_SOCKET, SO_ERROR, &error, &bytes);
    if (error != 0)
        discard(a, c, FAILED, strerror(error));
    else
        c->state = CONNECTED;
}

static void read_banner(struct attempt *a, struct candidate *c)
{
    if (!read_more(a, c, &c->banner, sizeof c->banner))
        return;
    if (memcmp(c->banner.magic, rcx_socket_magic, sizeof c->banner.magic) == 0)
        c->state = READY;
    else
        discard(a, c, STRANGE, "what answers there is not RCX");
}

/* True: the handshake is complete. */
static bool read_reply(struct attempt *a, struct candidate *c)
{
    struct rcx_socket_key code;

    if (!read_more(a, c, &a->reply, sizeof a->reply))
        return false;
    code = rcx_socket_code_of(&a->client->key, &a->client->hello.nonce,
                              &a->reply, sizeof a->reply);
    if (rcx_socket_same(&code, &a->reply.code))
        return true;
    discard(a, c, REJECTED, "it has another secret, or belongs to another job");
    return false;
}

/* Poll the candidates until one is ready or something else is to be done. */
static void wait_for_any(struct attempt *a)
{
    struct pollfd fds[RCX_SOCKET_ADDRS];
    struct candidate *candidates[RCX_SOCKET_ADDRS];
    uint64_t until = a->client->until_ns;
    int n = 0;

    if (a->begun < a->addrs->n && a->next_ns < until)
        until = a->next_ns;
    if (rcx_start_wait_next_of(a->client->wait, a->begin_ns) < until)
        until = rcx_start_wait_next_of(a->client->wait, a->begin_ns);
    for (int i = 0; i < a->begun; i++) {
        struct candidate *c = &a->candidates[i];

        if (c->state == OVER || c->state == READY)
            continue;
        fds[n] = (struct pollfd){
            .fd = c->fd, .events = c->state == CONNECTING ? POLLOUT : POLLIN};
        candidates[n++] = c;
    }
    if (poll(fds, (nfds_t)n, rcx_socket_wait_ms(until)) <= 0)
        return;
    for (int i = 0; i < n; i++) {
        if (fds[i].revents == 0)
            continue;
        if (candidates[i]->state == CONNECTING)
            connected(a, candidates[i]);
        else if (candidates[i]->state == CONNECTED)
            read_banner(a, candidates[i]);
    }
}

static int close_all(struct attempt *a, int but)
{
    for (int i = 0; i < a->begun; i++)
        if (i != but && a->candidates[i].fd >= 0)
            close(a->candidates[i].fd);
    return but < 0 ? -1 : a->candidates[but].fd;
}

static int count(const struct attempt *a, enum candidate_state state)
{
    int n = 0;

    for (int i = 0; i < a->begun; i++)
        n += a->candidates[i].state == state;
    return n;
}

/* Send hello to the next candidate that has sent a banner, unless one has been
 * asked. */
static void ask_next(struct attempt *a)
{
    for (int i = 0; i < a->begun && a->asking == NONE; i++)
        if (a->candidates[i].state == READY)
            send_hello(a, &a->candidates[i]);
}

const char *rcx_socket_client_hint(const struct rcx_socket_client *client)
{
    return client->is_absent ? "; rank 0 has not started, or its rcx_init() "
                               "has failed before"
                             : "";
}

void rcx_socket_client_warn(const struct rcx_socket_client *client)
{
    if (rcx_start_wait_is_due(client->wait))
        rcx_start_wait_warn(client->wait, "%s is not reached: %s%s",
                            client->whom, client->why,
                            rcx_socket_client_hint(client));
}

rcx_status_t rcx_socket_client_connect(struct rcx_socket_client *client,
                                       const struct rcx_socket_addrs *addrs,
                                       struct rcx_socket_reply *reply_p,
                                       int *fd_p)
{
    struct attempt a = {.client = client,
                        .addrs = addrs,
                        .asking = NONE,
                        .begin_ns = rcx_now_ns()};

    if (client->weight < REJECTED) /* rank 0 may end after it has rejected */
        client->weight = 0;
    for (;;) {
        const uint64_t now = rcx_now_ns();

        if (a.asking != NONE && read_reply(&a, &a.candidates[a.asking])) {
            *fd_p = close_all(&a, a.asking);
            *reply_p = a.reply;
            return RCX_OK;
        }
        ask_next(&a);
        if (now >= client->until_ns) {
            close_all(&a, NONE);
            return RCX_ERR_TIMEOUT;
        }
        if (a.begun < addrs->n &&
            (now >= a.next_ns || count(&a, OVER) == a.begun)) {
            begin(&a, now);
            continue;
        }
        if (count(&a, OVER) == addrs->n)
            return RCX_IN_PROGRESS;
        if (now >= rcx_start_wait_next_of(client->wait, a.begin_ns))
            rcx_socket_client_warn(client);
        wait_for_any(&a);
    }
}
