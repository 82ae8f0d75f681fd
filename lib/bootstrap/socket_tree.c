/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Steps over the tree: parts go up to rank 0, and all of them down again, to
 * each child while they arrive from the parent. Only epoll_wait blocks.
 * Descriptors stay open until the tree is closed, as another thread may send on
 * them (rcx_socket_tree_notify).
 */
#include "bootstrap/socket_tree.h"

#include <assert.h>
#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/uio.h>
#include <unistd.h>

#include "bootstrap/socket_failure.h"
#include "core/base/clock.h"

enum { PARENT = RCX_SOCKET_FAN, EVENTS = 64 };

/* ---- Life ---------------------------------------------------------------- */

void rcx_socket_tree_init(struct rcx_socket_tree *t, struct rcx_heap *heap,
                          const struct rcx_log *log, int rank, int size)
{
    *t = (struct rcx_socket_tree){.heap = heap,
                                  .log = log,
                                  .rank = rank,
                                  .size = size,
                                  .epoll = -1,
                                  .server.listener = -1};
    rcx_socket_link_open(&t->parent, -1, -1, 0);
    for (int i = 0; i < RCX_SOCKET_FAN; i++)
        rcx_socket_link_open(&t->children[i], -1, -1, 0);
}

void rcx_socket_tree_place(struct rcx_socket_tree *t, int position)
{
    const int64_t first = (int64_t)position * RCX_SOCKET_FAN + 1;
    const int64_t left = t->size - first;

    t->position = position;
    t->n_children = left <= 0               ? 0
                    : left > RCX_SOCKET_FAN ? RCX_SOCKET_FAN
                                            : (int)left;
}

void rcx_socket_link_open(struct rcx_socket_link *link, int fd, int rank,
                          uint64_t token)
{
    *link = (struct rcx_socket_link){.fd = fd, .rank = rank, .token = token};
}

struct rcx_socket_link *rcx_socket_tree_slot(struct rcx_socket_tree *t,
                                             int position)
{
    const int64_t i = position - ((int64_t)t->position * RCX_SOCKET_FAN + 1);

    return i >= 0 && i < t->n_children ? &t->children[i] : NULL;
}

static void close_link(struct rcx_socket_tree *t, struct rcx_socket_link *link)
{
    if (link->fd >= 0)
        close(link->fd);
    rcx_heap_free(t->heap, link->body);
    link->body = NULL;
    link->fd = -1;
}

void rcx_socket_tree_close(struct rcx_socket_tree *t)
{
    rcx_socket_server_close(&t->server, t->heap);
    close_link(t, &t->parent);
    for (int i = 0; i < RCX_SOCKET_FAN; i++)
        close_link(t, &t->children[i]);
    if (t->all != t->up)
        rcx_heap_free(t->heap, t->all);
    rcx_heap_free(t->heap, t->up);
    rcx_heap_free(t->heap, t->arrivals);
    rcx_heap_free(t->heap, t->position_of);
    t->up = t->all = NULL;
    t->arrivals = NULL;
    t->position_of = NULL;
    if (t->epoll >= 0)
        close(t->epoll);
    t->epoll = -1;
}

/* ---- Sending ------------------------------------------------------------- */

/* Bytes of the frame that goes to link in this step, as far as it is known;
 * 0: it may not be sent yet. */
static size_t frame_bytes(const struct rcx_socket_tree *t,
                          const struct rcx_socket_link *link)
{
    if (link == &t->parent)
        return rcx_socket_has_all_below(t) ? sizeof t->head + t->up_bytes : 0;
    return t->is_all_known ? sizeof t->head + (size_t)t->head.bytes : 0;
}

bool rcx_socket_is_served(const struct rcx_socket_tree *t,
                          const struct rcx_socket_link *link)
{
    const size_t bytes = frame_bytes(t, link);

    return bytes > 0 && link->sent == bytes;
}

/* Send as much of the frame as possible. Reading link finds errors. */
static void send_frame(struct rcx_socket_tree *t, struct rcx_socket_link *link)
{
    const bool up = link == &t->parent;
    const struct rcx_socket_head head =
        up ? (struct rcx_socket_head){.kind = RCX_SOCKET_GATHER,
                                      .step = t->step,
                                      .bytes = t->up_bytes}
           : t->head;
    unsigned char *data = up ? t->up : t->all;
    const size_t there = sizeof head + (up ? t->up_bytes : t->all_got);
    ssize_t n = 1;

    while (frame_bytes(t, link) > 0 && link->sent < there && n > 0) {
        const size_t of_head =
            link->sent < sizeof head ? sizeof head - link->sent : 0;
        const size_t of_data = link->sent + of_head - sizeof head;
        struct iovec pieces[2] = {
            {(char *)&head + sizeof head - of_head, of_head},
            {data ? data + of_data : NULL, there - link->sent - of_head}};
        const struct msghdr message = {.msg_iov = pieces, .msg_iovlen = 2};

        n = sendmsg(link->fd, &message, MSG_NOSIGNAL | MSG_DONTWAIT);
        link->sent += n > 0 ? (size_t)n : 0;
    }
}

