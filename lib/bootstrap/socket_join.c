/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * How a rank gets its place in the tree. Rank 0 may start last: others try
 * again until their deadline. Whatever answers in its place, another job, an
 * earlier one, or another program, is left.
 */
#include "bootstrap/socket_join.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "bootstrap/socket_call.h"
#include "bootstrap/socket_file.h"
#include "bootstrap/socket_welcome.h"
#include "core/base/clock.h"

static const uint64_t ms_ns = 1000000;
enum {
    SHORTEST_PAUSE_MS = 5,
    LONGEST_PAUSE_MS = 160,
    LOST_MS = 2000,     /* how long to look for a parent that is gone */
    OCCUPIED_MS = 10000 /* how long to wait for a port */
};

static void pause_ms(int ms, uint64_t until_ns)
{
    const uint64_t now = rcx_now_ns();
    const uint64_t left = now < until_ns ? until_ns - now : 0;

    usleep((useconds_t)(left < (uint64_t)ms * ms_ns ? left / 1000 + 1
                                                    : (uint64_t)ms * 1000));
}

static double seconds(const struct rcx_socket_tree *t)
{
    return (double)t->timeout_ns / 1e9;
}

/* ---- Rank 0 -------------------------------------------------------------- */

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
    uint64_t until = rcx_now_ns() + OCCUPIED_MS * ms_ns;

    if (t->until_ns < until)
        until = t->until_ns;
    for (;;) {
        *listener_p = rcx_socket_listen_by_host(&job->root);
        if (*listener_p >= 0)
            return RCX_OK;
        if (errno != EADDRINUSE || rcx_now_ns() >= until)
            break;
        pause_ms(LONGEST_PAUSE_MS, until);
    }
    return rcx_fail(t->log, RCX_ERR_LAUNCH, "rank 0 cannot listen at %s: %s%s",
                    job->where, strerror(errno),
                    errno == EADDRINUSE ? "; does another job use it?" : "");
}

static rcx_status_t listen_by_file(struct rcx_socket_tree *t,
                                   struct rcx_socket_job *job, int *listener_p)
{
    struct rcx_socket_root id = {.has_key = true, .key = job->root.key};
    rcx_status_t status;

    if (!job->root.has_key && !rcx_socket_random(&id.key, sizeof id.key))
        return rcx_fail(t->log, RCX_ERR_LAUNCH, "there are no random numbers");
    status = rcx_socket_listen_anywhere(t->log, 0, &id);
    if (status != RCX_OK)
        return status;
    *listener_p = id.fd;
    job->root.key = id.key;
    if (rcx_socket_file_write(job->root.path, &id))
        return RCX_OK;
    return rcx_fail(t->log, RCX_ERR_LAUNCH, "rank 0 cannot write %s: %s",
                    job->where, strerror(errno));
}

static struct rcx_socket_key secret_of(const struct rcx_socket_job *job)
{
    return job->root.by == RCX_SOCKET_BY_HOST ? job->key : job->root.key;
}

rcx_status_t rcx_socket_host(struct rcx_socket_tree *t,
                             struct rcx_socket_job *job)
{
    struct rcx_socket_key secret, key;
    rcx_status_t status;
    int listener = -1;

    status = job->root.by == RCX_SOCKET_BY_ID ? own_listener(t, job, &listener)
             : job->root.by == RCX_SOCKET_BY_FILE
                 ? listen_by_file(t, job, &listener)
                 : listen_by_host(t, job, &listener);
    secret = secret_of(job);
    key = rcx_socket_job_key(job, &secret);
    if (status == RCX_OK && (!rcx_socket_guests_open(&t->guests, listener,
                                                     t->epoll, &key, t->heap) ||
                             !rcx_socket_welcome_open(t)))
        status = rcx_fail(t->log, RCX_ERR_NOMEM,
                          "no memory to start a job of %d ranks", t->size);
    if (status != RCX_OK && t->guests.listener < 0)
        rcx_socket_listener_close(listener);
    t->guests.welcome = rcx_socket_welcome;
    t->guests.arg = t;
    return status;
}

void rcx_socket_unhost(struct rcx_socket_tree *t,
                       const struct rcx_socket_job *job)
{
    rcx_socket_guests_close(&t->guests, t->heap);
    if (job->root.by == RCX_SOCKET_BY_FILE && t->rank == 0)
        rcx_socket_file_remove(job->root.path, &job->root.key);
}

/* ---- Where this rank is reached ------------------------------------------ */

/* The socket at which children of this rank will connect. */
struct doorway {
    struct rcx_socket_tree *tree;
    const struct rcx_socket_job *job;
    int listener; /* -1: none yet */
    struct rcx_socket_addrs addrs;
    uint64_t token;
};

