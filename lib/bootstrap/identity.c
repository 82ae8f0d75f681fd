/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Claims a rank by binding a socket in the abstract namespace, which exists as
 * long as its process. A child may inherit the socket. So the process that
 * holds the claim is identified by the credentials that the kernel keeps for
 * the socket. Its name holds no secret: all users can read it, and can take it.
 */
#include "bootstrap/identity.h"

#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "core/base/hash.h"

/* Identify the job. Two launchers on one machine may give their jobs the same
 * name (Slurm numbers them), but they have different servers. A server sets a
 * variable for each version that it supports, in any order. */
static uint64_t hash_of(const char *job)
{
    static const char prefix[] = "PMIX_SERVER_URI";
    uint64_t hash = rcx_hash_text(job);

    for (char **entry = environ; entry && *entry; entry++)
        if (strncmp(*entry, prefix, sizeof prefix - 1) == 0)
            hash ^= rcx_hash_text(*entry);
    return hash;
}

static socklen_t name_of(const char *job, const char *rank,
                         struct sockaddr_un *name)
{
    int length;

    *name = (struct sockaddr_un){.sun_family = AF_UNIX};
    length = snprintf(name->sun_path + 1, sizeof name->sun_path - 1,
                      "rcx-rank-%u-%" PRIx64 "-%s", (unsigned)geteuid(),
                      hash_of(job), rank);
    if (length < 0 || (size_t)length >= sizeof name->sun_path - 1)
        return 0;
    return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 +
                       (size_t)length);
}

/* Return the process that listens on the socket, if it belongs to this user and
 * is alive; otherwise 0. A full backlog does not tell its user, so it counts as
 * another user's: that of a rank fills up by SOMAXCONN refused claims only. */
static pid_t holder_of(const struct sockaddr_un *name, socklen_t bytes)
{
    const int fd =
        socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    struct ucred peer = {.pid = 0};
    socklen_t size = sizeof peer;
    bool good;

    if (fd < 0)
        return 0;
    good = connect(fd, (const struct sockaddr *)name, bytes) == 0 &&
           getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) == 0 &&
           peer.uid == geteuid() && peer.pid > 0 && peer.pid != getpid() &&
           kill(peer.pid, 0) == 0;
    close(fd);
    return good ? peer.pid : 0;
}

pid_t rcx_identity_claim(const char *job, const char *rank)
{
    struct sockaddr_un name;
    const socklen_t bytes = name_of(job, rank, &name);
    const int fd = bytes ? socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0) : -1;
    pid_t holder = 0;

    if (fd < 0)
        return 0;
    if (bind(fd, (struct sockaddr *)&name, bytes) == 0 &&
        listen(fd, SOMAXCONN) == 0)
        return 0; /* the descriptor stays open */
    if (errno == EADDRINUSE)
        holder = holder_of(&name, bytes);
    close(fd);
    return holder;
}
