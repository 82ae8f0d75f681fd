/* SPDX-License-Identifier: BSD-3-Clause */
/* Map of disjoint address ranges. */
#ifndef RCX_TRANSPORT_SHM_ADDR_MAP_H
#define RCX_TRANSPORT_SHM_ADDR_MAP_H

#include <stdbool.h>
#include <stdint.h>

#include "core/base/heap.h"

/* First member of what is known of a range. */
struct rcx_addr_range {
    uintptr_t base;
    size_t bytes;
};

struct rcx_addr_map {
    struct rcx_addr_range **list; /* sorted by base */
    size_t count, capacity;
};

/* The range that contains all these bytes, or NULL. */
struct rcx_addr_range *rcx_addr_map_find(const struct rcx_addr_map *map,
                                         uintptr_t address, size_t bytes);
/* False: no memory. */
bool rcx_addr_map_add(struct rcx_addr_map *map, struct rcx_heap *heap,
                      struct rcx_addr_range *area);
void rcx_addr_map_remove(struct rcx_addr_map *map,
                         const struct rcx_addr_range *area);

#endif
