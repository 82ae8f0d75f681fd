/* SPDX-License-Identifier: BSD-3-Clause */
/* Memory that UCX makes known to the other ranks of a node. */
#ifndef RCX_TRANSPORT_UCP_MEMORY_H
#define RCX_TRANSPORT_UCP_MEMORY_H

#include <ucp/api/ucp.h>

struct ucp;
struct rcx_transport;

struct rcx_ucp_memory {
    ucp_mem_h handle; /* NULL: none */
    void *at, *key;
    size_t key_bytes;
};

/* Memory that others can map, at that address or, NULL, new; of an error
 * UCS_ERR_UNREACHABLE: they cannot. */
ucs_status_t rcx_ucp_memory_open(struct ucp *u, void *at, size_t bytes,
                                 struct rcx_ucp_memory *memory);
void rcx_ucp_memory_close(struct ucp *u, struct rcx_ucp_memory *memory);

/* Where a peer's is here. */
ucs_status_t rcx_ucp_memory_reach(struct ucp *u, int peer, const void *key,
                                  uint64_t address, ucp_rkey_h *rkey_p,
                                  void **at_p);

/* A transport's get_memory and put_memory; all that is left. */
void *rcx_ucp_get_memory(struct rcx_transport *t, void *at, size_t bytes);
void rcx_ucp_put_memory(struct rcx_transport *t, void *ptr);
void rcx_ucp_memory_close_all(struct ucp *u);

/* A lane's map and unmap. */
struct rcx_lane;
const void *rcx_ucp_map(struct rcx_lane *lane, int peer, const void *key,
                        uint64_t base, void **handle_p);
void rcx_ucp_unmap(struct rcx_lane *lane, void *handle);

#endif