/* ---- Receiving ----------------------------------------------------------- */

/* Add a child's parts to those that go up. */
static void take_parts(struct rcx_socket_tree *t, struct rcx_socket_link *link)
{
    const size_t bytes = (size_t)link->head.bytes;

    link->has_given = true;
    if (bytes == 0)
        return;
    if (!t->up) {
        t->up = link->body;
        link->body = NULL;
    } else {
        unsigned char *grown =
            rcx_heap_grow(t->heap, t->up, t->up_bytes, t->up_bytes + bytes);

        if (!grown) {
            rcx_socket_fail_memory(t, t->up_bytes + bytes);
            return;
        }
        t->up = grown;
        memcpy(t->up + t->up_bytes, link->body, bytes);
    }
    t->up_bytes += bytes;
}

/* A frame from link is complete; its body is in link->body. */
static void take_frame(struct rcx_socket_tree *t, struct rcx_socket_link *link)
{
    const bool is_child = link != &t->parent;

    if (is_child && link->head.kind == RCX_SOCKET_GATHER &&
        link->head.step == t->step && !link->has_given)
        take_parts(t, link);
    else if (link->head.kind == RCX_SOCKET_HERE)
        link->has_answered = true;
    else
        rcx_socket_take_control(t, link);
    rcx_heap_free(t->heap, link->body);
    link->body = NULL;
    link->head_got = link->body_got = 0;
}

/* Prepare to receive the body that link->head announces. */
static void begin_body(struct rcx_socket_tree *t, struct rcx_socket_link *link)
{
    const size_t most = link->head.kind == RCX_SOCKET_GATHER ||
                                link->head.kind == RCX_SOCKET_ALL
                            ? SIZE_MAX / 4
                            : sizeof(struct rcx_socket_failure);
    const bool is_all = link == &t->parent &&
                        link->head.kind == RCX_SOCKET_ALL &&
                        link->head.step == t->step && !t->is_all_known;
    unsigned char *body = NULL;

    if (link->head.bytes > most) {
        rcx_socket_fail_malformed(t, link);
        return;
    }
    if (link->head.bytes > 0)
        body = rcx_heap_alloc(t->heap, (size_t)link->head.bytes);
    if (link->head.bytes > 0 && !body) {
        rcx_socket_fail_memory(t, (size_t)link->head.bytes);
        return;
    }
    if (!is_all) {
        link->body = body;
        return;
    }
    t->all = body;
    t->head = link->head;
    t->is_all_known = true;
}

/* Whether the body that arrives from link goes to t->all. */
static bool is_into_all(const struct rcx_socket_tree *t,
                        const struct rcx_socket_link *link)
{
    return link == &t->parent && t->is_all_known &&
           link->head.kind == RCX_SOCKET_ALL;
}

/* Receive a piece of a head or body. False: nothing more for now. */
static bool receive_piece(struct rcx_socket_tree *t,
                          struct rcx_socket_link *link)
{
    const bool is_head = link->head_got < sizeof link->head;
    const bool into_all = !is_head && is_into_all(t, link);
    size_t *got = is_head    ? &link->head_got
                  : into_all ? &t->all_got
                             : &link->body_got;
    unsigned char *data = is_head    ? (unsigned char *)&link->head
                          : into_all ? t->all
                                     : link->body;
    const size_t bytes = is_head ? sizeof link->head : (size_t)link->head.bytes;
    ssize_t n;

    if (*got < bytes) {
        n = recv(link->fd, data + *got, bytes - *got, MSG_DONTWAIT);
        if (n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR))
            rcx_socket_fail_ended(t, link);
        if (n <= 0)
            return false;
        *got += (size_t)n;
    }
    if (*got < bytes)
        return true;
    if (is_head)
        begin_body(t, link);
    else if (!into_all)
        take_frame(t, link);
    return true;
}

/* Whether this step needs more from link. */
static bool is_read(const struct rcx_socket_tree *t,
                    const struct rcx_socket_link *link)
{
    if (link->fd < 0 || t->failure != RCX_OK)
        return false;
    if (link == &t->parent)
        return !t->is_all_known || t->all_got < t->head.bytes;
    return !rcx_socket_is_served(t, link);
}

static void receive(struct rcx_socket_tree *t, struct rcx_socket_link *link)
{
    while (is_read(t, link) && receive_piece(t, link))
        ;
}

/* ---- Steps --------------------------------------------------------------- */

static void set_events(struct rcx_socket_tree *t, struct rcx_socket_link *link,
                       uint32_t events, uint64_t mark)
{
    struct epoll_event event = {.events = events, .data.u64 = mark};

    if (events == link->events || link->fd < 0)
        return;
    epoll_ctl(t->epoll,
              link->events == 0 ? EPOLL_CTL_ADD
              : events == 0     ? EPOLL_CTL_DEL
                                : EPOLL_CTL_MOD,
              link->fd, &event);
    link->events = events;
}

/* Whether link may take more than has been sent. */
static bool is_sent(const struct rcx_socket_tree *t,
                    const struct rcx_socket_link *link)
{
    const size_t there = link == &t->parent ? t->up_bytes : (size_t)t->all_got;

    return frame_bytes(t, link) == 0 || link->sent == sizeof t->head + there;
}