static bool local_addr(int fd, struct rcx_socket_addr *addr_p)
{
    struct sockaddr_storage name = {.ss_family = AF_UNSPEC};
    socklen_t bytes = sizeof name;

    return getsockname(fd, (struct sockaddr *)&name, &bytes) == 0 &&
           rcx_socket_addr_in((struct sockaddr *)&name, addr_p);
}

/* Whether ranks of other hosts may exist, though this one reached rank 0 by
 * loopback: the name of its own host often means loopback. */
static bool is_half_known(const struct doorway *d,
                          const struct rcx_socket_addr *addr)
{
    struct rcx_socket_addr literal;

    return rcx_socket_is_loopback(addr) &&
           d->job->root.by == RCX_SOCKET_BY_HOST &&
           !rcx_socket_ip_parse(d->job->root.host, &literal);
}

/* Listen where the connection fd to rank 0 ends. */
static bool listen_like(struct doorway *d, int fd)
{
    struct rcx_socket_addr local, *only = &local;
    struct rcx_socket_addrs others = {.n = 0};

    if (!local_addr(fd, &local))
        return false;
    d->addrs = (struct rcx_socket_addrs){.n = 1, .at = {local}};
    if (rcx_socket_is_restricted()) {
        if (rcx_socket_interfaces(d->tree->log, 0, &d->addrs) != RCX_OK)
            return false;
        only = d->addrs.n == 1 ? &d->addrs.at[0] : NULL;
    } else if (is_half_known(d, &local)) {
        rcx_socket_interfaces(d->tree->log, 0, &others);
        for (int i = 0; i < others.n; i++)
            rcx_socket_addrs_add(&d->addrs, &others.at[i]);
        only = NULL;
    }
    d->listener = rcx_socket_listen(only, 0);
    return d->listener >= 0;
}

/* For struct rcx_socket_call: the hello has the place of the listener. */
static bool prepare(struct rcx_socket_hello *hello, int fd, void *arg)
{
    struct doorway *d = arg;
    struct rcx_socket_place *place = &hello->place;

    if (d->listener < 0 && !listen_like(d, fd))
        return false;
    place->port = rcx_socket_port(d->listener);
    for (int i = 0; i < d->addrs.n && i < RCX_SOCKET_ADVERTISED; i++) {
        memcpy(place->ips[i], d->addrs.at[i].ip, sizeof place->ips[i]);
        place->n_addrs = (uint16_t)(i + 1);
    }
    return true;
}

static void read_place(const struct rcx_socket_place *place,
                       struct rcx_socket_addrs *addrs)
{
    struct rcx_socket_addr addr = {.port = place->port};

    addrs->n = 0;
    for (int i = 0; i < place->n_addrs && i < RCX_SOCKET_ADVERTISED; i++) {
        memcpy(addr.ip, place->ips[i], sizeof addr.ip);
        rcx_socket_addrs_add(addrs, &addr);
    }
}

/* ---- Other ranks --------------------------------------------------------- */

/* Find the addresses of rank 0, and the key. False: why says the reason. */
static bool locate(const struct rcx_socket_job *job,
                   struct rcx_socket_call *call, struct rcx_socket_addrs *addrs)
{
    const struct rcx_socket_root *root = &job->root;
    struct rcx_socket_key secret = secret_of(job);
    struct rcx_socket_root id;

    addrs->n = 0;
    if (root->by == RCX_SOCKET_BY_ID) {
        *addrs = root->addrs;
    } else if (root->by == RCX_SOCKET_BY_HOST) {
        if (!rcx_socket_resolve(root->host, root->ports, root->n_ports, addrs,
                                call->why, sizeof call->why))
            return false;
    } else {
        if (!rcx_socket_file_read(root->path, &id, call->why, sizeof call->why))
            return false;
        if (root->has_key && !rcx_socket_same(&id.key, &root->key)) {
            snprintf(call->why, sizeof call->why, "the file is of another job");
            return false;
        }
        secret = id.key;
        *addrs = id.addrs;
    }
    call->key = rcx_socket_job_key(job, &secret);
    return true;
}

static rcx_status_t not_found(const struct rcx_socket_tree *t,
                              const struct rcx_socket_job *job,
                              const struct rcx_socket_call *call)
{
    return rcx_fail(t->log, RCX_ERR_TIMEOUT,
                    "rank %d did not find rank 0 at %s within %.3g s: %s",
                    t->rank, job->where, seconds(t), call->why);
}

static rcx_status_t refused(const struct rcx_socket_tree *t,
                            struct rcx_socket_reply *reply)
{
    reply->text[sizeof reply->text - 1] = '\0';
    return rcx_fail(t->log,
                    reply->status < 0 ? (rcx_status_t)reply->status
                                      : RCX_ERR_LAUNCH,
                    "%s", reply->text);
}

