/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Transport of a single process: messages to itself. A send or receive waits
 * until the other one is posted; then both complete.
 */
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "core/iface/transport.h"

/* A send or a receive that waits for the other one. */
struct op {
    struct op *next;
    struct rcx_message *message;
    bool is_send;
    char *buffer;
    size_t bytes;
    uint64_t tag, mask;
};

struct self_transport {
    struct rcx_transport base;
    struct rcx_heap *heap;
    struct op *first; /* oldest first */
    struct op *idle;
    int fd; /* -1: no thread sleeps */
};

/* ---- Sends and receives -------------------------------------------------- */

static struct op *take_op(struct self_transport *a)
{
    struct op *op = a->idle;

    if (!op)
        return rcx_heap_alloc(a->heap, sizeof *op);
    a->idle = op->next;
    return op;
}

static bool fits(const struct op *a, const struct op *b)
{
    return a->is_send != b->is_send &&
           ((a->tag ^ b->tag) & a->mask & b->mask) == 0;
}

static struct op **partner_of(struct self_transport *a, const struct op *op)
{
    struct op **link = &a->first;

    while (*link && !fits(*link, op))
        link = &(*link)->next;
    return link;
}

static void recycle(struct self_transport *a, struct op **link)
{
    struct op *op = *link;

    *link = op->next;
    op->next = a->idle;
    a->idle = op;
}

static rcx_status_t deliver(const struct op *send, const struct op *recv)
{
    recv->message->bytes = send->bytes;
    recv->message->tag = send->tag;
    if (send->bytes > recv->bytes)
        return RCX_ERR_MISMATCH;
    if (send->bytes > 0)
        memcpy(recv->buffer, send->buffer, send->bytes);
    return RCX_OK;
}

static rcx_status_t post(struct self_transport *a, const struct op *mine)
{
    struct op **link = partner_of(a, mine);
    struct op *other = *link;
    rcx_status_t status;

    if (!other) {
        *link = take_op(a);
        if (!*link)
            return RCX_ERR_NOMEM;
        **link = *mine;
        return RCX_IN_PROGRESS;
    }
    status =
        deliver(mine->is_send ? mine : other, mine->is_send ? other : mine);
    rcx_message_complete(&a->base, other->message,
                         mine->is_send ? status : RCX_OK);
    recycle(a, link);
    return mine->is_send ? RCX_OK : status;
}

/* ---- Messages ------------------------------------------------------------ */

static rcx_status_t send(struct rcx_transport *t, int peer, const void *buffer,
                         size_t bytes, uint64_t tag, struct rcx_message *m)
{
    (void)peer;
    return post((struct self_transport *)t,
                &(struct op){.message = m,
                             .is_send = true,
                             .buffer = (char *)buffer,
                             .bytes = bytes,
                             .tag = tag,
                             .mask = UINT64_MAX});
}

static rcx_status_t recv_masked(struct rcx_transport *t, void *buffer,
                                size_t bytes, uint64_t tag, uint64_t mask,
                                struct rcx_message *m)
{
    return post((struct self_transport *)t, &(struct op){.message = m,
                                                         .buffer = buffer,
                                                         .bytes = bytes,
                                                         .tag = tag,
                                                         .mask = mask});
}

/* Collectives of one rank have no messages. */
static rcx_status_t recv(struct rcx_transport *t, int peer, void *buffer,
                         size_t bytes, uint64_t tag, struct rcx_message *m)
{
    (void)peer;
    return recv_masked(t, buffer, bytes, tag, UINT64_MAX, m);
}

static unsigned progress(struct rcx_transport *t)
{
    (void)t;
    return 0;
}

/* A send could be, too, but that is asked of no transport. */
static void cancel(struct rcx_transport *t, struct rcx_message *m)
{
    struct self_transport *a = (struct self_transport *)t;
    struct op **link = &a->first;

    while (*link && (*link)->message != m)
        link = &(*link)->next;
    if (!*link)
        return;
    recycle(a, link);
    rcx_message_complete(t, m, RCX_ERR_CANCELED);
}

static bool probe(struct rcx_transport *t, int peer, uint64_t tag,
                  uint64_t mask, struct rcx_arrival *found_p)
{
    const struct op *op = ((struct self_transport *)t)->first;

    (void)peer;
    while (op && !(op->is_send && ((op->tag ^ tag) & mask) == 0))
        op = op->next;
    if (op)
        *found_p = (struct rcx_arrival){op->tag, op->bytes};
    return op;
}

static void notify(struct rcx_transport *t, int peer, const void *note,
                   size_t bytes)
{
    (void)t, (void)peer, (void)note, (void)bytes;
}

/* ---- Sleeping ------------------------------------------------------------ */

static int event_fd(struct rcx_transport *t)
{
    return ((struct self_transport *)t)->fd;
}

static rcx_status_t arm(struct rcx_transport *t)
{
    eventfd_t times;

    return eventfd_read(((struct self_transport *)t)->fd, &times) == 0
               ? RCX_IN_PROGRESS
               : RCX_OK;
}

static void wake(struct rcx_transport *t)
{
    struct self_transport *a = (struct self_transport *)t;

    if (a->fd >= 0)
        eventfd_write(a->fd, 1);
}

/* ---- Opening and closing ------------------------------------------------- */

static void version(char *text, size_t bytes)
{
    snprintf(text, bytes, "none");
}

static void free_all(struct self_transport *a, struct op *op)
{
    while (op) {
        struct op *next = op->next;

        rcx_heap_free(a->heap, op);
        op = next;
    }
}

static void close_all(struct rcx_transport *t)
{
    struct self_transport *a = (struct self_transport *)t;

    free_all(a, a->first);
    free_all(a, a->idle);
    if (a->fd >= 0)
        close(a->fd);
    rcx_heap_free(a->heap, a);
}

static rcx_status_t open(const struct rcx_transport_args *args,
                         struct rcx_transport **t_p)
{
    struct self_transport *a = rcx_heap_zalloc_lines(args->heap, sizeof *a);

    if (!a)
        return rcx_fail(args->log, RCX_ERR_NOMEM,
                        "rcx_init: no memory for messages of a rank to itself");
    a->base.ops = &rcx_transport_self;
    rcx_transport_init(&a->base);
    a->heap = args->heap;
    a->fd = args->wakeup ? eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK) : -1;
    *t_p = &a->base;
    return RCX_OK;
}

static rcx_status_t address(struct rcx_transport *t, const void **address_p,
                            size_t *bytes_p)
{
    (void)t;
    *address_p = NULL;
    *bytes_p = 0;
    return RCX_OK;
}

static rcx_status_t flush(struct rcx_transport *t)
{
    (void)t;
    return RCX_OK;
}

/* clang-format off */
const struct rcx_transport_ops rcx_transport_self = {
    .name = "self", .version = version, .open = open, .address = address,
    .send = send, .recv = recv, .recv_masked = recv_masked,
    .progress = progress, .cancel = cancel, .withdraw = cancel, .probe = probe, .send_ctrl = notify,
    .event_fd = event_fd, .arm = arm, .wake = wake,
    .flush = flush, .close = close_all,
};
/* clang-format on */
