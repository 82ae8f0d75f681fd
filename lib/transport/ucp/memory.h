/* SPDX-License-Identifier: BSD-3-Clause */
/* Memory that UCX shares with the other ranks of a node. */
#ifndef RCX_TRANSPORT_UCP_MEMORY_H
#define RCX_TRANSPORT_UCP_MEMORY_H

#include <stddef.h>
#include <stdint.h>

struct ucp;
struct ucp_mem;
struct rcx_transport;

struct rcx_ucp_memory {
    struct ucp_mem *handle; /* NULL: none */
    void *at, *key;
    size_t key_bytes;
};

/* As in struct rcx_transport_ops; and free all that is left. */
void *rcx_ucp_get_memory(struct rcx_transport *t, void *at, size_t bytes);
void rcx_ucp_put_memory(struct rcx_transport *t, void *ptr);
size_t rcx_ucp_memory_key(struct rcx_transport *t, const void *ptr,
                          const void **key_p);
void *rcx_ucp_reach_memory(struct rcx_transport *t, void *ptr, int peer,
                           const void *key, uint64_t base);
void rcx_ucp_memory_close_all(struct ucp *u);

/* map and unmap of a lane. */
struct rcx_shm_lane;
const void *rcx_ucp_map(struct rcx_shm_lane *lane, int peer, const void *key,
                        uint64_t base, void **handle_p);
void rcx_ucp_unmap(struct rcx_shm_lane *lane, void *handle);

#endif
