/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Blocks of rcx_mem_alloc() and of RCX's own small collectives.
 */
#include "core/run/mem/memory.h"

/* In front of a block of the heap, which it describes. The description of other
 * memory is on the heap as well, apart from it. */
struct rcx_memory_block {
    struct rcx_memory_block *next;
    struct rcx_transport *transport; /* that maps it; NULL: none */
    char *at;
    size_t bytes;
    bool is_lent;     /* the caller's memory */
    char padding[31]; /* aligns what follows */
};
_Static_assert(sizeof(struct rcx_memory_block) == 64,
               "what follows is aligned");

static void *from_transport(struct rcx_transport *t, void *at, size_t bytes)
{
    return t && t->ops->get_memory ? t->ops->get_memory(t, at, bytes) : NULL;
}

/* With more bytes behind it. On failure what the transport gave is put back. */
static struct rcx_memory_block *add(struct rcx_memory *memory,
                                    struct rcx_heap *heap, size_t more,
                                    struct rcx_transport *t, void *given)
{
    struct rcx_memory_block *block =
        rcx_heap_alloc_lines(heap, sizeof *block + more);

    if (!block && given)
        t->ops->put_memory(t, given);
    if (!block)
        return NULL;
    *block = (struct rcx_memory_block){.next = memory->first,
                                       .transport = given ? t : NULL};
    memory->first = block;
    return block;
}

void *rcx_memory_get(struct rcx_memory *memory, struct rcx_heap *heap,
                     struct rcx_transport *t, size_t bytes)
{
    struct rcx_memory_block *block;
    void *given;

    if (bytes > PTRDIFF_MAX - sizeof *block)
        return NULL;
    given = from_transport(t, NULL, bytes);
    block = add(memory, heap, given ? 0 : bytes, t, given);
    if (!block)
        return NULL;
    block->at = given ? given : block + 1;
    block->bytes = bytes;
    return block->at;
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
    struct rcx_memory_block *block =
        add(memory, heap, 0, t, from_transport(t, ptr, bytes));

    if (!block)
        return false;
    block->at = ptr;
    block->bytes = bytes;
    block->is_lent = true;
    return true;
}

const struct rcx_memory_block *rcx_memory_find(const struct rcx_memory *memory,
                                               const void *ptr)
{
    const struct rcx_memory_block *block = memory->first;

    while (block && (block->at != ptr || block->is_lent))
        block = block->next;
    return block;
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
    if (block->transport)
        block->transport->ops->put_memory(block->transport, ptr);
    rcx_heap_free(heap, block);
    return true;
}

void rcx_memory_free(struct rcx_memory *memory, struct rcx_heap *heap)
{
    while (memory->first) {
        struct rcx_memory_block *block = memory->first;

        memory->first = block->next;
        rcx_heap_free(heap, block);
    }
}
