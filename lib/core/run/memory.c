/* SPDX-License-Identifier: BSD-3-Clause */
#include "core/run/memory.h"

struct rcx_memory_block { /* in front of what is given out */
    struct rcx_memory_block *next;
    struct rcx_transport *transport; /* whose it is; NULL: the heap's */
    char padding[48];                /* keeps what follows aligned */
};

static struct rcx_memory_block *new_block(struct rcx_heap *heap,
                                          struct rcx_transport *t, size_t bytes)
{
    struct rcx_memory_block *block = NULL;

    if (t && t->ops->get_memory)
        block = t->ops->get_memory(t, bytes);
    if (block)
        block->transport = t;
    else if ((block = rcx_heap_alloc(heap, bytes)))
        block->transport = NULL;
    return block;
}

void *rcx_memory_get(struct rcx_memory *memory, struct rcx_heap *heap,
                     struct rcx_transport *t, size_t bytes)
{
    struct rcx_memory_block *block =
        bytes > PTRDIFF_MAX - sizeof *block
            ? NULL
            : new_block(heap, t, sizeof *block + bytes);

    if (!block)
        return NULL;
    block->next = memory->first;
    memory->first = block;
    return block + 1;
}

static void free_block(struct rcx_memory_block *block, struct rcx_heap *heap)
{
    struct rcx_transport *t = block->transport;

    if (t)
        t->ops->put_memory(t, block);
    else
        rcx_heap_free(heap, block);
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
    free_block(block, heap);
    return true;
}

void rcx_memory_free(struct rcx_memory *memory, struct rcx_heap *heap)
{
    while (memory->first) {
        struct rcx_memory_block *block = memory->first;

        memory->first = block->next;
        if (!block->transport)
            rcx_heap_free(heap, block);
    }
}
