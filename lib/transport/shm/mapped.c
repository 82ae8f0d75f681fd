/* SPDX-License-Identifier: BSD-3-Clause */
#include "transport/shm/mapped.h"

/* Of the peer's. */
struct mapping {
    struct rcx_area area;      /* first; its addresses */
    const unsigned char *here; /* NULL: it cannot be mapped */
    void *handle;              /* the lane's */
};

/* ---- Regions ------------------------------------------------------------- */

static void free_region(struct rcx_lane *lane, struct rcx_region *region)
{
    rcx_heap_free(lane->heap, region->notice);
    rcx_heap_free(lane->heap, region);
}

struct rcx_region *rcx_region_expose(struct rcx_lane *lane, void *base,
                                     size_t bytes, const void *key,
                                     size_t key_bytes)
{
    struct rcx_region *region = rcx_heap_zalloc(
        lane->heap, sizeof *region + (size_t)lane->ranks * sizeof(bool));

    if (!region)
        return NULL;
    region->area = (struct rcx_area){(uintptr_t)base, bytes};
    region->notice_bytes = sizeof *region->notice + key_bytes;
    region->notice = rcx_heap_alloc(lane->heap, region->notice_bytes);
    if (!region->notice ||
        !rcx_areas_add(&lane->regions, lane->heap, &region->area)) {
        free_region(lane, region);
        return NULL;
    }
    region->notice->base = (uintptr_t)base;
    region->notice->bytes = bytes;
    memcpy(region->notice->key, key, key_bytes);
    return region;
}

void rcx_region_withdraw(struct rcx_lane *lane, struct rcx_region *region)
{
    rcx_areas_remove(&lane->regions, &region->area);
    if (region->told_count == 0) {
        free_region(lane, region);
        return;
    }
    region->next = lane->gone;
    lane->gone = region;
}

bool rcx_region_tell_gone(struct rcx_pair *p)
{
    struct rcx_lane *lane = p->lane;
    struct rcx_region **link = &lane->gone;

    while (*link) {
        struct rcx_region *region = *link;

        if (region->told[p->peer]) {
            if (!rcx_pair_say(p, region->area.base, RCX_SLOT_GONE, NULL))
                return false;
            region->told[p->peer] = false;
            region->told_count--;
        }
        if (region->told_count > 0) {
            link = &region->next;
            continue;
        }
        *link = region->next;
        free_region(lane, region);
    }
    return true;
}

void rcx_regions_close(struct rcx_lane *lane)
{
    while (lane->regions.count > 0) {
        struct rcx_region *region =
            (struct rcx_region *)lane->regions.list[lane->regions.count - 1];

        rcx_areas_remove(&lane->regions, &region->area);
        free_region(lane, region);
    }
    while (lane->gone) {
        struct rcx_region *region = lane->gone;

        lane->gone = region->next;
        free_region(lane, region);
    }
    rcx_heap_free(lane->heap, lane->regions.list);
    lane->regions = (struct rcx_areas){0};
}

/* What was at its address before is forgotten first. */
bool rcx_region_tell(struct rcx_pair *p, struct rcx_region *region)
{
    if (region->told[p->peer])
        return true;
    if (!rcx_region_tell_gone(p) ||
        !rcx_pair_put(p, 0, RCX_SLOT_REGION, region->notice,
                      region->notice_bytes, NULL))
        return false;
    region->told[p->peer] = true;
    region->told_count++;
    return true;
}

/* ---- Mappings ------------------------------------------------------------ */

/* Without memory for it, it is as if it could not be mapped. */
void rcx_mapping_learn(struct rcx_pair *p, const struct rcx_arrival *a)
{
    struct rcx_lane *lane = p->lane;
    const struct rcx_region_notice *notice = (const void *)a->data;
    struct mapping *m = rcx_heap_zalloc(lane->heap, sizeof *m);

    if (!m)
        return;
    m->area = (struct rcx_area){notice->base, notice->bytes};
    if (!rcx_areas_add(&p->mappings, lane->heap, &m->area)) {
        rcx_heap_free(lane->heap, m);
        return;
    }
    m->here = lane->map(lane, p->peer, notice->key, notice->base, &m->handle);
}

static void forget(struct rcx_pair *p, struct mapping *m)
{
    rcx_areas_remove(&p->mappings, &m->area);
    if (m->here)
        p->lane->unmap(p->lane, m->handle);
    rcx_heap_free(p->lane->heap, m);
}

void rcx_mapping_forget(struct rcx_pair *p, uint64_t base)
{
    struct rcx_area *area = rcx_areas_find(&p->mappings, base, 1);

    if (area)
        forget(p, (struct mapping *)area);
}

const unsigned char *rcx_mapping_find(const struct rcx_pair *p,
                                      uint64_t address, size_t bytes)
{
    const struct mapping *m =
        (struct mapping *)rcx_areas_find(&p->mappings, address, bytes);

    return m && m->here ? m->here + (address - m->area.base) : NULL;
}

void rcx_mappings_close(struct rcx_pair *p)
{
    while (p->mappings.count > 0)
        forget(p, (struct mapping *)p->mappings.list[p->mappings.count - 1]);
    rcx_heap_free(p->lane->heap, p->mappings.list);
    p->mappings = (struct rcx_areas){0};
}
