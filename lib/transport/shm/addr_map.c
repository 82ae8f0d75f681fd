/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Map of address ranges: an array sorted by address, searched by bisection.
 */
#include "transport/shm/addr_map.h"

#include <string.h>

enum { FIRST_CAPACITY = 8 };

/* Index of the first range that begins behind address. */
static size_t index_behind(const struct rcx_addr_map *map, uintptr_t address)
{
    size_t lo = 0, hi = map->count;

    while (lo < hi) {
        const size_t middle = lo + (hi - lo) / 2;

        if (map->list[middle]->base <= address)
            lo = middle + 1;
        else
            hi = middle;
    }
    return lo;
}

struct rcx_addr_range *rcx_addr_map_find(const struct rcx_addr_map *map,
                                         uintptr_t address, size_t bytes)
{
    const size_t behind = index_behind(map, address);
    struct rcx_addr_range *area = behind > 0 ? map->list[behind - 1] : NULL;

    return area && bytes <= area->bytes &&
                   address - area->base <= area->bytes - bytes
               ? area
               : NULL;
}

static bool has_room(struct rcx_addr_map *map, struct rcx_heap *heap)
{
    const size_t capacity = map->capacity ? 2 * map->capacity : FIRST_CAPACITY;
    struct rcx_addr_range **list;

    if (map->count < map->capacity)
        return true;
    list = rcx_heap_grow(heap, map->list, map->count * sizeof *list,
                         capacity * sizeof *list);
    if (!list)
        return false;
    map->list = list;
    map->capacity = capacity;
    return true;
}

bool rcx_addr_map_add(struct rcx_addr_map *map, struct rcx_heap *heap,
                      struct rcx_addr_range *area)
{
    size_t at;

    if (!has_room(map, heap))
        return false;
    at = index_behind(map, area->base);
    memmove(map->list + at + 1, map->list + at,
            (map->count - at) * sizeof *map->list);
    map->list[at] = area;
    map->count++;
    return true;
}

void rcx_addr_map_remove(struct rcx_addr_map *map,
                         const struct rcx_addr_range *area)
{
    const size_t behind = index_behind(map, area->base);

    memmove(map->list + behind - 1, map->list + behind,
            (map->count - behind) * sizeof *map->list);
    map->count--;
}
