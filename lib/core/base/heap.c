/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The heap of a context: counted and limited.
 */
#include "core/base/heap.h"

#include <stdlib.h>
#include <string.h>

enum { LINE = 64 };

/* NULL: there was no memory. */
static void *count(struct rcx_heap *heap, void *ptr)
{
    if (!ptr)
        return NULL;
    heap->budget--;
    heap->calls++;
    heap->live++;
    return ptr;
}

void *rcx_heap_alloc(struct rcx_heap *heap, size_t bytes)
{
    return heap->budget > 0 ? count(heap, malloc(bytes ? bytes : 1)) : NULL;
}

static void *zeroed(void *ptr, size_t bytes)
{
    return ptr ? memset(ptr, 0, bytes) : NULL;
}

void *rcx_heap_zalloc(struct rcx_heap *heap, size_t bytes)
{
    return zeroed(rcx_heap_alloc(heap, bytes), bytes);
}

void *rcx_heap_alloc_lines(struct rcx_heap *heap, size_t bytes)
{
    void *ptr = NULL;

    if (heap->budget == 0 || posix_memalign(&ptr, LINE, bytes ? bytes : 1) != 0)
        return NULL;
    return count(heap, ptr);
}

void *rcx_heap_zalloc_lines(struct rcx_heap *heap, size_t bytes)
{
    return zeroed(rcx_heap_alloc_lines(heap, bytes), bytes);
}

void *rcx_heap_grow(struct rcx_heap *heap, void *ptr, size_t old_bytes,
                    size_t new_bytes)
{
    void *grown = rcx_heap_alloc(heap, new_bytes);

    if (grown && ptr) {
        memcpy(grown, ptr, old_bytes);
        rcx_heap_free(heap, ptr);
    }
    return grown;
}

void rcx_heap_free(struct rcx_heap *heap, void *ptr)
{
    if (!ptr)
        return;
    heap->live--;
    free(ptr);
}
