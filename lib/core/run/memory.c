/* SPDX-License-Identifier: BSD-3-Clause */
#include "core/run/memory.h"

/* In front of what is given out, or by itself. */
struct rcx_memory_block {
    struct rcx_memory_block *next;
    struct rcx_transport *transport; /* whose it is; NULL: the heap's */
    char *at;
    size_t bytes;
    bool is_lent;     /* the caller's own */
    char padding[31]; /* keeps what follows aligned */
};
_Static_assert(sizeof(struct rcx_memory_block) == 64,
               "what follows is aligned");

static void add(struct rcx_memory *memory, struct rcx_memory_block *block,
                struct rcx_transport *owner, void *at, size_t bytes)
{
    *block = (struct rcx_memory_block){.next = memory->first,
                                       .transport = owner,
                                       .at = at,
                                       .bytes = bytes,
                                       .is_lent = at != (void *)(block + 1)};
    memory->first = block;
}

static void *from_transport(struct rcx_transport *t, void *at, size_t bytes)
{
    return t && t->ops->get_memory ? t->ops->get_memory(t, at, bytes) : NULL;
}

void *rcx_memory_get(struct rcx_memory *memory, struct rcx_heap *heap,
                     struct rcx_transport *t, size_t bytes)
{
    struct rcx_memory_block *block;

    if (bytes > PTRDIFF_MAX - sizeof *block)
        return NULL;
    block = from_transport(t, NULL, sizeof *block + bytes);
    if (!block) {
        t = NULL;
        block = rcx_heap_alloc(heap, sizeof *block + bytes);
    }
    if (!block)
        return NULL;
    add(memory, block, t, block + 1, bytes);
    return block + 1;
}

bool rcx_memory_overlaps(const struct rcx_memory *memory, const void *ptr,
                         size_t bytes)
{
    const uintptr_t at = (uintptr_t)ptr;
    const struct rcx_memory_block *block = memory->first;

    while (block && (at >= (uintptr_t)block->at + block->bytes ||
                     at + bytes <= (uintptr_t)block->at))
        block = block->next;
    return block;
}

bool rcx_memory_lend(struct rcx_memory *memory, struct rcx_heap *heap,
                     struct rcx_transport *t, void *ptr, size_t bytes)
{
    struct rcx_memory_block *block = rcx_heap_alloc(heap, sizeof *block);

    if (!block)
        return false;
    add(memory, block, from_transport(t, ptr, bytes) ? t : NULL, ptr, bytes);
    return true;
}

static void free_block(struct rcx_memory_block *block, struct rcx_heap *heap)
{
    struct rcx_transport *t = block->transport;
    const bool is_heaps = block->is_lent || !t;

    if (t)
        t->ops->put_memory(t, block->is_lent ? (void *)block->at : block);
    if (is_heaps)
        rcx_heap_free(heap, block);
}

bool rcx_memory_put(struct rcx_memory *memory, struct rcx_heap *heap, void *ptr,
                    bool is_lent)
{
    struct rcx_memory_block **link = &memory->first, *block;

    while (*link && ((*link)->at != ptr || (*link)->is_lent != is_lent))
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
        if (block->is_lent || !block->transport)
            rcx_heap_free(heap, block);
    }
}
