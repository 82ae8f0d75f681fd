/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Size of the rings, from the caches of this machine.
 */
#include "transport/shm/ring.h"

#include <unistd.h>

enum {
    MOST = 4 << 20,
    CICO_MOST = 1 << 20,
    USUAL = 512 << 10,
    LEAST = 16 << 10,
    RANK_MOST = 16 << 20, /* bytes of the rings to one rank */
    NODE_MOST = 1 << 30   /* bytes of all rings of a node */
};

struct rcx_caches rcx_caches_read(void)
{
    long own = 0, shared = 0;

#ifdef _SC_LEVEL3_CACHE_SIZE
    own = sysconf(_SC_LEVEL2_CACHE_SIZE);
    shared = sysconf(_SC_LEVEL3_CACHE_SIZE);
#endif
    return (struct rcx_caches){.own = own > 0 ? (size_t)own : 1 << 20,
                               .shared =
                                   shared > 0 ? (size_t)shared : 32 << 20};
}

/*
 * Twice the size of a core's own cache: a line is overwritten so long after it
 * was read that only the shared cache still has it, as taking a line away from
 * another core costs several times as much. Less if the shared cache cannot
 * hold all rings, or if ranks share a core and so its cache.
 */
size_t rcx_ring_bytes(const struct rcx_caches *caches, size_t ranks,
                      bool oversubscribes_cores)
{
    size_t ring = oversubscribes_cores ? USUAL : MOST;

    while (ring > USUAL &&
           (ring >= 4 * caches->own || ring * ranks * ranks > caches->shared))
        ring /= 2;
    while (ring > LEAST &&
           (ring * ranks > RANK_MOST || ring * ranks * ranks > NODE_MOST))
        ring /= 2;
    return ring;
}

size_t rcx_cico_bytes(size_t ranks)
{
    size_t bytes = CICO_MOST;

    while (bytes > LEAST && bytes * ranks > NODE_MOST / 8)
        bytes /= 2;
    return bytes;
}
