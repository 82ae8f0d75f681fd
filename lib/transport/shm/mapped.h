/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Mapped memory: a rank exposes a region, and peers map it and read messages
 * from it without the kernel. The region is announced to a peer before the
 * first message from it. Such a message consists of its address, and completes
 * when it has been read.
 */
#ifndef RCX_TRANSPORT_SHM_MAPPED_H
#define RCX_TRANSPORT_SHM_MAPPED_H

#include "transport/shm/fifo.h"

/* The announcement of a region. */
struct rcx_region_notice {
    uint64_t base, bytes; /* in the owner */
    char key[];
};

struct rcx_region {
    struct rcx_addr_range range; /* first */
    struct rcx_region *next;     /* in the list of withdrawn regions */
    struct rcx_region_notice *notice;
    size_t notice_bytes;
    int announced_count;
    bool announced[]; /* by rank: it has the announcement */
};

/* NULL: no memory. The region and its notice, which ends with the key, come
 * from the heap. */
struct rcx_region *rcx_region_expose(struct rcx_shm_lane *lane, void *base,
                                     size_t bytes, const void *key,
                                     size_t key_bytes);
/* No message from the region is in flight. Peers that know the region are told
 * by rcx_region_announce_gone(), on each channel. */
void rcx_region_withdraw(struct rcx_shm_lane *lane, struct rcx_region *region);
/* Send what there is room for. False: more is left. */
bool rcx_region_announce_gone(struct rcx_shm_channel *p);
/* Free all regions when no peer has to be told any more. */
void rcx_region_close_all(struct rcx_shm_lane *lane);

/* The region that a message may be read from; NULL: none. */
static inline struct rcx_region *rcx_region_of(const struct rcx_shm_lane *lane,
                                               const void *buffer, size_t bytes)
{
    return lane->regions.count == 0 || bytes < lane->settings.direct
               ? NULL
               : (struct rcx_region *)rcx_addr_map_find(
                     &lane->regions, (uintptr_t)buffer, bytes);
}

/* Whether the peer knows the region now. False: no room to announce it yet. */
bool rcx_region_announce(struct rcx_shm_channel *p, struct rcx_region *region);

/* An announcement of the peer. */
void rcx_mapping_open(struct rcx_shm_channel *p,
                      const struct rcx_shm_header *a);
void rcx_mapping_close(struct rcx_shm_channel *p, uint64_t base);
/* Where bytes of the peer are mapped here; NULL: they are not. */
const unsigned char *rcx_mapping_find(const struct rcx_shm_channel *p,
                                      uint64_t address, size_t bytes);
void rcx_mapping_close_all(struct rcx_shm_channel *p);

#endif
