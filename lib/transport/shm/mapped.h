/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Memory that peers read where it is, without the kernel: a rank exposes a
 * region to its lane; who gets a message out of it is told first, once, and maps
 * it. So a message from there is its address, and is over when it was read.
 */
#ifndef RCX_TRANSPORT_SHM_MAPPED_H
#define RCX_TRANSPORT_SHM_MAPPED_H

#include "transport/shm/fifo.h"

/* What a peer is told. */
struct rcx_region_notice {
    uint64_t base, bytes; /* there */
    char key[];
};

struct rcx_region {
    struct rcx_area area;    /* first */
    struct rcx_region *next; /* of those that are gone */
    struct rcx_region_notice *notice;
    size_t notice_bytes;
    int told_count;
    bool told[]; /* by rank: it has the notice */
};

/* NULL: no memory. The heap's, as is its notice, which ends with the key. */
struct rcx_region *rcx_region_expose(struct rcx_lane *lane, void *base,
                                     size_t bytes, const void *key,
                                     size_t key_bytes);
/* No message is under way from there. Who was told is told that, too: by
 * rcx_region_tell_gone(), of each pair. */
void rcx_region_withdraw(struct rcx_lane *lane, struct rcx_region *region);
/* What can be told now. False: more is left. */
bool rcx_region_tell_gone(struct rcx_pair *p);
/* All of them, when nobody is told any more. */
void rcx_regions_close(struct rcx_lane *lane);

/* The region that a message may be read from; NULL: none. */
static inline struct rcx_region *rcx_region_of(const struct rcx_lane *lane,
                                               const void *buffer, size_t bytes)
{
    return lane->regions.count == 0 || bytes < lane->direct_from
               ? NULL
               : (struct rcx_region *)rcx_areas_find(&lane->regions,
                                                     (uintptr_t)buffer, bytes);
}

/* The peer knows it; false: there is no room to tell yet. */
bool rcx_region_tell(struct rcx_pair *p, struct rcx_region *region);

/* What the peer tells. */
void rcx_mapping_learn(struct rcx_pair *p, const struct rcx_arrival *a);
void rcx_mapping_forget(struct rcx_pair *p, uint64_t base);
/* Where bytes of the peer's are here; NULL: they are not mapped. */
const unsigned char *rcx_mapping_find(const struct rcx_pair *p,
                                      uint64_t address, size_t bytes);
void rcx_mappings_close(struct rcx_pair *p);

#endif
