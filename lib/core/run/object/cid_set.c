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
