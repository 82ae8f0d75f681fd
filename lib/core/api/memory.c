/* SPDX-License-Identifier: BSD-3-Clause */
/* rcx_mem_alloc() and related functions. */
#include <string.h>

#include "core/api/arguments.h"
#include "core/run/wait/enter.h"

rcx_status_t rcx_mem_alloc(rcx_comm_t *comm, size_t bytes, void **ptr_p)
{
    struct rcx_context *context;
    rcx_status_t status;
    void *ptr;

    if (!rcx_comm_is_valid(comm))
        return rcx_bad_handle("mem_alloc", "comm", comm);
    if (!ptr_p)
        return rcx_missing(&comm->context->log, "rcx_mem_alloc: ptr_p");
    context = comm->context;
    status = rcx_comm_enter(comm);
    if (status != RCX_OK)
        return status;
    ptr = rcx_memory_get(&context->memory, &context->heap, context->transport,
                         bytes);
    if (ptr)
        *ptr_p = ptr;
    else
        status = rcx_fail(&context->log, RCX_ERR_NOMEM,
                          "rcx_mem_alloc: bytes=%zu: no memory", bytes);
    rcx_comm_leave(comm);
    return status;
}

/* ---- Of peers ------------------------------------------------------------ */

/* What each rank tells the others of its block. The length of a key depends on
 * how many transports of UCX share memory. */
struct block {
    uint64_t base;
    uint64_t key_bytes; /* 0: it cannot be mapped */
    unsigned char key[496];
};

/* Check ptr. */
static bool describe(struct rcx_context *context, const void *ptr,
                     struct block *block)
{
    struct rcx_transport *t = context->transport;
    const void *key = NULL;

    *block = (struct block){.base = (uintptr_t)ptr};
    if (!rcx_memory_find(&context->memory, ptr))
        return false;
    if (t && t->ops->memory_key)
        block->key_bytes = t->ops->memory_key(t, ptr, &key);
    if (block->key_bytes > sizeof block->key)
        block->key_bytes = 0;
    if (block->key_bytes > 0)
        memcpy(block->key, key, block->key_bytes);
    return true;
}

static void reach(rcx_comm_t *comm, void *ptr, const struct block blocks[],
                  void *peers[])
{
    struct rcx_transport *t = comm->context->transport;

    for (int i = 0; i < comm->size; i++)
        peers[i] =
            blocks[i].key_bytes == 0
                ? NULL
                : t->ops->reach_memory(t, ptr, rcx_comm_context_rank(comm, i),
                                       blocks[i].key, blocks[i].base);
    peers[comm->rank] = ptr;
}

/* Allocate the records of all ranks, and fill in this rank's. */
static rcx_status_t begin(rcx_comm_t *comm, void *ptr, struct block **blocks_p,
                          bool *is_good_p)
{
    struct rcx_context *context = comm->context;
    rcx_status_t status = rcx_comm_enter(comm);
    struct block *blocks;

    if (status != RCX_OK)
        return status;
    blocks =
        rcx_heap_zalloc(&context->heap, (size_t)comm->size * sizeof *blocks);
    if (blocks)
        *is_good_p = describe(context, ptr, &blocks[comm->rank]);
    else
        status = rcx_fail(&context->log, RCX_ERR_NOMEM,
                          "rcx_mem_peers: no memory for the keys of %d ranks",
                          comm->size);
    rcx_comm_leave(comm);
    *blocks_p = blocks;
    return status;
}

static rcx_status_t end(rcx_comm_t *comm, void *ptr, struct block *blocks,
                        void *peers[], bool maps)
{
    struct rcx_context *context = comm->context;
    const rcx_status_t status = rcx_enter(context);

    if (status != RCX_OK)
        return status;
    if (maps)
        reach(comm, ptr, blocks, peers);
    rcx_heap_free(&context->heap, blocks);
    rcx_leave(context);
    return RCX_OK;
}

/* A rank with a wrong ptr takes part, so that no rank waits for it. The barrier
 * keeps the blocks until all ranks have mapped them. */
