/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * How a rank other than 0 gets its position in the tree. Rank 0 may start last:
 * the others try again until their deadline. They ignore other processes that
 * answer in its place: another job, an earlier one, or another program.
 */
#include "bootstrap/socket_join.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "bootstrap/socket_client.h"
#include "bootstrap/socket_host.h"
#include "core/base/clock.h"

static const uint64_t ms_ns = 1000000;
enum {
    SHORTEST_PAUSE_MS = 5,
    LONGEST_PAUSE_MS = 160,
    ATTEMPT_MS = 10000, /* how long to wait for an answer of rank 0 */
    LOST_MS = 2000,     /* how long to look for a parent that is gone */
    HOLDER_MS = 300     /* how long to ask the process that has the port */
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

/* ---- The listener for children ------------------------------------------- */

struct child_listener {
    struct rcx_socket_tree *tree;
    const struct rcx_socket_job *job;
    int fd; /* -1: none yet */
    struct rcx_socket_addrs addrs;
};

/* Whether the connection fd with this local address stays within this host, and
 * ranks on other hosts may exist: then they may not reach that address. */
static bool is_local_only(const struct child_listener *l, int fd,
                          const struct rcx_socket_addr *local)
{
    const struct rcx_socket_root *root = &l->job->root;
    struct rcx_socket_addr peer, literal;

    if (!rcx_socket_peer_addr(fd, &peer) ||
        memcmp(peer.ip, local->ip, sizeof peer.ip) != 0)
        return false;
    /* the user gave the loopback address, or rank 0 has no other one */
    return !rcx_socket_is_loopback(local) ||
           (root->by == RCX_SOCKET_BY_HOST &&
            !rcx_socket_ip_parse(root->host, &literal));
}

/* Listen at the local address of the connection fd to rank 0, or at all
 * addresses if other hosts may not reach that one. */
static bool listen_like(struct child_listener *l, int fd)
{
    struct rcx_socket_addr local, *only = &local;
    struct rcx_socket_addrs others = {.n = 0};

    if (!rcx_socket_local_addr(fd, &local))
        return false;
    l->addrs = (struct rcx_socket_addrs){.n = 1, .at = {local}};
    if (rcx_socket_is_restricted()) {
        if (rcx_socket_interfaces(l->tree->log, 0, &l->addrs) != RCX_OK)
            return false;
        only = l->addrs.n == 1 ? &l->addrs.at[0] : NULL;
    } else if (is_local_only(l, fd, &local)) {
        rcx_socket_interfaces(l->tree->log, local.port, &others);
        for (int i = 0; i < others.n; i++)
            rcx_socket_addrs_add(&l->addrs, &others.at[i]);
        only = NULL;
    }
    l->fd = rcx_socket_listen(only, 0);
    return l->fd >= 0;
}

/* For struct rcx_socket_client: add the place of the listener to the hello. */
static bool prepare(struct rcx_socket_hello *hello, int fd, void *arg)
{
    struct child_listener *l = arg;
    struct rcx_socket_place *place = &hello->place;

    if (l->fd < 0 && !listen_like(l, fd))
        return false;
    place->port = rcx_socket_port(l->fd);
    for (int i = 0; i < l->addrs.n && i < RCX_SOCKET_ADVERTISED; i++) {
        memcpy(place->ips[i], l->addrs.at[i].ip, sizeof place->ips[i]);
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

/* ---- Finding rank 0 ------------------------------------------------------ */

static bool read_file(const struct rcx_socket_root *root,
                      struct rcx_socket_root *id, char *why, size_t bytes)
{
    if (!rcx_socket_file_read(root->path, id, why, bytes))
        return false;
    if (!root->has_key || rcx_socket_same(&id->key, &root->key))
        return true;
    snprintf(why, bytes, "the file is of another job");
    return false;
}

/* Find the addresses of rank 0, and the key. False: client->why has the reason,
 * unless it has that of an attempt to connect. */
static bool locate(const struct rcx_socket_job *job,
                   struct rcx_socket_client *client,
                   struct rcx_socket_addrs *addrs)
{
    const struct rcx_socket_root *root = &job->root;
    const struct rcx_socket_key *secret = rcx_socket_job_secret(job);
    struct rcx_socket_root id;
    char why[RCX_SOCKET_TEXT] = "";
    bool found = true;

    addrs->n = 0;
    if (root->by == RCX_SOCKET_BY_ID) {
        *addrs = root->addrs;
    } else if (root->by == RCX_SOCKET_BY_HOST) {
        found = rcx_socket_resolve(root->host, root->ports, root->n_ports,
                                   client->until_ns, client->wait, addrs, why,
                                   sizeof why);
    } else {
        found = read_file(root, &id, why, sizeof why);
        if (found) {
            secret = &id.key;
            *addrs = id.addrs;
        }
    }
    if (found) {
        client->key = rcx_socket_job_key(job, secret);
    } else if (client->weight == 0) {
        memcpy(client->why, why, sizeof client->why);
        client->is_absent = root->by == RCX_SOCKET_BY_FILE &&
                            access(root->path, F_OK) != 0 && errno == ENOENT;
    }
    return found;
}

static rcx_status_t not_found(const struct rcx_socket_tree *t,
                              const struct rcx_socket_job *job,
                              const struct rcx_socket_client *client)
{
    return rcx_fail(t->log, RCX_ERR_TIMEOUT,
                    "rank %d did not find rank 0 at %s within %.3g s: %s%s",
                    t->rank, job->where, seconds(t), client->why,
                    rcx_socket_client_hint(client));
}

static rcx_status_t parent_lost(const struct rcx_socket_tree *t, int parent,
                                const struct rcx_socket_client *client)
{
    return rcx_fail(t->log, RCX_ERR_PEER_FAILED,
                    "rank %d ended, or cannot be reached from rank %d: %s",
                    parent, t->rank, client->why);
}

static rcx_status_t parent_silent(const struct rcx_socket_tree *t, int parent,
                                  const struct rcx_socket_client *client)
{
    return rcx_fail(t->log, RCX_ERR_TIMEOUT,
                    "rank %d did not answer rank %d within %.3g s: %s", parent,
                    t->rank, seconds(t), client->why);
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

/* ---- Joining ------------------------------------------------------------- */

/* Take over the connection to the parent, and let children connect. */
static rcx_status_t take_place(struct rcx_socket_tree *t,
                               struct child_listener *l,
                               const struct rcx_socket_key *key, int fd,
                               const struct rcx_socket_reply *reply)
{
    const int listener = l->fd;

    rcx_socket_tree_place(t, reply->position);
    rcx_socket_link_open(&t->parent, fd, reply->rank, 0);
    l->fd = -1;
    if (t->n_children == 0) {
        rcx_socket_listener_close(listener);
        return RCX_OK;
    }
    return rcx_socket_accept_children(t, listener, key)
               ? RCX_OK
               : rcx_fail(t->log, RCX_ERR_NOMEM,
                          "no memory to start a job of %d ranks", t->size);
}

/* Ask rank 0. An attempt is short, as what is silent at the address may be a
 * process of an earlier job that is stopped. */
static rcx_status_t ask_root(struct rcx_socket_tree *t,
                             const struct rcx_socket_job *job,
                             struct rcx_socket_client *client,
                             struct rcx_socket_reply *reply, int *fd_p)
{
    const uint64_t until = rcx_now_ns() + ATTEMPT_MS * ms_ns;
    struct rcx_socket_addrs addrs;

    client->until_ns = t->until_ns;
    if (!locate(job, client, &addrs))
        return RCX_IN_PROGRESS;
    if (until < client->until_ns)
        client->until_ns = until;
    client->prepare = prepare;
    client->hello.purpose = RCX_SOCKET_JOIN;
    return rcx_socket_client_connect(client, &addrs, reply, fd_p);
}

static rcx_status_t ask_parent(struct rcx_socket_tree *t,
                               struct rcx_socket_client *client,
                               struct rcx_socket_reply *reply, int *fd_p)
{
    const char *root = client->whom;
    struct rcx_socket_addrs addrs;
    char parent[32];
    rcx_status_t status;

    client->until_ns = t->until_ns;
    client->prepare = NULL;
    client->hello.purpose = RCX_SOCKET_ATTACH;
    client->hello.position = reply->position;
    read_place(&reply->place, &addrs);
    snprintf(parent, sizeof parent, "rank %d", (int)reply->place.rank);
    client->whom = parent;
    status = rcx_socket_client_connect(client, &addrs, reply, fd_p);
    client->whom = root;
    return status;
}

/* Ask rank 0, and then the parent. RCX_IN_PROGRESS: not possible now; no
 * other error is to be tried again. Sets *parent_p to the rank that rank 0
 * named as the parent. */
static rcx_status_t try_once(struct rcx_socket_tree *t,
                             const struct rcx_socket_job *job,
                             struct child_listener *l,
                             struct rcx_socket_client *client, int *parent_p)
{
    struct rcx_socket_reply reply = {.verdict = 0};
    int fd = -1;
    rcx_status_t status = ask_root(t, job, client, &reply, &fd);

    if (status == RCX_OK && reply.verdict == RCX_SOCKET_REDIRECTED) {
        close(fd);
        *parent_p = reply.place.rank;
        status = ask_parent(t, client, &reply, &fd);
    }
    if (status != RCX_OK)
        return RCX_IN_PROGRESS;
    if (reply.verdict == RCX_SOCKET_ATTACHED)
        return take_place(t, l, &client->key, fd, &reply);
    close(fd);
    return reply.verdict == RCX_SOCKET_REFUSED ? refused(t, &reply)
                                               : RCX_IN_PROGRESS;
}

/* Set what is the same in all hellos of this process. False: no random
 * numbers. */
static bool introduce(const struct rcx_socket_tree *t,
                      struct rcx_socket_hello *hello)
{
    hello->size = t->size;
    hello->place.rank = t->rank;
    hello->place.pid = (int32_t)getpid();
    gethostname(hello->place.host, sizeof hello->place.host - 1);
    return rcx_socket_random(&hello->token, sizeof hello->token);
}

/* Try until it has succeeded. */
static rcx_status_t try_long(struct rcx_socket_tree *t,
                             const struct rcx_socket_job *job,
                             struct child_listener *l,
                             struct rcx_socket_client *client)
{
    uint64_t lost_ns = UINT64_MAX; /* when to stop looking for the parent */
    int ms = SHORTEST_PAUSE_MS;
    int parent = -1;

    for (;;) {
        const rcx_status_t status = try_once(t, job, l, client, &parent);

        if (status != RCX_IN_PROGRESS)
            return status;
        if (parent >= 0 && lost_ns == UINT64_MAX)
            lost_ns = rcx_now_ns() + LOST_MS * ms_ns;
        if (rcx_now_ns() >= lost_ns)
            return parent_lost(t, parent, client);
        pause_ms(ms, t->until_ns);
        rcx_socket_client_warn(client);
        if (rcx_now_ns() >= t->until_ns)
            return parent < 0 ? not_found(t, job, client)
                              : parent_silent(t, parent, client);
        ms *= ms < LONGEST_PAUSE_MS ? 2 : 1;
    }
}

rcx_status_t rcx_socket_join(struct rcx_socket_tree *t,
                             const struct rcx_socket_job *job)
{
    struct child_listener l = {.tree = t, .job = job, .fd = -1};
    struct rcx_socket_client client = {.arg = &l, .why = "no answer"};
    char root[sizeof job->where + 16];
    rcx_status_t status = RCX_OK;

    if (!introduce(t, &client.hello))
        return rcx_fail(t->log, RCX_ERR_LAUNCH, "there are no random numbers");
    if (rcx_socket_is_restricted())
        status = rcx_socket_interfaces(t->log, 0, &l.addrs);
    if (status != RCX_OK)
        return status;
    snprintf(root, sizeof root, "rank 0 at %s", job->where);
    client.whom = root;
    client.wait = t->wait;
    status = try_long(t, job, &l, &client);
    rcx_socket_listener_close(l.fd);
    return status;
}

/* ---- Rank 0 -------------------------------------------------------------- */

rcx_status_t rcx_socket_ask_holder(struct rcx_socket_tree *t,
                                   const struct rcx_socket_job *job)
{
    static const char *const loopback[] = {"127.0.0.1", "::1"};
    const struct rcx_socket_root *root = &job->root;
    struct rcx_socket_client client = {
        .until_ns = rcx_now_ns() + HOLDER_MS * ms_ns,
        .key = rcx_socket_job_key(job, rcx_socket_job_secret(job)),
        .hello.purpose = RCX_SOCKET_JOIN};
    struct rcx_socket_addrs addrs = {.n = 0};
    struct rcx_socket_reply reply;
    struct rcx_socket_addr addr;
    int fd;

    for (int i = 0; i < root->n_ports; i++) {
        addr.port = root->ports[i];
        if (rcx_socket_ip_parse(root->host, &addr))
            rcx_socket_addrs_add(&addrs, &addr);
        for (int k = 0; k < 2; k++)
            if (rcx_socket_ip_parse(loopback[k], &addr))
                rcx_socket_addrs_add(&addrs, &addr);
    }
    if (!introduce(t, &client.hello) ||
        rcx_socket_client_connect(&client, &addrs, &reply, &fd) != RCX_OK)
        return RCX_OK;
    close(fd);
    return reply.verdict == RCX_SOCKET_REFUSED ? refused(t, &reply) : RCX_OK;
}
