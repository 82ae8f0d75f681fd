/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The heap of a context: counted and limited.
 */
#include "core/base/heap.h"

#include <stdlib.h>
#include <string.h>

enum { ALIGNMENT = 64 };

void *rcx_heap_alloc(struct rcx_heap *heap, size_t bytes)
{
    void *ptr = NULL;

    if (heap->budget == 0)
        return NULL;
    if (posix_memalign(&ptr, ALIGNMENT, bytes ? bytes : 1) != 0)
        return NULL;
    heap->budget--;
    heap->calls++;
    heap->live++;
    return ptr;
}

void *rcx_heap_zalloc(struct rcx_heap *heap, size_t bytes)
{
    void *ptr = rcx_heap_alloc(heap, bytes);

    if (ptr)
        memset(ptr, 0, bytes);
    return ptr;
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
