/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Endpoints of the transport over UCX: one for each peer, created at first use;
 * and what is said of peers and messages that are lost.
 */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "transport/ucp.h"
#include "transport/ucp_adjust.h"

/* ---- Losses ---------------------------------------------------------------- */

/* A peer's shared memory is mapped for a connection: 5 MB (ucp_adjust.c). */
enum { FDS_OF_A_CONNECTION = 8, BYTES_OF_A_CONNECTION = 8 << 20 };

/* Whether this process may open so many more. */
static bool has_descriptors(int n)
{
    int fds[FDS_OF_A_CONNECTION], opened = 0;
    bool has = true;

    while (opened < n && has) {
        const int fd = open("/dev/null", O_RDONLY | O_CLOEXEC);

        if (fd < 0 && errno != EMFILE && errno != ENFILE)
            break;
        has = fd >= 0;
        if (has)
            fds[opened++] = fd;
    }
    while (opened > 0)
        close(fds[--opened]);
    return has;
}

/* Whether this process may have as much more. Not by malloc(), which would raise
 * the size from which it takes pages of its own, for the whole process. */
static bool has_memory(void)
{
    void *at = mmap(NULL, BYTES_OF_A_CONNECTION, PROT_READ | PROT_WRITE,
                    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

    if (at != MAP_FAILED)
        munmap(at, BYTES_OF_A_CONNECTION);
    return at != MAP_FAILED;
}

static rcx_status_t lack_memory(struct ucp *u)
{
    snprintf(u->base.trouble, sizeof u->base.trouble,
             "this process has no memory left");
    return RCX_ERR_NOMEM;
}

static rcx_status_t lack_descriptors(struct ucp *u)
{
    snprintf(u->base.trouble, sizeof u->base.trouble,
             "this process may open no further descriptors (ulimit -n)");
    return RCX_ERR_LIMIT;
}

/* What this process itself lacks, where UCX says only that something failed. */
static rcx_status_t own_lack(struct ucp *u, ucs_status_t status)
{
    if (status == UCS_ERR_NO_MEMORY || !has_memory())
        return lack_memory(u);
    return has_descriptors(1) ? RCX_OK : lack_descriptors(u);
}

/* A message is lost; who gave it says so. */
rcx_status_t rcx_ucp_lose_message(struct rcx_transport *t, int peer,
                                  ucs_status_t status)
{
    const rcx_status_t lack = own_lack((struct ucp *)t, status);
    char whose[32] = "";

    if (lack != RCX_OK)
        return lack;
    if (peer >= 0)
        snprintf(whose, sizeof whose, " with rank %d", peer);
    snprintf(t->trouble, sizeof t->trouble, "a message%s is lost: %s", whose,
             ucs_status_string(status));
    if (t->dead && peer >= 0 && status == UCS_ERR_ENDPOINT_TIMEOUT) {
        rcx_transport_bury(t, peer); /* peer_died() may be late */
        return RCX_ERR_PEER_FAILED;
    }
    return RCX_ERR_TRANSPORT;
}

/* ---- Endpoints ------------------------------------------------------------- */

static void peer_died(void *arg, ucp_ep_h endpoint, ucs_status_t status)
{
    struct ucp *u = arg;

    (void)status;
    for (int i = 0; i < u->boot->size; i++)
        if (u->endpoints[i] == endpoint)
            rcx_transport_bury(&u->base, i);
}

/* Once is enough to find that out, and notes will not get there either. */
rcx_status_t rcx_ucp_lose(struct ucp *u, int peer, ucs_status_t status)
{
    const rcx_status_t lack = own_lack(u, status);

    if (lack != RCX_OK)
        return lack;
    u->lost[peer] = (signed char)status;
    if (status == UCS_ERR_CONNECTION_RESET && u->lane.pairs[peer]) {
        rcx_ucp_print_ended(u->boot, u->log, peer, u->lane.pairs[peer]->pid,
                            u->base.trouble, sizeof u->base.trouble);
        return RCX_ERR_PEER_FAILED;
    }
    rcx_ucp_print_lost(u->boot, u->log, peer, ucs_status_string(status),
                       u->base.trouble, sizeof u->base.trouble);
    return RCX_ERR_TRANSPORT;
}

/*
 * An endpoint that watches its peer maps no memory; a pair's is watched so. UCX
 * (1.13) ends the process where it lacks a descriptor on the way, and tries for
 * ever where it lacks memory.
 */
rcx_status_t rcx_ucp_connect(struct ucp *u, int peer,
                             const ucp_address_t *address)
{
    ucp_ep_params_t params = {.field_mask = UCP_EP_PARAM_FIELD_REMOTE_ADDRESS,
                              .address = address};
    ucs_status_t ucs;

    if (!has_descriptors(FDS_OF_A_CONNECTION))
        return lack_descriptors(u);
    if (!has_memory())
        return lack_memory(u);
    if (u->base.dead && !u->lane.pairs[peer]) {
        params.field_mask |= UCP_EP_PARAM_FIELD_ERR_HANDLING_MODE |
                             UCP_EP_PARAM_FIELD_ERR_HANDLER;
        params.err_mode = UCP_ERR_HANDLING_MODE_PEER;
        params.err_handler.cb = peer_died;
        params.err_handler.arg = u;
    }
    ucs = ucp_ep_create(u->worker, &params, &u->endpoints[peer]);
    if (ucs != UCS_OK)
        return rcx_ucp_lose(u, peer, ucs);
    u->base.endpoints++;
    rcx_ucp_tell_lanes(u->log,
                       u->boot->rank == 0 && u->base.endpoints == 1
                           ? RCX_LOG_INFO
                           : RCX_LOG_DEBUG,
                       peer, u->endpoints[peer]);
    return RCX_OK;
}

/* A rank that has gone may be the reason that a connection is not made: that is
 * for others to find out. */
rcx_status_t rcx_ucp_find_way(struct rcx_transport *t, int peer)
{
    struct ucp *u = (struct ucp *)t;
    const rcx_status_t status =
        u->endpoints[peer] ? RCX_OK : rcx_ucp_reach(u, peer);

    if (u->lost[peer] == UCS_OK || u->lost[peer] == UCS_ERR_UNREACHABLE)
        return status;
    t->trouble[0] = '\0';
    return RCX_OK;
}
