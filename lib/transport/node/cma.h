/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Cross-memory attach: a rank reads the memory of another by a system call,
 * which is how UCX's rendezvous protocol moves data within a node.
 */
#ifndef RCX_TRANSPORT_NODE_CMA_H
#define RCX_TRANSPORT_NODE_CMA_H

#include <stdbool.h>

#include "core/base/heap.h"

/* Whether the system call is there at all: a container may forbid it. */
bool rcx_cma_works(void);

/* Whether that beats two copies through shared memory here; measured at each
 * call, in less than half a millisecond. */
bool rcx_cma_pays(struct rcx_heap *heap);

#endif
