/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Cross-memory attach: a rank reads the memory of another one by a system call.
 * UCX's rendezvous protocol moves data within a node this way.
 */
#ifndef RCX_TRANSPORT_NODE_CMA_H
#define RCX_TRANSPORT_NODE_CMA_H

#include <stdbool.h>

/* Whether the system call works: a container may forbid it. */
bool rcx_cma_works(void);

#endif
