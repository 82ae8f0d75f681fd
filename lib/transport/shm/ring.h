/* SPDX-License-Identifier: BSD-3-Clause */
/* How long the rings are through which ranks of a node send small messages. */
#ifndef RCX_TRANSPORT_SHM_RING_H
#define RCX_TRANSPORT_SHM_RING_H

#include <stdbool.h>
#include <stddef.h>

struct rcx_caches {
    size_t own;    /* bytes of level 2, which a core has for itself */
    size_t shared; /* bytes of level 3 */
};

/* Of this machine; usual ones where it does not say. */
struct rcx_caches rcx_caches_read(void);

/*
 * Bytes of the ring from each rank to each other, where ranks share memory: a
 * power of two from 16 KB to 4 MB. All rings together are at most 1 GB a node,
 * as long as no more than 256 ranks share it; oversubscribes_cores: ranks outnumber
 * cores.
 */
size_t rcx_ring_bytes(const struct rcx_caches *caches, size_t ranks,
                      bool oversubscribes_cores);

#endif
