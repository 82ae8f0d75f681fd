/* SPDX-License-Identifier: BSD-3-Clause */
/* Scratch memory of executions, kept for reuse: a repeated operation finds it
 * again. When more is needed, idle memory is freed first if there is much. */
#ifndef RCX_CORE_RUN_MEM_SCRATCH_H
#define RCX_CORE_RUN_MEM_SCRATCH_H

#include "core/base/heap.h"

enum { RCX_SCRATCH_CLASSES = 64, RCX_SCRATCH_IDLE = 64 << 20 };

struct rcx_scratch_block;

struct rcx_scratch {
    struct rcx_scratch_block
        *classes[RCX_SCRATCH_CLASSES]; /* by powers of two */
    size_t idle;                       /* bytes */
};

/* At least so many bytes. NULL: no memory. */
void *rcx_scratch_get(struct rcx_scratch *scratch, struct rcx_heap *heap,
                      size_t bytes);
/* bytes: as asked for. ptr may be NULL. */
void rcx_scratch_put(struct rcx_scratch *scratch, void *ptr, size_t bytes);
/* Free all idle memory. */
void rcx_scratch_free(struct rcx_scratch *scratch, struct rcx_heap *heap);

#endif
