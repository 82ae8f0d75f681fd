/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Positions in the tree. A process whose connection broke before it had the
 * reply connects again, and is known by its token. Another process with a rank
 * that has a position, or with another number of ranks, is a failure of the
 * job.
 */
#include "bootstrap/socket_host.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "bootstrap/socket_join.h"
#include "core/base/clock.h"
#include "core/base/file.h"

enum { OCCUPIED_PAUSE_US = 100000 };
static const uint64_t occupied_ns = 10000000000; /* wait for a port */
/* A start that has failed keeps its port for a moment. */
static const uint64_t ask_after_ns = 1000000000;

/* ---- Failures ------------------------------------------------------------ */

static void refuse(struct rcx_socket_reply *reply, rcx_status_t status,
                   const char *text)
{
    reply->verdict = RCX_SOCKET_REFUSED;
    reply->status = status;
    snprintf(reply->text, sizeof reply->text, "%s", text);
}

/* The job fails because of a hello. The loop of the step notifies the others,
 * after the handshake. */
static void fail_soon(struct rcx_socket_tree *t, struct rcx_socket_reply *reply,
                      const char *text)
{
    t->found.status = RCX_ERR_LAUNCH;
    snprintf(t->found.text, sizeof t->found.text, "%s", text);
    refuse(reply, RCX_ERR_LAUNCH, text);
}

static void fail_size(struct rcx_socket_tree *t,
                      const struct rcx_socket_hello *hello,
                      struct rcx_socket_reply *reply)
{
    char text[RCX_SOCKET_TEXT];

    snprintf(text, sizeof text,
             "rank %d (process %d on %.31s) was started as one of %d ranks, "
             "rank 0 as one of %d",
             hello->place.rank, hello->place.pid, hello->place.host,
             hello->size, t->size);
    fail_soon(t, reply, text);
}

static void fail_twice(struct rcx_socket_tree *t,
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
    fail_soon(t, reply, text);
}

/* ---- Places -------------------------------------------------------------- */

/* Make fd the connection of the child at this position. */
static bool attach(struct rcx_socket_tree *t,
                   const struct rcx_socket_hello *hello, int position, int fd,
                   struct rcx_socket_reply *reply)
{
    struct rcx_socket_link *slot = rcx_socket_tree_slot(t, position);

