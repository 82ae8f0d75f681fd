/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Freelist of requests, allocated in slabs.
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
        struct rcx_request_slab *slab = rcx_heap_zalloc(heap, sizeof *slab);

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
