/* SPDX-License-Identifier: BSD-3-Clause */
/* Blocks that live until somebody gives them back, or the context goes. */
#ifndef RCX_CORE_RUN_MEM_MEMORY_H
#define RCX_CORE_RUN_MEM_MEMORY_H

#include <stdbool.h>

#include "core/iface/transport.h"

struct rcx_memory_block;

struct rcx_memory {
    struct rcx_memory_block *first;
};

/* Aligned to 64 bytes; NULL when memory ran out. t's own memory, if it has any;
 * NULL: the heap's. */
void *rcx_memory_get(struct rcx_memory *memory, struct rcx_heap *heap,
                     struct rcx_transport *t, size_t bytes);
/* The caller's own, which overlaps no other one; t may make use of it. False: no
 * memory to note that. */
bool rcx_memory_lend(struct rcx_memory *memory, struct rcx_heap *heap,
                     struct rcx_transport *t, void *ptr, size_t bytes);
bool rcx_memory_overlaps(const struct rcx_memory *memory, const void *ptr,
                         size_t bytes);
/* What was given out at ptr; NULL: nothing. */
const struct rcx_memory_block *rcx_memory_find(const struct rcx_memory *memory,
                                               const void *ptr);
/* False: ptr was not given out, or lent. */
bool rcx_memory_put(struct rcx_memory *memory, struct rcx_heap *heap, void *ptr,
                    bool is_lent);
/* All of the heap's, once no transport may write there; what a transport gave
 * went with it. */
void rcx_memory_free(struct rcx_memory *memory, struct rcx_heap *heap);

#endif
