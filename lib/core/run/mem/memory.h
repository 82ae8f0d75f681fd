/* SPDX-License-Identifier: BSD-3-Clause */
/* Blocks of memory that live until they are put back, or until the context
 * ends. */
#ifndef RCX_CORE_RUN_MEM_MEMORY_H
#define RCX_CORE_RUN_MEM_MEMORY_H

#include <stdbool.h>

#include "core/iface/transport.h"

struct rcx_memory_block;

struct rcx_memory {
    struct rcx_memory_block *first;
};

/* Aligned to 64 bytes; NULL: no memory. From t if it has such memory; t NULL:
 * from the heap. */
void *rcx_memory_get(struct rcx_memory *memory, struct rcx_heap *heap,
                     struct rcx_transport *t, size_t bytes);
/* Describe the caller's memory, which overlaps no other block; t may map it.
 * False: no memory for that. */
bool rcx_memory_lend(struct rcx_memory *memory, struct rcx_heap *heap,
                     struct rcx_transport *t, void *ptr, size_t bytes);
bool rcx_memory_overlaps(const struct rcx_memory *memory, const void *ptr,
                         size_t bytes);
/* The block at ptr; NULL: none. */
const struct rcx_memory_block *rcx_memory_find(const struct rcx_memory *memory,
                                               const void *ptr);
/* False: ptr is no block, or the caller's memory. */
bool rcx_memory_put(struct rcx_memory *memory, struct rcx_heap *heap, void *ptr,
                    bool is_lent);
/* Free all blocks of the heap, when no transport writes to them any more.
 * Blocks of a transport were closed with it. */
void rcx_memory_free(struct rcx_memory *memory, struct rcx_heap *heap);

#endif
