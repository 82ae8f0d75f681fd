/* SPDX-License-Identifier: BSD-3-Clause */
/* Pieces of memory that do not overlap, by their addresses. */
#ifndef RCX_TRANSPORT_SHM_ADDR_MAP_H
#define RCX_TRANSPORT_SHM_ADDR_MAP_H

#include <stdbool.h>
#include <stdint.h>

#include "core/base/heap.h"

/* First in what there is to know of it. */
struct rcx_area {
    uintptr_t base;
    size_t bytes;
};

struct rcx_areas {
    struct rcx_area **list; /* by base */
    size_t count, capacity;
};

/* The area that all these bytes are in; NULL: none. */
struct rcx_area *rcx_areas_find(const struct rcx_areas *areas,
                                uintptr_t address, size_t bytes);
/* False: no memory. */
bool rcx_areas_add(struct rcx_areas *areas, struct rcx_heap *heap,
                   struct rcx_area *area);
void rcx_areas_remove(struct rcx_areas *areas, const struct rcx_area *area);

#endif
