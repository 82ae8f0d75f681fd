/* SPDX-License-Identifier: BSD-3-Clause */
/* The size of the rings through which ranks of a node send. */
#ifndef RCX_TRANSPORT_SHM_RING_H
#define RCX_TRANSPORT_SHM_RING_H

#include <stdbool.h>
#include <stddef.h>

struct rcx_caches {
    size_t own;    /* bytes of level 2, of one core */
    size_t shared; /* bytes of level 3 */
};

/* Of this machine; typical sizes if it does not tell. */
struct rcx_caches rcx_caches_read(void);

/*
 * Bytes of the ring from each rank to each other one: a power of two from 16 KB
 * to 4 MB. All rings of a node have at most 1 GB, for up to 256 ranks.
 * oversubscribes_cores: ranks outnumber cores.
 */
size_t rcx_ring_bytes(const struct rcx_caches *caches, size_t ranks,
                      bool oversubscribes_cores);

/* Bytes of the copy buffer of each rank (cico.h). All buffers of a node have at
 * most an eighth of what its rings may have. */
size_t rcx_cico_bytes(size_t ranks);

#endif