    if (!slot || (slot->fd >= 0 && slot->token != hello->token)) {
        refuse(reply, RCX_ERR_INTERNAL, "two ranks have one place");
        return false;
    }
    if (slot->fd >= 0) { /* it connects again, as it had no reply */
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
        fail_size(t, hello, reply);
        return false;
    }
    if (rank < 0 || rank >= t->size) {
        refuse(reply, RCX_ERR_LAUNCH, "the rank is not one of the job");
        return false;
    }
    position = t->position_of[rank];
    if (position >= 0 && t->arrivals[position].token != hello->token) {
        fail_twice(t, hello, reply);
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

static bool admit(const struct rcx_socket_hello *hello, int fd,
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

/* ---- Listening ----------------------------------------------------------- */

/* Prepare to give positions. False: no memory. */
static bool open_places(struct rcx_socket_tree *t)
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

static rcx_status_t own_listener(struct rcx_socket_tree *t,
                                 const struct rcx_socket_job *job,
                                 int *listener_p)
{
    *listener_p = rcx_socket_own_listener(&job->root);
    if (*listener_p >= 0)
        return RCX_OK;
    return rcx_fail(t->log, RCX_ERR_LAUNCH,
                    "rank 0 has to be the process that called rcx_get_id() for "
                    "this id, %d, and may use it once; this is process %d",
                    (int)job->root.pid, (int)getpid());
}

/* A port may be occupied for a moment, by another context of this process or by
 * an earlier job that ends. */
static rcx_status_t listen_by_host(struct rcx_socket_tree *t,
                                   const struct rcx_socket_job *job,
                                   int *listener_p)
{
    uint64_t until = rcx_now_ns() + occupied_ns;
    uint64_t ask_ns = rcx_now_ns() + ask_after_ns;
    rcx_status_t status = RCX_OK;
    int error;

    if (t->until_ns < until)
        until = t->until_ns;
    for (;;) {
        *listener_p = rcx_socket_listen_by_host(&job->root);
        error = errno;
        if (*listener_p >= 0)
            return RCX_OK;
        if (error != EADDRINUSE || rcx_now_ns() >= until)
            break;
        if (rcx_now_ns() >= ask_ns) {
            status = rcx_socket_ask_holder(t, job);
            ask_ns = rcx_now_ns() + ask_after_ns;
        }
        if (status != RCX_OK)
            return status;
        if (rcx_start_wait_is_due(t->wait))
            rcx_start_wait_warn(t->wait, "rank 0 cannot listen at %s: %s",
                                job->where, strerror(error));
        usleep(OCCUPIED_PAUSE_US);
    }
    return rcx_fail(t->log, RCX_ERR_LAUNCH, "rank 0 cannot listen at %s: %s%s",
                    job->where, strerror(error),
                    error == EADDRINUSE ? "; does another job use it?" : "");
}

static rcx_status_t listen_by_file(struct rcx_socket_tree *t,
                                   struct rcx_socket_job *job, int *listener_p)
{
    struct rcx_socket_root id = {.has_key = true, .key = job->root.key}, old;
    char why[RCX_FILE_WHY];
    rcx_status_t status;

    if (!job->root.has_key && !rcx_socket_random(&id.key, sizeof id.key))
        return rcx_fail(t->log, RCX_ERR_LAUNCH, "there are no random numbers");
    status = rcx_socket_listen_anywhere(t->log, 0, &id);
    if (status != RCX_OK)
        return status;
    *listener_p = id.fd;
    job->replaced_pid =
        rcx_socket_file_read(job->root.path, &old, why, sizeof why) ? old.pid
                                                                    : 0;
    job->root.key = id.key;
    job->root.pid = id.pid;
    job->root.mark = id.mark;
    if (rcx_socket_file_write(job->root.path, &id))
        return RCX_OK;
    rcx_file_why(job->root.path, errno, why, sizeof why);
    return rcx_fail(t->log, RCX_ERR_LAUNCH, "rank 0 cannot write %s: %s",
                    job->where, why);
}

bool rcx_socket_accept_children(struct rcx_socket_tree *t, int listener,
                                const struct rcx_socket_key *key)
{
    t->server.admit = admit;
    t->server.arg = t;
    return rcx_socket_server_open(&t->server, listener, t->epoll, key, t->heap);
}

rcx_status_t rcx_socket_host(struct rcx_socket_tree *t,
                             struct rcx_socket_job *job)
{
    struct rcx_socket_key key;
    rcx_status_t status;
    int listener = -1;

    status = job->root.by == RCX_SOCKET_BY_ID ? own_listener(t, job, &listener)
             : job->root.by == RCX_SOCKET_BY_FILE
                 ? listen_by_file(t, job, &listener)
                 : listen_by_host(t, job, &listener);
    if (status != RCX_OK) {
        rcx_socket_listener_close(listener);
        return status;
    }
    key = rcx_socket_job_key(job, rcx_socket_job_secret(job));
    if (rcx_socket_accept_children(t, listener, &key) && open_places(t))
        return RCX_OK;
    return rcx_fail(t->log, RCX_ERR_NOMEM,
                    "no memory to start a job of %d ranks", t->size);
}

void rcx_socket_unhost(struct rcx_socket_tree *t,
                       const struct rcx_socket_job *job)
{
    rcx_socket_server_close(&t->server, t->heap);
    if (job->root.by == RCX_SOCKET_BY_FILE && t->rank == 0)
        rcx_socket_file_remove(job->root.path, &job->root.key);
}
