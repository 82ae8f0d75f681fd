/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Cross-memory attach: a rank reads the memory of another by a system call,
 * which is how UCX's rendezvous protocol moves data within a node.
 */
#ifndef RCX_TRANSPORT_CMA_H
#define RCX_TRANSPORT_CMA_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "core/base/heap.h"

/* Whether the system call is there at all: a container may forbid it. */
bool rcx_cma_works(void);

/* Whether a process of this pid namespace is alive and has memory at address;
 * where its memory may not be read, whether there is such a process. */
bool rcx_cma_is_there(pid_t pid, uint64_t address);

/* Whether that beats two copies through shared memory here; measured at each
 * call, in less than half a millisecond. */
bool rcx_cma_pays(struct rcx_heap *heap);

#endif
