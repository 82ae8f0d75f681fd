/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Communicator id allocation: members of a new communicator agree on an id that
 * is free on all of them, by two allreduces: one of the ids in use, and one
 * that confirms the choice. A member may take part in several allocations at a
 * time and choose the same id in two of them. So each member takes the id, and
 * all tell whether they could. A split sends its colors and keys in the first
 * vector. The caller runs the allreduces.
 */
#ifndef RCX_CORE_RUN_COMM_CID_ALLOC_H
#define RCX_CORE_RUN_COMM_CID_ALLOC_H

#include "core/run/object/comm.h"

/* Color and key of a rank in a split. */
struct rcx_split_key {
    int32_t color, key;
};

/* Identifies a group and the attempt to make it. Combined by BOR; members
 * differ if the two words have a bit in common. */
struct rcx_group_check {
    uint32_t is, is_not;
};

/* Whether a rank could not take the id. */
struct rcx_cid_result {
    uint32_t is_rejected;
    struct rcx_group_check group;
};

enum {
    RCX_CID_RESULT_WORDS = sizeof(struct rcx_cid_result) / sizeof(uint32_t)
};

/* One rank's contribution; after the allreduces by BOR, the combined one. */
struct rcx_cid_alloc {
    struct rcx_cid_result *result;    /* begins the memory of all of it */
    unsigned char *used;              /* ids in use; begins the vector */
    unsigned char *flags;             /* followed by a struct rcx_group_check,
                                         and by the new communicator's group */
    struct rcx_split_key *split_keys; /* by rank */
    size_t bytes;                     /* of the vector */
    uint64_t attempt;
    uint32_t group; /* of the new communicator; chosen by rank 0 */
    uint32_t id;    /* chosen; 0: none is free now */
    bool has_id;    /* this rank has taken it */
};

rcx_status_t rcx_cid_alloc_open(struct rcx_context *context, size_t split_keys,
                                struct rcx_cid_alloc *b);
void rcx_cid_alloc_close(struct rcx_context *context, struct rcx_cid_alloc *b);

/* Before the first allreduce of an attempt: set b->used and what follows. */
void rcx_cid_propose(const struct rcx_comm *comm, struct rcx_cid_alloc *b);
/* After it: choose and take an id, and set b->result for the second. Errors are
 * the same on all members, and are logged. */
rcx_status_t rcx_cid_choose(const struct rcx_comm *comm,
                            struct rcx_cid_alloc *b);
/* After the second: whether all members have b->id; else it is free again, and
 * another attempt must follow. */
bool rcx_cid_is_settled(const struct rcx_comm *comm, struct rcx_cid_alloc *b);
/* RCX_ERR_MISMATCH: b->result is of an earlier group. */
rcx_status_t rcx_cid_check_result(const struct rcx_comm *comm,
                                  const struct rcx_cid_alloc *b);
/* The allocation ends with an error. After the first allreduce some members may
 * have the communicator: a group's are told that it has failed. The id is not
 * used again. */
void rcx_cid_give_up(struct rcx_comm *comm, struct rcx_cid_alloc *b,
                     rcx_status_t status);

/* This rank could not make the communicator of this id and group: tell the
 * members of comm, which may have made it, that it has failed. */
void rcx_cid_announce_not_made(struct rcx_comm *comm, uint32_t id,
                               uint32_t group, rcx_status_t status);

#endif
