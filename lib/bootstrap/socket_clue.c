/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Why ranks may not find rank 0, by what rank 0 sees: connections that it
 * refused, a file that names another process, a host name that is not its own.
 * Facts only: a rank may be missing for another reason.
 */
#include "bootstrap/socket_clue.h"

#include <errno.h>
#include <stdio.h>
#include <unistd.h>

#include "bootstrap/socket_job.h"
#include "core/base/clock.h"

static const uint64_t clue_ns = 500000000; /* for the name service */

static bool is_own(const struct rcx_socket_root *id,
                   const struct rcx_socket_root *own)
{
    return id->pid == own->pid && id->mark == own->mark &&
           rcx_socket_same(&id->key, &own->key);
}

static void look_at_file(const struct rcx_socket_job *job, char *text,
                         size_t bytes)
{
    struct rcx_socket_root id;
    char why[RCX_SOCKET_TEXT];

    if (!rcx_socket_file_read(job->root.path, &id, why, sizeof why))
        snprintf(text, bytes, "; rank 0 has written %.100s, and finds: %.100s",
                 job->where, why);
    else if (!is_own(&id, &job->root))
        snprintf(text, bytes,
                 "; process %d has written %.100s since: is it rank 0, too?",
                 (int)id.pid, job->where);
    else if (job->replaced_pid)
        snprintf(text, bytes,
                 "; %.100s was there before, of process %d: is that rank 0, "
                 "too?",
                 job->where, (int)job->replaced_pid);
}

/* Whether it is one of this host's addresses. */
static bool is_here(const struct rcx_socket_addr *addr)
{
    const int fd = rcx_socket_listen(addr, 0);

    if (fd < 0)
        return errno != EADDRNOTAVAIL;
    close(fd);
    return true;
}

static void look_at_host(const struct rcx_socket_root *root, char *text,
                         size_t bytes)
{
    struct rcx_socket_addrs addrs = {.n = 0};
    char why[RCX_SOCKET_TEXT], first[RCX_SOCKET_ADDR_TEXT];
    struct rcx_socket_addr literal;
    const bool is_literal = rcx_socket_ip_parse(root->host, &literal);

    if (!rcx_socket_resolve(root->host, root->ports, 1, rcx_now_ns() + clue_ns,
                            NULL, &addrs, why, sizeof why)) {
        snprintf(text, bytes, "; rank 0 does not find its own host, %.150s",
                 why);
        return;
    }
    for (int i = 0; i < addrs.n; i++)
        if (is_here(&addrs.at[i]))
            return;
    if (addrs.n == 0)
        return;
    rcx_socket_ip_print(&addrs.at[0], first, sizeof first);
    snprintf(text, bytes,
             "; rank 0's host does not have the address %s%s%.100s", first,
             is_literal ? "" : " of ", is_literal ? "" : root->host);
}

void rcx_socket_clue(const struct rcx_socket_tree *t, char *text, size_t bytes)
{
    const struct rcx_socket_job *job = t->job;
    char last[RCX_SOCKET_ADDR_TEXT];

    text[0] = '\0';
    if (t->server.has_refused) {
        rcx_socket_ip_print(&t->server.refused, last, sizeof last);
        snprintf(text, bytes,
                 "; rank 0 has refused a process on %s, which has another "
                 "secret, or belongs to another job",
                 last);
    } else if (job && job->root.by == RCX_SOCKET_BY_FILE) {
        look_at_file(job, text, bytes);
    } else if (job && job->root.by == RCX_SOCKET_BY_HOST && *job->root.host) {
        look_at_host(&job->root, text, bytes);
    }
}
