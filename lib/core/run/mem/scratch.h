/* SPDX-License-Identifier: BSD-3-Clause */
/* Scratch memory of executions, kept for its next use: the same operation finds
 * it, and where another one needs more, what lies idle goes first if that is
 * much. */
#ifndef RCX_CORE_RUN_MEM_SCRATCH_H
#define RCX_CORE_RUN_MEM_SCRATCH_H

#include "core/base/heap.h"

enum { RCX_SCRATCH_CLASSES = 64, RCX_SCRATCH_IDLE = 64 << 20 };

struct rcx_scratch_block;

struct rcx_scratch {
    struct rcx_scratch_block *classes[RCX_SCRATCH_CLASSES]; /* powers of two */
    size_t idle;                                            /* bytes */
};

/* At least bytes; NULL when memory ran out. */
void *rcx_scratch_get(struct rcx_scratch *scratch, struct rcx_heap *heap,
                      size_t bytes);
/* The bytes that were asked for; ptr: NULL is fine. */
void rcx_scratch_put(struct rcx_scratch *scratch, void *ptr, size_t bytes);
/* All that was put back. */
void rcx_scratch_free(struct rcx_scratch *scratch, struct rcx_heap *heap);

#endif
