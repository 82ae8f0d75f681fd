/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Freelist of requests, allocated in slabs, and requests taken from it.
 */
#include "core/run/request/request_pool.h"

#include "core/run/request/request.h"

enum { SLAB = 32 };

struct rcx_request_slab {
    struct rcx_request_slab *next;
    struct rcx_request requests[SLAB];
};

struct rcx_request *rcx_requests_get(struct rcx_requests *pool,
                                     struct rcx_heap *heap)
{
    struct rcx_request *r = pool->free;

    if (!r) {
        struct rcx_request_slab *slab =
            rcx_heap_zalloc_lines(heap, sizeof *slab);

        if (!slab)
            return NULL;
        slab->next = pool->slabs;
        pool->slabs = slab;
        for (int i = SLAB - 1; i >= 0; i--) {
            slab->requests[i].free_next = r;
            r = &slab->requests[i];
        }
    }
    pool->free = r->free_next;
    return r;
}

void rcx_requests_put(struct rcx_requests *pool, struct rcx_request *r)
{
    r->state = RCX_REQUEST_FREE;
    r->free_next = pool->free;
    pool->free = r;
}

void rcx_requests_free(struct rcx_requests *pool, struct rcx_heap *heap)
{
    while (pool->slabs) {
        struct rcx_request_slab *slab = pool->slabs;

        pool->slabs = slab->next;
        rcx_heap_free(heap, slab);
    }
}

rcx_status_t rcx_request_create(struct rcx_comm *comm,
                                struct rcx_program *program, const void *in,
                                void *out, struct rcx_request **request_p)
{
    struct rcx_context *context = comm->context;
    struct rcx_request *r =
        rcx_requests_get(&context->requests, &context->heap);
    rcx_status_t status;

    if (!r) {
        rcx_program_unpin(comm->cache, program);
        return rcx_fail(&context->log, RCX_ERR_NOMEM,
                        "no memory for a request");
    }
    status = rcx_request_fill(r, comm, program, in, out);
    if (status != RCX_OK) {
        rcx_request_clear(r);
        rcx_requests_put(&context->requests, r);
        return status;
    }
    *request_p = r;
    return RCX_OK;
}
