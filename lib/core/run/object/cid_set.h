/* SPDX-License-Identifier: BSD-3-Clause */
/* The ids of communicators, which are in the tags of their messages. */
#ifndef RCX_CORE_RUN_OBJECT_CID_SET_H
#define RCX_CORE_RUN_OBJECT_CID_SET_H

#include <stdbool.h>

#include "core/base/heap.h"

enum {
    RCX_COMM_ID_INTERNAL = 0, /* of the barriers at both ends of life */
    RCX_COMM_ID_WORLD = 1,
    RCX_COMM_ID_GROUP = 2,  /* of groups that agree on an id */
    RCX_COMM_ID_SETTLE = 3, /* of the same, in their second round */
    RCX_COMM_ID_FIRST = 4   /* of those that users make */
};

struct rcx_comm_ids {
    unsigned char *used; /* a bit each */
    unsigned bits;       /* of an id */
    unsigned unsettled;  /* that may come free soon */
};

/* All groups in the making share these ids; their messages differ in the
 * sequence number, which is the caller's tag. */
static inline bool rcx_comm_is_for_groups(uint32_t id)
{
    return id == RCX_COMM_ID_GROUP || id == RCX_COMM_ID_SETTLE;
}

/* False: no memory. */
bool rcx_comm_ids_open(struct rcx_comm_ids *ids, struct rcx_heap *heap,
                       unsigned bits);
void rcx_comm_ids_free(struct rcx_comm_ids *ids, struct rcx_heap *heap);
/* Of used. */
static inline size_t rcx_comm_ids_bytes(const struct rcx_comm_ids *ids)
{
    return ((size_t)1 << ids->bits) / 8 + 1;
}

/* The n-th id, from 0 and round and round, that is not marked in used; 0: there
 * is none. */
uint32_t rcx_comm_id_free_in(const struct rcx_comm_ids *ids,
                             const unsigned char *used, uint64_t n);
/* Mark one as used. False: it is already. */
bool rcx_comm_id_take(struct rcx_comm_ids *ids, uint32_t id);
void rcx_comm_id_drop(struct rcx_comm_ids *ids, uint32_t id);

#endif
