/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Regions of this rank that peers map, and mappings of the peers' regions.
 */
#include "transport/shm/mapped.h"

/* A region of the peer. */
struct mapping {
    struct rcx_addr_range range; /* first; addresses in the peer */
    const unsigned char *here;   /* NULL: cannot be mapped */
    void *handle;                /* of the lane */
};

/* ---- Regions ------------------------------------------------------------- */

static void free_region(struct rcx_shm_lane *lane, struct rcx_region *region)
{
    rcx_heap_free(lane->heap, region->notice);
    rcx_heap_free(lane->heap, region);
}

struct rcx_region *rcx_region_expose(struct rcx_shm_lane *lane, void *base,
                                     size_t bytes, const void *key,
                                     size_t key_bytes)
{
    struct rcx_region *region = rcx_heap_zalloc(
        lane->heap, sizeof *region + (size_t)lane->ranks * sizeof(bool));

    if (!region)
        return NULL;
    region->range = (struct rcx_addr_range){(uintptr_t)base, bytes};
    region->notice_bytes = sizeof *region->notice + key_bytes;
    region->notice = rcx_heap_alloc(lane->heap, region->notice_bytes);
    if (!region->notice ||
        !rcx_addr_map_add(&lane->regions, lane->heap, &region->range)) {
        free_region(lane, region);
        return NULL;
    }
    region->notice->base = (uintptr_t)base;
    region->notice->bytes = bytes;
    memcpy(region->notice->key, key, key_bytes);
    return region;
}

void rcx_region_withdraw(struct rcx_shm_lane *lane, struct rcx_region *region)
{
    rcx_addr_map_remove(&lane->regions, &region->range);
    if (region->announced_count == 0) {
        free_region(lane, region);
        return;
    }
    region->next = lane->gone;
    lane->gone = region;
}

bool rcx_region_announce_gone(struct rcx_shm_channel *p)
{
    struct rcx_shm_lane *lane = p->lane;
    struct rcx_region **link = &lane->gone;

    while (*link) {
        struct rcx_region *region = *link;

        if (region->announced[p->peer]) {
            if (!rcx_shm_put_control(p, region->range.base, RCX_SLOT_GONE,
                                     NULL))
                return false;
            region->announced[p->peer] = false;
            region->announced_count--;
        }
        if (region->announced_count > 0) {
            link = &region->next;
            continue;
        }
        *link = region->next;
        free_region(lane, region);
    }
    return true;
}

void rcx_region_close_all(struct rcx_shm_lane *lane)
{
    while (lane->regions.count > 0) {
        struct rcx_region *region =
            (struct rcx_region *)lane->regions.list[lane->regions.count - 1];

        rcx_addr_map_remove(&lane->regions, &region->range);
        free_region(lane, region);
    }
    while (lane->gone) {
        struct rcx_region *region = lane->gone;

        lane->gone = region->next;
        free_region(lane, region);
    }
    rcx_heap_free(lane->heap, lane->regions.list);
    lane->regions = (struct rcx_addr_map){0};
}

/* A region that was at this address before is announced as gone first. */
bool rcx_region_announce(struct rcx_shm_channel *p, struct rcx_region *region)
{
    if (region->announced[p->peer])
        return true;
    if (!rcx_region_announce_gone(p) ||
        !rcx_shm_put(p, 0, RCX_SLOT_REGION, region->notice,
                     region->notice_bytes, NULL))
        return false;
    region->announced[p->peer] = true;
    region->announced_count++;
    return true;
}

/* ---- Mappings ------------------------------------------------------------ */

/* Without memory the region counts as not mappable. */
void rcx_mapping_open(struct rcx_shm_channel *p, const struct rcx_shm_header *a)
{
    struct rcx_shm_lane *lane = p->lane;
    const struct rcx_region_notice *notice = (const void *)a->data;
    struct mapping *m = rcx_heap_zalloc(lane->heap, sizeof *m);

    if (!m)
        return;
    m->range = (struct rcx_addr_range){notice->base, notice->bytes};
    if (!rcx_addr_map_add(&p->mappings, lane->heap, &m->range)) {
        rcx_heap_free(lane->heap, m);
        return;
    }
    m->here = lane->map(lane, p->peer, notice->key, notice->base, &m->handle);
}

static void close_mapping(struct rcx_shm_channel *p, struct mapping *m)
{
    rcx_addr_map_remove(&p->mappings, &m->range);
    if (m->here)
        p->lane->unmap(p->lane, m->handle);
    rcx_heap_free(p->lane->heap, m);
}

void rcx_mapping_close(struct rcx_shm_channel *p, uint64_t base)
{
    struct rcx_addr_range *range = rcx_addr_map_find(&p->mappings, base, 1);

    if (range)
        close_mapping(p, (struct mapping *)range);
}

const unsigned char *rcx_mapping_find(const struct rcx_shm_channel *p,
                                      uint64_t address, size_t bytes)
{
    const struct mapping *m =
        (struct mapping *)rcx_addr_map_find(&p->mappings, address, bytes);

    return m && m->here ? m->here + (address - m->range.base) : NULL;
}

void rcx_mapping_close_all(struct rcx_shm_channel *p)
{
    while (p->mappings.count > 0)
        close_mapping(
            p, (struct mapping *)p->mappings.list[p->mappings.count - 1]);
    rcx_heap_free(p->lane->heap, p->mappings.list);
    p->mappings = (struct rcx_addr_map){0};
}
