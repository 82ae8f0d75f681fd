/* SPDX-License-Identifier: BSD-3-Clause */
#include "core/run/memory.h"

struct rcx_memory_block { /* in front of what is given out */
    struct rcx_memory_block *next;
    char padding[56]; /* keeps what follows aligned */
};

void *rcx_memory_get(struct rcx_memory *memory, struct rcx_heap *heap,
                     size_t bytes)
{
    struct rcx_memory_block *block =
        bytes > PTRDIFF_MAX - sizeof *block
            ? NULL
            : rcx_heap_alloc(heap, sizeof *block + bytes);

    if (!block)
        return NULL;
    block->next = memory->first;
    memory->first = block;
    return block + 1;
}

bool rcx_memory_put(struct rcx_memory *memory, struct rcx_heap *heap, void *ptr)
{
    struct rcx_memory_block **link = &memory->first, *block;

    while (*link && (void *)(*link + 1) != ptr)
        link = &(*link)->next;
    block = *link;
    if (!block)
        return false;
    *link = block->next;
    rcx_heap_free(heap, block);
    return true;
}

void rcx_memory_free(struct rcx_memory *memory, struct rcx_heap *heap)
{
    while (memory->first)
        rcx_memory_put(memory, heap, memory->first + 1);
}
