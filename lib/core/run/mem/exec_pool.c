/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Pools of executions.
 */
#include "core/run/mem/exec_pool.h"

enum { OWN_SCRATCH = 4096 };

void rcx_pool_open(struct rcx_exec_pool *pool, struct rcx_plan *plan)
{
    pool->plan = plan;
    pool->scratch_bytes = plan->scratch * pool->setting.reducer->elem_bytes;
    pool->owns_scratch = pool->scratch_bytes <= OWN_SCRATCH;
}

void rcx_pool_close(struct rcx_exec_pool *pool, struct rcx_heap *heap)
{
    while (pool->idle) {
        struct rcx_exec *x = pool->idle;

        pool->idle = x->next;
        rcx_heap_free(heap, x);
    }
    rcx_heap_free(heap, pool->plan);
}

static struct rcx_exec *new_exec(struct rcx_exec_pool *pool)
{
    const size_t bytes = (rcx_exec_bytes(pool->plan) + 63) & ~(size_t)63;
    struct rcx_exec *x = rcx_heap_alloc_lines(
        pool->heap, bytes + (pool->owns_scratch ? pool->scratch_bytes : 0));

    if (!x)
        return NULL;
    rcx_exec_init(x, pool->plan, &pool->setting);
    x->home = pool;
    x->base[RCX_BUFFER_TMP] = pool->owns_scratch ? (char *)x + bytes : NULL;
    return x;
}

struct rcx_exec *rcx_exec_find(struct rcx_exec_pool *pool)
{
    struct rcx_exec *x = pool->idle;

    if (x)
        pool->idle = x->next;
    else
        x = new_exec(pool);
    if (!x || pool->owns_scratch)
        return x;
    x->base[RCX_BUFFER_TMP] =
        rcx_scratch_get(pool->scratch, pool->heap, pool->scratch_bytes);
    if (x->base[RCX_BUFFER_TMP])
        return x;
    rcx_exec_put(x);
    return NULL;
}

void rcx_exec_destroy(struct rcx_exec *x)
{
    struct rcx_exec_pool *pool = x->home;

    if (!pool->owns_scratch)
        rcx_scratch_put(pool->scratch, x->base[RCX_BUFFER_TMP],
                        pool->scratch_bytes);
    rcx_heap_free(pool->heap, x);
}
