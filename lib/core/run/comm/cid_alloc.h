/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Communicator id allocation: members of a new communicator agree on an id that
 * is free on all of them, by allreduces. A split sends its colors and keys in
 * the same vector.
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

/* One rank's contribution; after the allreduce, the combined one. */
struct rcx_cid_alloc {
    struct rcx_cid_result *result;    /* begins the memory of all of it */
    unsigned char *used;              /* ids in use; begins the vector */
    unsigned char *flags;             /* followed by a struct rcx_group_check,
                                         and by the new communicator's group */
    struct rcx_split_key *split_keys; /* by rank */
    size_t bytes;
    uint32_t group; /* of the new communicator; chosen by rank 0 */
};

rcx_status_t rcx_cid_alloc_open(struct rcx_context *context, size_t split_keys,
                                struct rcx_cid_alloc *b);
void rcx_cid_alloc_close(struct rcx_context *context, struct rcx_cid_alloc *b);

/*
 * Take an id that is free on all members of comm. Runs calls on comm and on
 * second, which has the same members and may be the same communicator. For a
 * group in the making the id is confirmed in a second allreduce, so a member
 * that has it knows that all others chose it. A member that fails then tells
 * those that may have made the communicator.
 */
rcx_status_t rcx_cid_alloc_run(struct rcx_comm *comm, struct rcx_comm *second,
                               struct rcx_cid_alloc *b, uint32_t *id_p);

/* This rank could not make the communicator of this id and group: tell the
 * members of comm, which may have made it, that it has failed. */
void rcx_cid_announce_not_made(struct rcx_comm *comm, uint32_t id,
                               uint32_t group, rcx_status_t status);

#endif
