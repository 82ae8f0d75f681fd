/* SPDX-License-Identifier: BSD-3-Clause */
/* Executions of one plan, kept for reuse. */
#ifndef RCX_CORE_RUN_MEM_EXEC_POOL_H
#define RCX_CORE_RUN_MEM_EXEC_POOL_H

#include "core/exec/exec.h"
#include "core/run/mem/scratch.h"

struct rcx_exec_pool {
    struct rcx_exec *idle;
    bool owns_scratch; /* small scratch: part of each execution, not pooled */
    size_t scratch_bytes;
    struct rcx_plan *plan; /* owned by the pool; NULL: never opened */
    struct rcx_exec_setting setting;
    struct rcx_scratch *scratch;
    struct rcx_heap *heap;
};

/* Takes over plan. The caller sets the other fields. */
void rcx_pool_open(struct rcx_exec_pool *pool, struct rcx_plan *plan);
void rcx_pool_close(struct rcx_exec_pool *pool, struct rcx_heap *heap);

/* An execution with scratch. NULL: no memory. */
struct rcx_exec *rcx_exec_find(struct rcx_exec_pool *pool);
static inline struct rcx_exec *rcx_exec_get(struct rcx_exec_pool *pool)
{
    struct rcx_exec *x = pool->idle;

    if (__builtin_expect(!x || !pool->owns_scratch, 0))
        return rcx_exec_find(pool);
    pool->idle = x->next;
    return x;
}
static inline void rcx_exec_put(struct rcx_exec *x)
{
    struct rcx_exec_pool *pool = x->home;

    if (!pool->owns_scratch)
        rcx_scratch_put(pool->scratch, x->base[RCX_BUFFER_TMP],
                        pool->scratch_bytes);
    x->next = pool->idle;
    pool->idle = x;
}

/* The same while nothing else takes one: it stays in the pool, which costs
 * nothing. */
static inline struct rcx_exec *rcx_exec_lend(struct rcx_exec_pool *pool)
{
    struct rcx_exec *x = pool->idle;

    if (__builtin_expect(x && pool->owns_scratch, 1))
        return x;
    x = rcx_exec_find(pool);
    if (x && pool->owns_scratch)
        rcx_exec_put(x);
    return x;
}
static inline void rcx_exec_return(struct rcx_exec_pool *pool,
                                   struct rcx_exec *x)
{
    if (__builtin_expect(!pool->owns_scratch, 0))
        rcx_exec_put(x);
}
/* Keep the lent one. */
static inline void rcx_exec_keep(struct rcx_exec_pool *pool)
{
    if (pool->owns_scratch)
        pool->idle = pool->idle->next;
}

/* Free it; it does not return to the pool. */
void rcx_exec_destroy(struct rcx_exec *x);

#endif