/* Take over the connection to the parent, and let children connect. */
static rcx_status_t take_place(struct rcx_socket_tree *t, struct doorway *d,
                               const struct rcx_socket_call *call, int fd,
                               const struct rcx_socket_reply *reply)
{
    rcx_socket_tree_place(t, reply->position);
    rcx_socket_link_open(&t->parent, fd, reply->rank, 0);
    if (t->n_children == 0) {
        rcx_socket_listener_close(d->listener);
        d->listener = -1;
        return RCX_OK;
    }
    if (!rcx_socket_guests_open(&t->guests, d->listener, t->epoll, &call->key,
                                t->heap))
        return rcx_fail(t->log, RCX_ERR_NOMEM,
                        "no memory to start a job of %d ranks", t->size);
    t->guests.welcome = rcx_socket_welcome;
    t->guests.arg = t;
    return RCX_OK;
}

/* Ask rank 0, and then the parent. RCX_IN_PROGRESS: not possible now. Sets
 * *parent_p to the rank that could not be reached. */
static rcx_status_t try_once(struct rcx_socket_tree *t,
                             const struct rcx_socket_job *job,
                             struct doorway *d, struct rcx_socket_call *call,
                             int *parent_p)
{
    struct rcx_socket_addrs addrs;
    struct rcx_socket_reply reply = {.verdict = 0};
    rcx_status_t status = RCX_IN_PROGRESS;
    int fd = -1;

    call->prepare = prepare;
    call->hello.purpose = RCX_SOCKET_JOIN;
    if (!locate(job, call, &addrs))
        return RCX_IN_PROGRESS;
    status = rcx_socket_call(call, &addrs, &reply, &fd);
    if (status == RCX_OK && reply.verdict == RCX_SOCKET_REDIRECTED) {
        close(fd);
        call->prepare = NULL;
        call->hello.purpose = RCX_SOCKET_ATTACH;
        call->hello.position = reply.position;
        *parent_p = reply.place.rank;
        read_place(&reply.place, &addrs);
        status = rcx_socket_call(call, &addrs, &reply, &fd);
    }
    if (status != RCX_OK)
        return status;
    if (reply.verdict == RCX_SOCKET_ATTACHED)
        return take_place(t, d, call, fd, &reply);
    close(fd);
    return reply.verdict == RCX_SOCKET_REFUSED ? refused(t, &reply)
                                               : RCX_IN_PROGRESS;
}

/* Try until it has succeeded. */
static rcx_status_t try_long(struct rcx_socket_tree *t,
                             const struct rcx_socket_job *job,
                             struct doorway *d, struct rcx_socket_call *call)
{
    uint64_t lost_ns = UINT64_MAX; /* when to stop looking for the parent */
    int ms = SHORTEST_PAUSE_MS;
    int parent = -1;

    for (;;) {
        const rcx_status_t status = try_once(t, job, d, call, &parent);

        if (status != RCX_IN_PROGRESS && status != RCX_ERR_TIMEOUT)
            return status;
        if (status == RCX_ERR_TIMEOUT || rcx_now_ns() >= t->until_ns)
            return parent < 0
                       ? not_found(t, job, call)
                       : rcx_fail(t->log, RCX_ERR_TIMEOUT,
                                  "rank %d did not answer rank %d "
                                  "within %.3g s: %s",
                                  parent, t->rank, seconds(t), call->why);
        if (parent >= 0 && lost_ns == UINT64_MAX)
            lost_ns = rcx_now_ns() + LOST_MS * ms_ns;
        if (rcx_now_ns() >= lost_ns)
            return rcx_fail(t->log, RCX_ERR_PEER_FAILED,
                            "rank %d ended, or cannot be reached from rank "
                            "%d: %s",
                            parent, t->rank, call->why);
        pause_ms(ms, t->until_ns);
        ms *= ms < LONGEST_PAUSE_MS ? 2 : 1;
    }
}

rcx_status_t rcx_socket_join(struct rcx_socket_tree *t,
                             const struct rcx_socket_job *job)
{
    struct doorway d = {.tree = t, .job = job, .listener = -1};
    struct rcx_socket_call call = {
        .until_ns = t->until_ns, .arg = &d, .why = "no answer"};
    struct rcx_socket_hello *hello = &call.hello;
    rcx_status_t status = RCX_OK;

    if (!rcx_socket_random(&hello->token, sizeof hello->token))
        return rcx_fail(t->log, RCX_ERR_LAUNCH, "there are no random numbers");
    if (rcx_socket_is_restricted())
        status = rcx_socket_interfaces(t->log, 0, &d.addrs);
    if (status != RCX_OK)
        return status;
    hello->size = t->size;
    hello->place.rank = t->rank;
    hello->place.pid = (int32_t)getpid();
    gethostname(hello->place.host, sizeof hello->place.host - 1);
    status = try_long(t, job, &d, &call);
    if (t->guests.listener < 0)
        rcx_socket_listener_close(d.listener);
    return status;
}
