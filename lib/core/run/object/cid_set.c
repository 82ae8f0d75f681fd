/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The set of communicator ids in use.
 */
#include "core/run/object/cid_set.h"

static bool is_in(const unsigned char *used, uint32_t id)
{
    return used[id / 8] >> id % 8 & 1;
}

bool rcx_comm_ids_open(struct rcx_comm_ids *ids, struct rcx_heap *heap,
                       unsigned bits)
{
    ids->bits = bits;
    ids->used = rcx_heap_zalloc(heap, rcx_comm_ids_bytes(ids));
    for (uint32_t id = 0; ids->used && id < RCX_COMM_ID_FIRST; id++)
        rcx_comm_id_get(ids, id);
    return ids->used != NULL;
}

void rcx_comm_ids_free(struct rcx_comm_ids *ids, struct rcx_heap *heap)
{
    rcx_heap_free(heap, ids->used);
    rcx_heap_free(heap, ids->freed);
}

/* ---- Offers of an agreement ---------------------------------------------- */

enum { OFFERED = 63 };

uint32_t rcx_comm_ids_windows(const struct rcx_comm_ids *ids)
{
    return ((UINT32_C(1) << ids->bits) + OFFERED - 1) / OFFERED;
}

uint64_t rcx_comm_ids_offer(const struct rcx_comm_ids *ids, uint32_t window)
{
    const uint32_t end = UINT32_C(1) << ids->bits;
    uint64_t offer = 0;

    for (uint32_t i = 0, id = window * OFFERED; i < OFFERED && id < end;
         i++, id++)
        offer |= (uint64_t)!is_in(ids->used, id) << i;
    return offer;
}

void rcx_comm_ids_set(struct rcx_comm_ids *ids, uint64_t offer, uint32_t window,
                      bool used)
{
    for (; offer; offer &= offer - 1) {
        const uint32_t id = rcx_comm_ids_lowest(offer, window);

        if (used)
            rcx_comm_id_get(ids, id);
        else
            rcx_comm_id_put(ids, id);
    }
}

uint32_t rcx_comm_ids_lowest(uint64_t offer, uint32_t window)
{
    return offer ? window * OFFERED + (uint32_t)__builtin_ctzll(offer) : 0;
}

/* ---- Freed communicators ------------------------------------------------- */

void rcx_comm_id_note_freed(struct rcx_comm_ids *ids, struct rcx_heap *heap,
                            uint32_t id, uint32_t group)
{
    if (!ids->freed)
        ids->freed = rcx_heap_zalloc(heap, sizeof *ids->freed << ids->bits);
    if (ids->freed)
        ids->freed[id] = group;
}

bool rcx_comm_id_was_freed(const struct rcx_comm_ids *ids, uint32_t id,
                           uint32_t group)
{
    return ids->freed && id >> ids->bits == 0 && ids->freed[id] == group;
}

uint32_t rcx_comm_id_free_in(const struct rcx_comm_ids *ids,
                             const unsigned char *used, uint64_t n)
{
    const uint32_t end = UINT32_C(1) << ids->bits;
    uint64_t found = 0;

    for (uint32_t id = RCX_COMM_ID_FIRST; id < end; id++)
        if (!is_in(used, id) && found++ == n)
            return id;
    return found ? rcx_comm_id_free_in(ids, used, n % found) : 0;
}

bool rcx_comm_id_get(struct rcx_comm_ids *ids, uint32_t id)
{
    const bool was_free = !is_in(ids->used, id);

    ids->used[id / 8] |= (unsigned char)(1u << id % 8);
    return was_free;
}

void rcx_comm_id_put(struct rcx_comm_ids *ids, uint32_t id)
{
    ids->used[id / 8] &= (unsigned char)~(1u << id % 8);
}
