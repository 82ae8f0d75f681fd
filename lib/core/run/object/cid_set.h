/* SPDX-License-Identifier: BSD-3-Clause */
/* Communicator ids in use. The id is part of the tags of messages. */
#ifndef RCX_CORE_RUN_OBJECT_CID_SET_H
#define RCX_CORE_RUN_OBJECT_CID_SET_H

#include <stdbool.h>

#include "core/base/heap.h"

enum {
    RCX_COMM_ID_INTERNAL = 0, /* of the barriers of rcx_finalize() */
    RCX_COMM_ID_WORLD = 1,
    RCX_COMM_ID_GROUP = 2,  /* of groups that allocate an id */
    RCX_COMM_ID_SETTLE = 3, /* of the same, in the second allreduce */
    RCX_COMM_ID_FIRST = 4   /* the first one of users' communicators */
};

struct rcx_comm_ids {
    unsigned char *used; /* a bit for each id */
    uint32_t *freed;     /* by id: the group of the last communicator that was
                            freed; NULL: none */
    uint32_t given;      /* groups that this rank has chosen */
    unsigned bits;       /* width of an id */
    unsigned unsettled;  /* ids that may become free soon */
};

/* All groups in the making share these ids. Their messages differ in the
 * sequence number, which is the caller's tag. */
static inline bool rcx_comm_is_for_groups(uint32_t id)
{
    return id == RCX_COMM_ID_GROUP || id == RCX_COMM_ID_SETTLE;
}

/* False: no memory. */
bool rcx_comm_ids_open(struct rcx_comm_ids *ids, struct rcx_heap *heap,
                       unsigned bits);
void rcx_comm_ids_free(struct rcx_comm_ids *ids, struct rcx_heap *heap);
/* Size of used. */
static inline size_t rcx_comm_ids_bytes(const struct rcx_comm_ids *ids)
{
    return ((size_t)1 << ids->bits) / 8 + 1;
}

/* The n-th id, from 0 and cyclically, that is not set in used; 0: none. */
uint32_t rcx_comm_id_free_in(const struct rcx_comm_ids *ids,
                             const unsigned char *used, uint64_t n);
/* The 63 ids from number window * 63 on that are free, as bits. */
uint64_t rcx_comm_ids_offer(const struct rcx_comm_ids *ids, uint32_t window);
/* The id of the lowest bit of an offer of this window; 0: it has none. */
uint32_t rcx_comm_ids_lowest(uint64_t offer, uint32_t window);
/* Set them as used, or as free. */
void rcx_comm_ids_set(struct rcx_comm_ids *ids, uint64_t offer, uint32_t window,
                      bool used);
/* The number of windows. */
uint32_t rcx_comm_ids_windows(const struct rcx_comm_ids *ids);
/* A communicator is freed. */
void rcx_comm_id_note_freed(struct rcx_comm_ids *ids, struct rcx_heap *heap,
                            uint32_t id, uint32_t group);
bool rcx_comm_id_was_freed(const struct rcx_comm_ids *ids, uint32_t id,
                           uint32_t group);

/* Set id as used. False: it is already. */
bool rcx_comm_id_get(struct rcx_comm_ids *ids, uint32_t id);
void rcx_comm_id_put(struct rcx_comm_ids *ids, uint32_t id);

#endif
