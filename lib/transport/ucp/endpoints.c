/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Endpoints, one for each peer, created at first use; and the errors of peers
 * and messages.
 */
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "core/base/descriptors.h"
#include "core/iface/peer.h"
#include "transport/ucp/adjust.h"
#include "transport/ucp/worker.h"

/* ---- Errors -------------------------------------------------------------- */

/* A connection maps the peer's shared memory: 5 MB (adjust.c). */
enum { FDS_OF_A_CONNECTION = 8, BYTES_OF_A_CONNECTION = 8 << 20 };

/* Whether this process may allocate more. Not by malloc(), which would raise
 * its mmap threshold for the whole process. */
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
    snprintf(u->base.last_error, sizeof u->base.last_error,
             "this process is out of memory");
    return RCX_ERR_NOMEM;
}

static rcx_status_t lack_descriptors(struct ucp *u)
{
    snprintf(u->base.last_error, sizeof u->base.last_error,
             "this process may open no further descriptors (ulimit -n)");
    return RCX_ERR_LIMIT;
}

/* What this process itself lacks, if UCX tells only that something failed. */
static rcx_status_t own_lack(struct ucp *u, ucs_status_t status)
{
    if (status == UCS_ERR_NO_MEMORY || !has_memory())
        return lack_memory(u);
    return rcx_has_descriptors(1) ? RCX_OK : lack_descriptors(u);
}

/* How sends end whose endpoint has failed: UCX cancels those behind the first.
 * RCX cancels receives only. */
static bool is_of_peer(ucs_status_t status)
{
    return status == UCS_ERR_ENDPOINT_TIMEOUT ||
           status == UCS_ERR_CONNECTION_RESET || status == UCS_ERR_CANCELED;
}

/* A message has failed. The caller reports it. */
rcx_status_t rcx_ucp_message_failed(struct rcx_transport *t, int peer,
                                    ucs_status_t status)
{
    const rcx_status_t lack = own_lack((struct ucp *)t, status);
    char whose[32] = "";

    if (lack != RCX_OK)
        return lack;
    if (peer >= 0)
        snprintf(whose, sizeof whose, " from or to rank %d", peer);
    snprintf(t->last_error, sizeof t->last_error, "a message%s is lost: %s",
             whose, ucs_status_string(status));
    if (peer < 0 || !is_of_peer(status))
        return RCX_ERR_TRANSPORT;
    if (t->failed_peers)
        rcx_transport_peer_failed(t,
                                  peer); /* UCX may call peer_failed() later */
    return RCX_ERR_PEER_FAILED;
}

/* ---- Endpoints ----------------------------------------------------------- */

/* Messages of this endpoint end with an error from now on. A lack of memory or
 * descriptors of this process is not the peer's failure. */
static void peer_failed(void *arg, ucp_ep_h endpoint, ucs_status_t status)
{
    struct ucp *u = arg;

    for (int i = 0; i < u->boot->size; i++) {
        if (u->endpoints[i] != endpoint)
            continue;
        u->ep_status[i] = (signed char)status;
        if (u->base.failed_peers && has_memory() && rcx_has_descriptors(1))
            rcx_transport_peer_failed(&u->base, i);
    }
}

/* Remember that the peer cannot be reached. Control messages will not reach it
 * either. */
rcx_status_t rcx_ucp_set_unreachable(struct ucp *u, int peer,
                                     ucs_status_t status)
{
    const rcx_status_t lack = own_lack(u, status);
    const struct rcx_watched *w = u->lane.watched[peer];

    if (lack != RCX_OK)
        return lack;
    u->ep_status[peer] = (signed char)status;
    if (status == UCS_ERR_CONNECTION_RESET && w) {
        rcx_ucp_print_ended(u->boot, u->log, peer, w->process.pid,
                            u->base.last_error, sizeof u->base.last_error);
        return RCX_ERR_PEER_FAILED;
    }
    rcx_ucp_print_lost(u->boot, u->log, peer, ucs_status_string(status),
                       u->base.last_error, sizeof u->base.last_error);
    return RCX_ERR_TRANSPORT;
}

/*
 * If a peer fails, UCX aborts this process where the endpoint has no error
 * handling and the network reports failures (rc, dc). So endpoints that leave
 * the node have it. Within the node it would exclude shared memory: endpoints
 * have it only if the user wants that, and there is no channel. The liveness
 * probe watches all peers of the node.
 */
static bool handles_errors(const struct ucp *u, int peer)
{
    return rcx_peer_node(u->boot, u->log, peer) != u->node.caps.node ||
           (u->ucx_watches_node && !u->lane.channels[peer]);
}

static ucs_status_t create(struct ucp *u, int peer,
                           const ucp_address_t *address, bool handles_errors)
{
    ucp_ep_params_t params = {.field_mask = UCP_EP_PARAM_FIELD_REMOTE_ADDRESS,
                              .address = address};

    if (handles_errors) {
        params.field_mask |= UCP_EP_PARAM_FIELD_ERR_HANDLING_MODE |
                             UCP_EP_PARAM_FIELD_ERR_HANDLER;
        params.err_mode = UCP_ERR_HANDLING_MODE_PEER;
        params.err_handler.cb = peer_failed;
        params.err_handler.arg = u;
    }
    return ucp_ep_create(u->worker, &params, &u->endpoints[peer]);
}

/*
 * UCX 1.13 ends the process if it lacks a descriptor meanwhile, and retries for
 * ever if it lacks memory. A transport that the user has chosen may not report
 * failures: then it has nothing to abort for either.
 */
rcx_status_t rcx_ucp_connect(struct ucp *u, int peer,
                             const ucp_address_t *address)
{
    ucs_status_t ucs;

    if (!rcx_has_descriptors(FDS_OF_A_CONNECTION))
        return lack_descriptors(u);
    if (!has_memory())
        return lack_memory(u);
    ucs = create(u, peer, address, handles_errors(u, peer));
    if (ucs == UCS_ERR_UNREACHABLE && !u->ucx_watches_node)
        ucs = create(u, peer, address, false);
    if (ucs != UCS_OK)
        return rcx_ucp_set_unreachable(u, peer, ucs);
    u->base.endpoints++;
    rcx_ucp_log_lanes(u->log,
                      u->boot->rank == 0 && u->base.endpoints == 1
                          ? RCX_LOG_INFO
                          : RCX_LOG_DEBUG,
                      peer, u->endpoints[peer]);
    return RCX_OK;
}

/* A connection may fail because another rank has ended. Other checks find
 * that. */
rcx_status_t rcx_ucp_find_way(struct rcx_transport *t, int peer)
{
    struct ucp *u = (struct ucp *)t;
    const rcx_status_t status =
        u->endpoints[peer] ? RCX_OK : rcx_ucp_reach(u, peer);

    if (u->ep_status[peer] == UCS_OK ||
        u->ep_status[peer] == UCS_ERR_UNREACHABLE)
        return status;
    t->last_error[0] = '\0';
    return RCX_OK;
}
