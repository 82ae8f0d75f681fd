/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Memory that peers map: segments, and blocks of rcx_mem_alloc().
 */
#include "transport/ucp/memory.h"

#include "transport/node/segment.h"
#include "transport/shm/mapped.h"
#include "transport/ucp/worker.h"

/* Each block is a region, a descriptor that UCX keeps open, and a mapping in
 * each peer. */
enum { BLOCKS_MOST = 256 };

/* A peer's block, reached by the user of a block. */
struct reached {
    struct reached *next;
    int peer;
    uint64_t base;
    void *at, *handle;
};

/* Memory given to the user. */
struct rcx_ucp_block {
    struct rcx_ucp_block *next;
    struct rcx_ucp_memory memory;
    struct rcx_region *region;
    struct reached *reached;
};

/* ---- Memory -------------------------------------------------------------- */

size_t rcx_ucp_plain_key_bytes(struct ucp *u)
{
    char plain[RCX_LINE];
    const ucp_mem_map_params_t params = {.field_mask =
                                             UCP_MEM_MAP_PARAM_FIELD_ADDRESS |
                                             UCP_MEM_MAP_PARAM_FIELD_LENGTH,
                                         .address = plain,
                                         .length = sizeof plain};
    ucp_mem_h memory;
    void *key;
    size_t bytes = 0;

    if (ucp_mem_map(u->context, &params, &memory) != UCS_OK)
        return 0;
    if (ucp_rkey_pack(u->context, memory, &key, &bytes) == UCS_OK)
        ucp_rkey_buffer_release(key);
    ucp_mem_unmap(u->context, memory);
    return bytes;
}

ucs_status_t rcx_ucp_memory_open(struct ucp *u, void *at, size_t bytes,
                                 struct rcx_ucp_memory *memory)
{
    const ucp_mem_map_params_t params = {
        .field_mask = UCP_MEM_MAP_PARAM_FIELD_ADDRESS |
                      UCP_MEM_MAP_PARAM_FIELD_LENGTH |
                      UCP_MEM_MAP_PARAM_FIELD_FLAGS,
        .address = at,
        .length = bytes,
        .flags = at ? 0 : UCP_MEM_MAP_ALLOCATE | UCP_MEM_MAP_NONBLOCK};
    ucp_mem_attr_t attr = {.field_mask = UCP_MEM_ATTR_FIELD_ADDRESS};
    ucs_status_t status;

    *memory = (struct rcx_ucp_memory){.handle = NULL};
    status = ucp_mem_map(u->context, &params, &memory->handle);
    if (status != UCS_OK) {
        memory->handle = NULL;
        return status;
    }
    status = ucp_mem_query(memory->handle, &attr);
    if (!at)
        rcx_segment_make_all_private();
    if (status == UCS_OK)
        status = ucp_rkey_pack(u->context, memory->handle, &memory->key,
                               &memory->key_bytes);
    memory->at = attr.address;
    if (status == UCS_OK && memory->key_bytes <= u->lane.plain_key_bytes)
        status = UCS_ERR_UNREACHABLE;
    if (status != UCS_OK)
        rcx_ucp_memory_close(u, memory);
    return status;
}

void rcx_ucp_memory_close(struct ucp *u, struct rcx_ucp_memory *memory)
{
    if (memory->key)
        ucp_rkey_buffer_release(memory->key);
    if (memory->handle)
        ucp_mem_unmap(u->context, memory->handle);
    *memory = (struct rcx_ucp_memory){.handle = NULL};
}

/* UCX 1.13 to 1.18 frees what it has not made yet, and crashes, if one part of
 * a key has no memory any more. So the memory is kept meanwhile, in case its
 * process is killed. */
ucs_status_t rcx_ucp_memory_reach(struct ucp *u, int peer, const void *key,
                                  uint64_t address, ucp_rkey_h *rkey_p,
                                  void **at_p)
{
    struct rcx_neighbour *n = rcx_ucp_neighbour(u, peer);
    ucs_status_t status = UCS_ERR_CONNECTION_RESET;
    void *held = NULL;

    if (rcx_process_is_there(&n->watched.process) &&
        rcx_segment_get(n->watched.process.pid, address, &held))
        status = ucp_ep_rkey_unpack(u->endpoints[peer], key, rkey_p);
    rcx_segment_put(held);
    if (status == UCS_OK)
        return ucp_rkey_ptr(*rkey_p, address, at_p);
    *rkey_p = NULL;
    return status;
}

/* ---- Blocks -------------------------------------------------------------- */

