/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * All heap use of RCX: counted, so that a test can show that a repeated call
 * allocates nothing, and limited by a budget, so that a test can fail each
 * allocation in turn.
 */
#ifndef RCX_CORE_BASE_HEAP_H
#define RCX_CORE_BASE_HEAP_H

#include <stddef.h>
#include <stdint.h>

struct rcx_heap {
    uint64_t calls;  /* allocations so far */
    uint64_t live;   /* blocks not freed yet */
    uint64_t budget; /* allocations that may still succeed */
};

#define RCX_HEAP_INIT ((struct rcx_heap){.budget = UINT64_MAX})

/* NULL if memory or the budget ran out. Aligned for any type. */
void *rcx_heap_alloc(struct rcx_heap *heap, size_t bytes);
void *rcx_heap_zalloc(struct rcx_heap *heap, size_t bytes);
/* The same, aligned to 64 bytes, which takes several times as long: for data of
 * users, and for what each call or message uses. */
void *rcx_heap_alloc_lines(struct rcx_heap *heap, size_t bytes);
void *rcx_heap_zalloc_lines(struct rcx_heap *heap, size_t bytes);
/* Grow a block from old_bytes to new_bytes; ptr stays valid on failure. */
void *rcx_heap_grow(struct rcx_heap *heap, void *ptr, size_t old_bytes,
                    size_t new_bytes);
void rcx_heap_free(struct rcx_heap *heap, void *ptr); /* NULL is allowed */

#endif