rcx_status_t rcx_mem_peers(rcx_comm_t *comm, void *ptr, void *peers[])
{
    struct block *blocks;
    rcx_status_t status, ended;
    bool is_good;

    if (!rcx_comm_is_valid(comm))
        return rcx_bad_handle("mem_peers", "comm", comm);
    if (!peers)
        return rcx_missing(&comm->context->log, "rcx_mem_peers: peers");
    status = begin(comm, ptr, &blocks, &is_good);
    if (status != RCX_OK)
        return status;
    status =
        rcx_allgather(RCX_IN_PLACE, blocks, sizeof *blocks, RCX_BYTE, comm);
    ended = end(comm, ptr, blocks, peers, status == RCX_OK && is_good);
    if (status == RCX_OK)
        status = ended;
    if (status == RCX_OK)
        status = rcx_barrier(comm);
    if (status == RCX_OK && !is_good)
        status =
            rcx_fail(&comm->context->log, RCX_ERR_ARG,
                     "rcx_mem_peers: ptr=%p: not from rcx_mem_alloc()", ptr);
    return status;
}

/* ---- Given back, lent ---------------------------------------------------- */

static rcx_status_t put(const char *call, rcx_comm_t *comm, void *ptr,
                        bool is_lent, const char *otherwise)
{
    struct rcx_context *context;
    rcx_status_t status;

    if (!rcx_comm_is_valid(comm))
        return rcx_bad_handle(call, "comm", comm);
    context = comm->context;
    status = rcx_comm_enter(comm);
    if (status != RCX_OK)
        return status;
    if (!rcx_memory_put(&context->memory, &context->heap, ptr, is_lent))
        status = rcx_fail(&context->log, RCX_ERR_ARG, "rcx_%s: ptr=%p: %s",
                          call, ptr, otherwise);
    rcx_comm_leave(comm);
    return status;
}

rcx_status_t rcx_mem_free(rcx_comm_t *comm, void *ptr)
{
    return rcx_comm_is_valid(comm) && !ptr
               ? RCX_OK
               : put("mem_free", comm, ptr, false, "not from rcx_mem_alloc()");
}

static rcx_status_t lend(struct rcx_context *context, void *ptr, size_t bytes)
{
    if (!ptr && bytes > 0)
        return rcx_missing(&context->log, "rcx_mem_register: ptr");
    if (bytes > UINTPTR_MAX - (uintptr_t)ptr)
        return rcx_fail(
            &context->log, RCX_ERR_ARG,
            "rcx_mem_register: bytes=%zu: exceeds the address space from "
            "ptr=%p on",
            bytes, ptr);
    if (!rcx_is_on_host(&context->gpu, ptr))
        return rcx_gpu_refuse(&context->log, "ptr", ptr);
    if (rcx_memory_overlaps(&context->memory, ptr, bytes))
        return rcx_fail(
            &context->log, RCX_ERR_ARG,
            "rcx_mem_register: ptr=%p: overlaps memory that is registered or "
            "allocated by RCX already",
            ptr);
    return rcx_memory_lend(&context->memory, &context->heap, context->transport,
                           ptr, bytes)
               ? RCX_OK
               : rcx_fail(&context->log, RCX_ERR_NOMEM,
                          "rcx_mem_register: no memory to record the "
                          "registration");
}

rcx_status_t rcx_mem_register(rcx_comm_t *comm, void *ptr, size_t bytes)
{
    rcx_status_t status;

    if (!rcx_comm_is_valid(comm))
        return rcx_bad_handle("mem_register", "comm", comm);
    status = rcx_comm_enter(comm);
    if (status != RCX_OK)
        return status;
    status = lend(comm->context, ptr, bytes);
    rcx_comm_leave(comm);
    return status;
}

rcx_status_t rcx_mem_deregister(rcx_comm_t *comm, void *ptr)
{
    return put("mem_deregister", comm, ptr, true,
               "not registered by rcx_mem_register()");
}
