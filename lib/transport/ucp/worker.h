/* SPDX-License-Identifier: BSD-3-Clause */
/* The transport over UCX, from the inside. */
#ifndef RCX_TRANSPORT_UCP_WORKER_H
#define RCX_TRANSPORT_UCP_WORKER_H

#include <ucp/api/ucp.h>

#include "core/iface/bootstrap.h"
#include "core/iface/transport.h"
#include "transport/node/process.h"
#include "transport/ucp/lane.h"

/* Zero at first. */
struct rcx_window {
    _Alignas(RCX_LINE) _Atomic uint32_t asleep;
    _Alignas(
        RCX_LINE) _Atomic uint32_t doorbell; /* a note was sent to its owner */
    _Atomic uint32_t rests;                  /* who has given its core away */
    _Alignas(struct rcx_inbox) char inboxes[];
};

/* A rank with which this one has a pair. */
struct rcx_neighbour {
    struct rcx_pair pair;
    struct rcx_process process; /* the address: its window's */
    struct rcx_window *theirs;  /* its window here; NULL: not connected */
    bool is_missing;            /* its process was, when last looked for */
    ucp_rkey_h rkey;
};

struct ucp {
    struct rcx_transport base;
    ucp_worker_h worker;
    ucp_ep_h *endpoints; /* by rank; NULL: not connected yet */
    struct rcx_ucp_lane lane;
    unsigned pending; /* tagged messages under way */
    struct rcx_heap *heap;
    struct rcx_log *log;
    struct rcx_boot *boot;
    ucp_context_h context;
    ucp_address_t *address;
    size_t address_bytes;
    void *published; /* with the window's place in front */
    struct rcx_node node;
    signed char *lost; /* by rank: why no way leads to it, or why its endpoint
                          failed; or UCS_OK */
    bool wakeup;
    bool is_flushing;
    int flushes;                 /* of endpoints, and closes, not over */
    ucp_request_param_t sending; /* of both only user_data changes */
    ucp_request_param_t receiving;
    ucp_request_param_t matching; /* the same by mask */
};

/* NULL: there is no pair with peer, or it is not settled. */
static inline struct rcx_neighbour *rcx_ucp_neighbour(const struct ucp *u,
                                                      int peer)
{
    return (struct rcx_neighbour *)u->lane.pairs[peer];
}

enum {
    RCX_UCP_WITH_CALLBACK =
        UCP_OP_ATTR_FIELD_CALLBACK | UCP_OP_ATTR_FIELD_USER_DATA,
    RCX_UCP_AM_CTRL = 1, /* ids of active messages */
    RCX_UCP_WAKE = 2
};

/* Connect; what is said of an error is in base.last_error. */
rcx_status_t rcx_ucp_connect(struct ucp *u, int peer,
                             const ucp_address_t *address);
/* No way leads to peer; or this process lacks memory or descriptors, and may try
 * again. base.last_error says which. */
rcx_status_t rcx_ucp_lose(struct ucp *u, int peer, ucs_status_t status);
/* A message with peer (-1: any) is lost, or could not be posted. */
__attribute__((cold)) rcx_status_t
rcx_ucp_lose_message(struct rcx_transport *t, int peer, ucs_status_t status);
/* RCX_OK unless no transport leads to peer. */
rcx_status_t rcx_ucp_find_way(struct rcx_transport *t, int peer);
/* What UCX has to say of memory that it cannot share. */
size_t rcx_ucp_plain_key_bytes(struct ucp *u);
/* Memory that others can map, at that address or, NULL, new; of an error
 * UCS_ERR_UNREACHABLE: they cannot. */
ucs_status_t rcx_ucp_memory_open(struct ucp *u, void *at, size_t bytes,
                                 struct rcx_ucp_memory *memory);
void rcx_ucp_memory_close(struct ucp *u, struct rcx_ucp_memory *memory);
/* Where a peer's is here. */
ucs_status_t rcx_ucp_memory_reach(struct ucp *u, int peer, const void *key,
                                  uint64_t address, ucp_rkey_h *rkey_p,
                                  void **at_p);
ucs_status_t rcx_ucp_open_ctrl(struct ucp *u);
bool rcx_ucp_take_ctrl(struct rcx_transport *t, void *note, size_t bytes);
void rcx_ucp_send_ctrl(struct rcx_transport *t, int peer, const void *note,
                       size_t bytes);
void rcx_ucp_version(char *text, size_t bytes);

#endif
