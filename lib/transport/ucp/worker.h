/* SPDX-License-Identifier: BSD-3-Clause */
/* The transport over UCX: its state, shared by the files of this folder. */
#ifndef RCX_TRANSPORT_UCP_WORKER_H
#define RCX_TRANSPORT_UCP_WORKER_H

#include <ucp/api/ucp.h>

#include "core/iface/bootstrap.h"
#include "core/iface/transport.h"
#include "transport/node/process.h"
#include "transport/ucp/lane.h"

/* Initially zero. */
struct rcx_shm_segment {
    _Alignas(RCX_LINE) _Atomic uint32_t asleep;
    _Alignas(RCX_LINE) _Atomic uint32_t
        doorbell;              /* a control message was sent to the owner */
    _Atomic uint32_t off_core; /* the owner has released its core */
    _Alignas(struct rcx_shm_fifo) char fifos[];
};

/* A rank with which this one has a channel. */
struct rcx_neighbour {
    struct rcx_shm_channel channel;
    struct rcx_watched watched;
    struct rcx_shm_segment
        *theirs; /* its segment, mapped here; NULL: not connected */
    ucp_rkey_h rkey;
};

struct ucp {
    struct rcx_transport base;
    ucp_worker_h worker;
    ucp_ep_h *endpoints; /* by rank; NULL: not connected yet */
    struct rcx_ucp_lane lane;
    unsigned pending; /* tagged messages in flight */
    struct rcx_heap *heap;
    struct rcx_log *log;
    struct rcx_boot *boot;
    ucp_context_h context;
    ucp_address_t *address;
    size_t address_bytes;
    void *published; /* address of the segment in front */
    struct rcx_node node;
    signed char *ep_status; /* by rank: why it cannot be reached, or why its
                               endpoint failed; or UCS_OK */
    bool wakeup;
    bool ucx_watches_node; /* as in struct rcx_transport_args */
    bool is_flushing;
    int flushes;                 /* endpoint flushes and closes in progress */
    ucp_request_param_t sending; /* only user_data changes between uses */
    ucp_request_param_t receiving;
    ucp_request_param_t matching; /* the same, by mask */
};

/* NULL: no channel with peer, or not chosen yet. */
static inline struct rcx_neighbour *rcx_ucp_neighbour(const struct ucp *u,
                                                      int peer)
{
    return (struct rcx_neighbour *)u->lane.channels[peer];
}

enum {
    RCX_UCP_WITH_CALLBACK =
        UCP_OP_ATTR_FIELD_CALLBACK | UCP_OP_ATTR_FIELD_USER_DATA,
    RCX_UCP_AM_CTRL = 1, /* ids of active messages */
    RCX_UCP_WAKE = 2
};

/* Connect. On an error, base.last_error gives the reason. */
rcx_status_t rcx_ucp_connect(struct ucp *u, int peer,
                             const ucp_address_t *address);
/* No transport leads to peer; or this process lacks memory or descriptors, and
 * may retry. base.last_error gives the reason. */
rcx_status_t rcx_ucp_set_unreachable(struct ucp *u, int peer,
                                     ucs_status_t status);
/* A message with peer (-1: any) has failed, or could not be posted. */
__attribute__((cold)) rcx_status_t
rcx_ucp_message_failed(struct rcx_transport *t, int peer, ucs_status_t status);
/* RCX_OK unless no transport leads to peer. */
rcx_status_t rcx_ucp_find_way(struct rcx_transport *t, int peer);
/* Bytes of the key of memory that UCX cannot share. */
size_t rcx_ucp_plain_key_bytes(struct ucp *u);
/* Memory that other ranks can map: at the given address or, if NULL, new.
 * UCS_ERR_UNREACHABLE: they cannot map it. */
ucs_status_t rcx_ucp_memory_open(struct ucp *u, void *at, size_t bytes,
                                 struct rcx_ucp_memory *memory);
void rcx_ucp_memory_close(struct ucp *u, struct rcx_ucp_memory *memory);
/* Map a peer's memory. */
ucs_status_t rcx_ucp_memory_reach(struct ucp *u, int peer, const void *key,
                                  uint64_t address, ucp_rkey_h *rkey_p,
                                  void **at_p);
ucs_status_t rcx_ucp_open_ctrl(struct ucp *u);
void rcx_ucp_send_ctrl(struct rcx_transport *t, int peer, const void *note,
                       size_t bytes);
void rcx_ucp_version(char *text, size_t bytes);

#endif
