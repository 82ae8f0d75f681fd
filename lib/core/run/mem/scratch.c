/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Freelists of scratch memory by size.
 */
#include "core/run/mem/scratch.h"

struct rcx_scratch_block {
    struct rcx_scratch_block *next;
};

static int class_of(size_t bytes)
{
    return bytes <= 64 ? 6 : 64 - __builtin_clzll(bytes - 1);
}

static void *make(struct rcx_scratch *scratch, struct rcx_heap *heap,
                  size_t bytes)
{
    if (scratch->idle > RCX_SCRATCH_IDLE)
        rcx_scratch_free(scratch, heap);
    return rcx_heap_alloc_lines(heap, bytes);
}

void *rcx_scratch_get(struct rcx_scratch *scratch, struct rcx_heap *heap,
                      size_t bytes)
{
    const int class = class_of(bytes);
    struct rcx_scratch_block *block = scratch->classes[class];

    if (!block)
        return make(scratch, heap, (size_t)1 << class);
    scratch->classes[class] = block->next;
    scratch->idle -= (size_t)1 << class;
    return block;
}

void rcx_scratch_put(struct rcx_scratch *scratch, void *ptr, size_t bytes)
{
    const int class = class_of(bytes);
    struct rcx_scratch_block *block = ptr;

    if (!block)
        return;
    block->next = scratch->classes[class];
    scratch->classes[class] = block;
    scratch->idle += (size_t)1 << class;
}

void rcx_scratch_free(struct rcx_scratch *scratch, struct rcx_heap *heap)
{
    for (int i = 0; i < RCX_SCRATCH_CLASSES; i++) {
        while (scratch->classes[i]) {
            struct rcx_scratch_block *block = scratch->classes[i];

            scratch->classes[i] = block->next;
            rcx_heap_free(heap, block);
        }
    }
    scratch->idle = 0;
}