void *rcx_ucp_get_memory(struct rcx_transport *t, void *at, size_t bytes)
{
    struct ucp *u = (struct ucp *)t;
    struct rcx_ucp_block *block;
    struct rcx_ucp_memory *m;

    if (!u->lane.segment || u->lane.base.regions.count == BLOCKS_MOST)
        return NULL;
    /* Shorter messages are not read where they are. Peers may load and store in
     * a block of any size, but in allocated memory only. */
    if (at && bytes < u->lane.base.settings.direct)
        return NULL;
    block = rcx_heap_zalloc(u->heap, sizeof *block);
    if (!block)
        return NULL;
    m = &block->memory;
    if (rcx_ucp_memory_open(u, at, bytes, m) == UCS_OK)
        block->region = rcx_region_expose(&u->lane.base, m->at, bytes, m->key,
                                          m->key_bytes);
    if (!block->region) {
        rcx_ucp_memory_close(u, m);
        rcx_heap_free(u->heap, block);
        return NULL;
    }
    block->next = u->lane.blocks;
    u->lane.blocks = block;
    return m->at;
}

static void tell_gone(struct ucp *u)
{
    for (int i = 0; i < u->boot->size; i++)
        if (u->lane.outs[i] && u->lane.base.gone)
            rcx_region_announce_gone(u->lane.outs[i]);
}

static void free_block(struct ucp *u, struct rcx_ucp_block *block)
{
    while (block->reached) {
        struct reached *r = block->reached;

        block->reached = r->next;
        ucp_rkey_destroy(r->handle);
        rcx_heap_free(u->heap, r);
    }
    rcx_ucp_memory_close(u, &block->memory);
    rcx_heap_free(u->heap, block);
}

void rcx_ucp_put_memory(struct rcx_transport *t, void *ptr)
{
    struct ucp *u = (struct ucp *)t;
    struct rcx_ucp_block **link = &u->lane.blocks, *block;

    while ((*link)->memory.at != ptr)
        link = &(*link)->next;
    block = *link;
    *link = block->next;
    rcx_region_withdraw(&u->lane.base, block->region);
    tell_gone(u);
    free_block(u, block);
}

void rcx_ucp_memory_close_all(struct ucp *u)
{
    while (u->lane.blocks) {
        struct rcx_ucp_block *block = u->lane.blocks;

        u->lane.blocks = block->next;
        free_block(u, block);
    }
    rcx_region_close_all(&u->lane.base);
}

/* ---- Memory of peers ----------------------------------------------------- */

const void *rcx_ucp_map(struct rcx_shm_lane *lane, int peer, const void *key,
                        uint64_t base, void **handle_p)
{
    struct ucp *u = (struct ucp *)lane->transport;
    ucp_rkey_h rkey = NULL;
    void *at = NULL;

    if ((u->lane.outs[peer] || lane->reach(lane, peer)) &&
        rcx_ucp_memory_reach(u, peer, key, base, &rkey, &at) == UCS_OK) {
        *handle_p = rkey;
        return at;
    }
    if (rkey)
        ucp_rkey_destroy(rkey);
    return NULL;
}

void rcx_ucp_unmap(struct rcx_shm_lane *lane, void *handle)
{
    (void)lane;
    ucp_rkey_destroy(handle);
}

static struct rcx_ucp_block *find_block(struct ucp *u, const void *ptr)
{
    struct rcx_ucp_block *block = u->lane.blocks;

    while (block && block->memory.at != ptr)
        block = block->next;
    return block;
}

size_t rcx_ucp_memory_key(struct rcx_transport *t, const void *ptr,
                          const void **key_p)
{
    const struct rcx_ucp_block *block = find_block((struct ucp *)t, ptr);

    *key_p = block ? block->memory.key : NULL;
    return block ? block->memory.key_bytes : 0;
}

void *rcx_ucp_reach_memory(struct rcx_transport *t, void *ptr, int peer,
                           const void *key, uint64_t base)
{
    struct ucp *u = (struct ucp *)t;
    struct rcx_ucp_block *block = find_block(u, ptr);
    struct reached *r = block ? block->reached : NULL;

    while (r && (r->peer != peer || r->base != base))
        r = r->next;
    if (r || !block || !u->lane.channels[peer])
        return r ? r->at : NULL;
    r = rcx_heap_zalloc(u->heap, sizeof *r);
    if (!r)
        return NULL;
    r->at = (void *)rcx_ucp_map(&u->lane.base, peer, key, base, &r->handle);
    if (!r->at) {
        rcx_heap_free(u->heap, r);
        return NULL;
    }
    r->peer = peer;
    r->base = base;
    r->next = block->reached;
    block->reached = r;
    return r->at;
}
