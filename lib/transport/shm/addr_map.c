/* SPDX-License-Identifier: BSD-3-Clause */
#include "transport/shm/addr_map.h"

#include <string.h>

enum { FIRST_CAPACITY = 8 };

/* Of the first one that begins behind address. */
static size_t index_behind(const struct rcx_areas *areas, uintptr_t address)
{
    size_t lo = 0, hi = areas->count;

    while (lo < hi) {
        const size_t middle = lo + (hi - lo) / 2;

        if (areas->list[middle]->base <= address)
            lo = middle + 1;
        else
            hi = middle;
    }
    return lo;
}

struct rcx_area *rcx_areas_find(const struct rcx_areas *areas,
                                uintptr_t address, size_t bytes)
{
    const size_t behind = index_behind(areas, address);
    struct rcx_area *area = behind > 0 ? areas->list[behind - 1] : NULL;

    return area && bytes <= area->bytes &&
                   address - area->base <= area->bytes - bytes
               ? area
               : NULL;
}

static bool has_room(struct rcx_areas *areas, struct rcx_heap *heap)
{
    const size_t capacity =
        areas->capacity ? 2 * areas->capacity : FIRST_CAPACITY;
    struct rcx_area **list;

    if (areas->count < areas->capacity)
        return true;
    list = rcx_heap_grow(heap, areas->list, areas->count * sizeof *list,
                         capacity * sizeof *list);
    if (!list)
        return false;
    areas->list = list;
    areas->capacity = capacity;
    return true;
}

bool rcx_areas_add(struct rcx_areas *areas, struct rcx_heap *heap,
                   struct rcx_area *area)
{
    size_t at;

    if (!has_room(areas, heap))
        return false;
    at = index_behind(areas, area->base);
    memmove(areas->list + at + 1, areas->list + at,
            (areas->count - at) * sizeof *areas->list);
    areas->list[at] = area;
    areas->count++;
    return true;
}

void rcx_areas_remove(struct rcx_areas *areas, const struct rcx_area *area)
{
    const size_t behind = index_behind(areas, area->base);

    memmove(areas->list + behind - 1, areas->list + behind,
            (areas->count - behind) * sizeof *areas->list);
    areas->count--;
}