/* Send as much as possible, and wait for the events that are needed. */
static void flush(struct rcx_socket_tree *t, struct rcx_socket_link *link,
                  uint64_t mark)
{
    if (link->fd < 0 || t->failure != RCX_OK)
        return;
    send_frame(t, link);
    set_events(t, link,
               (is_read(t, link) ? (uint32_t)EPOLLIN : 0) |
                   (is_sent(t, link) ? 0 : (uint32_t)EPOLLOUT),
               mark);
}

/* Rank 0 has the parts of all. */
static void turn_around(struct rcx_socket_tree *t)
{
    if (t->position != 0 || t->is_all_known || !rcx_socket_has_all_below(t))
        return;
    t->all = t->up;
    t->all_got = t->up_bytes;
    t->head = (struct rcx_socket_head){
        .kind = RCX_SOCKET_ALL, .step = t->step, .bytes = t->up_bytes};
    t->is_all_known = true;
    if (t->step == 0 && t->all_are_here)
        t->all_are_here(t->arg);
}

/* Receive and send as much as possible without waiting. Data that arrives
 * between receiving and flushing is found by the next epoll_wait. */
static void pump(struct rcx_socket_tree *t)
{
    for (int i = 0; i < t->n_children; i++)
        receive(t, &t->children[i]);
    if (t->failure == RCX_OK)
        turn_around(t);
    receive(t, &t->parent);
    flush(t, &t->parent, PARENT);
    for (int i = 0; i < t->n_children; i++)
        flush(t, &t->children[i], (uint64_t)i);
}

static bool is_complete(const struct rcx_socket_tree *t)
{
    if (!t->is_all_known || t->all_got < t->head.bytes)
        return false;
    for (int i = 0; i < t->n_children; i++)
        if (!rcx_socket_is_served(t, &t->children[i]))
            return false;
    return true;
}

static bool begin_step(struct rcx_socket_tree *t, const void *part,
                       size_t bytes)
{
    t->is_in_step = true;
    t->up_bytes = bytes;
    t->up = t->all = NULL;
    t->all_got = 0;
    t->is_all_known = false;
    t->query_ns = t->overdue_ns = 0;
    t->parent.sent = 0;
    t->parent.has_answered = false;
    for (int i = 0; i < t->n_children; i++) {
        t->children[i].has_given = t->children[i].has_answered = false;
        t->children[i].sent = 0;
    }
    if (bytes == 0)
        return true;
    t->up = rcx_heap_alloc(t->heap, bytes);
    if (!t->up) {
        t->up_bytes = 0;
        rcx_socket_fail_memory(t, bytes);
        return false;
    }
    memcpy(t->up, part, bytes);
    return true;
}

static void end_step(struct rcx_socket_tree *t, unsigned char **all_p,
                     size_t *all_bytes_p)
{
    if (t->all != t->up)
        rcx_heap_free(t->heap, t->up);
    *all_p = t->all;
    *all_bytes_p = t->all_got;
    t->up = t->all = NULL;
    t->is_in_step = false;
    t->step++;
    t->parent.head_got = t->parent.body_got = 0;
}

void rcx_socket_tree_wait(struct rcx_socket_tree *t, uint64_t until_ns)
{
    enum { TIDY_MS = 5 };
    struct epoll_event events[EVENTS];
    int ms = rcx_socket_wait_ms(until_ns);
    int n;

    if (rcx_socket_server_tidy(&t->server) && (ms < 0 || ms > TIDY_MS))
        ms = TIDY_MS;
    n = epoll_wait(t->epoll, events, EVENTS, ms);
    for (int i = 0; i < n; i++)
        if (events[i].data.u64 >= RCX_SOCKET_EV_PENDING)
            rcx_socket_server_event(&t->server, (uint32_t)events[i].data.u64);
}

rcx_status_t rcx_socket_tree_step(struct rcx_socket_tree *t, const void *part,
                                  size_t bytes, bool has_deadline,
                                  const struct rcx_socket_work *work,
                                  unsigned char **all_p, size_t *all_bytes_p)
{
    enum { EAGER_POLLS = 16 };
    const bool works = work && work->go_on;

    if (t->failure != RCX_OK)
        return t->failure;
    t->has_deadline = has_deadline;
    if (!t->is_in_step && !begin_step(t, part, bytes))
        return t->failure;
    for (int polls = 0;; polls++) {
        uint64_t until;

        pump(t);
        if (t->failure == RCX_OK && is_complete(t))
            break;
        until = rcx_socket_check_time(t);
        if (t->failure != RCX_OK)
            return t->failure;
        if (works && !work->go_on(work->arg))
            return RCX_IN_PROGRESS;
        if (works && polls < EAGER_POLLS) {
            until = 0;
            sched_yield();
        } else if (works) {
            until = rcx_now_ns() + 1000000;
        }
        rcx_socket_tree_wait(t, until);
    }
    end_step(t, all_p, all_bytes_p);
    return RCX_OK;
}
