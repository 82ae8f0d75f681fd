/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Places in the tree. A process whose connection broke before it had the reply
 * comes again, and is known by its token. Another process with a rank that has
 * come, or with another number of ranks, is a failure of the job.
 */
#include "bootstrap/socket_welcome.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

bool rcx_socket_welcome_open(struct rcx_socket_tree *t)
{
    const size_t n = (size_t)t->size;

    t->arrivals = rcx_heap_zalloc(t->heap, n * sizeof *t->arrivals);
    t->position_of = rcx_heap_alloc(t->heap, n * sizeof *t->position_of);
    if (!t->arrivals || !t->position_of)
        return false;
    for (size_t i = 0; i < n; i++)
        t->position_of[i] = -1;
    t->position_of[0] = 0;
    t->arrivals[0].place.pid = (int32_t)getpid();
    gethostname(t->arrivals[0].place.host,
                sizeof t->arrivals[0].place.host - 1);
    t->n_arrived = 1;
    return true;
}

/* ---- Failures ------------------------------------------------------------ */

static void refuse(struct rcx_socket_reply *reply, rcx_status_t status,
                   const char *text)
{
    reply->verdict = RCX_SOCKET_REFUSED;
    reply->status = status;
    snprintf(reply->text, sizeof reply->text, "%s", text);
}

/* The job fails for what a hello says. The step's loop tells the others: it
 * must not run within the handshake. */
static void find(struct rcx_socket_tree *t, struct rcx_socket_reply *reply,
                 const char *text)
{
    t->found.status = RCX_ERR_LAUNCH;
    snprintf(t->found.text, sizeof t->found.text, "%s", text);
    refuse(reply, RCX_ERR_LAUNCH, text);
}

static void find_other_size(struct rcx_socket_tree *t,
                            const struct rcx_socket_hello *hello,
                            struct rcx_socket_reply *reply)
{
    char text[RCX_SOCKET_TEXT];

    snprintf(text, sizeof text,
             "rank %d (process %d on %.31s) was started as one of %d ranks, "
             "rank 0 as one of %d",
             hello->place.rank, hello->place.pid, hello->place.host,
             hello->size, t->size);
    find(t, reply, text);
}

static void find_twice(struct rcx_socket_tree *t,
                       const struct rcx_socket_hello *hello,
                       struct rcx_socket_reply *reply)
{
    const struct rcx_socket_place *first =
        &t->arrivals[t->position_of[hello->place.rank]].place;
    char text[RCX_SOCKET_TEXT];

    snprintf(text, sizeof text,
             "rank %d came twice: process %d on %.31s and process %d on %.31s; "
             "are two jobs started at one address?",
             hello->place.rank, first->pid, first->host, hello->place.pid,
             hello->place.host);
    find(t, reply, text);
}

/* ---- Places -------------------------------------------------------------- */

/* Take fd as the connection of a child. */
static bool attach(struct rcx_socket_tree *t,
                   const struct rcx_socket_hello *hello, int position, int fd,
                   struct rcx_socket_reply *reply)
{
    struct rcx_socket_link *slot = rcx_socket_tree_slot(t, position);

    if (!slot || (slot->fd >= 0 && slot->token != hello->token)) {
        refuse(reply, RCX_ERR_INTERNAL, "two ranks have one place");
        return false;
    }
    if (slot->fd >= 0) { /* it comes again, as it had no reply */
        if (slot->has_given || slot->head_got > 0)
            return false;
        close(slot->fd);
    }
    rcx_socket_link_open(slot, fd, hello->place.rank, hello->token);
    reply->verdict = RCX_SOCKET_ATTACHED;
    reply->position = position;
    return true;
}

/* Give the process a position, or the one that it has. */
static int place(struct rcx_socket_tree *t,
                 const struct rcx_socket_hello *hello)
{
    int *position = &t->position_of[hello->place.rank];

    if (*position < 0)
        *position = t->n_arrived++;
    t->arrivals[*position].token = hello->token;
    t->arrivals[*position].place = hello->place;
    t->arrivals[*position].place.host[sizeof hello->place.host - 1] = '\0';
    return *position;
}

static bool join(struct rcx_socket_tree *t,
                 const struct rcx_socket_hello *hello, int fd,
                 struct rcx_socket_reply *reply)
{
    const int rank = hello->place.rank;
    int position, parent;

    if (hello->size != t->size) {
        find_other_size(t, hello, reply);
        return false;
    }
    if (rank < 0 || rank >= t->size) {
        refuse(reply, RCX_ERR_LAUNCH, "the rank is not one of the job");
        return false;
    }
    position = t->position_of[rank];
    if (position >= 0 && t->arrivals[position].token != hello->token) {
        find_twice(t, hello, reply);
        return false;
    }
    position = place(t, hello);
    parent = (position - 1) / RCX_SOCKET_FAN;
    if (parent == 0)
        return attach(t, hello, position, fd, reply);
    reply->verdict = RCX_SOCKET_REDIRECTED;
    reply->position = position;
    reply->place = t->arrivals[parent].place;
    return false;
}

bool rcx_socket_welcome(const struct rcx_socket_hello *hello, int fd,
                        struct rcx_socket_reply *reply, void *arg)
{
    struct rcx_socket_tree *t = arg;

    reply->rank = t->rank;
    if (t->failure != RCX_OK)
        refuse(reply, t->failure, t->why);
    else if (t->found.status != RCX_OK)
        refuse(reply, (rcx_status_t)t->found.status, t->found.text);
    else if (hello->purpose == RCX_SOCKET_JOIN && t->arrivals)
        return join(t, hello, fd, reply);
    else if (hello->purpose == RCX_SOCKET_ATTACH)
        return attach(t, hello, hello->position, fd, reply);
    else
        refuse(reply, RCX_ERR_LAUNCH, "this is not rank 0");
    return false;
}
