/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Creation of a communicator, as a request of two stages: both allreduces of an
 * id allocation, which begin again if the id was rejected. They keep their
 * sequence numbers then: a member that has completed the second one knows that
 * all have completed the first, and messages between two ranks stay in order.
 * So operations that start meanwhile on the same communicator go on.
 */
#ifndef RCX_CORE_RUN_COMM_CREATION_H
#define RCX_CORE_RUN_COMM_CREATION_H

#include "core/run/comm/cid_alloc.h"
#include "core/run/object/creation.h"

/* Ranks of comm that make a group. */
struct rcx_group_call {
    struct rcx_comm *comm; /* NULL: a split */
    const int *ranks;
    int n;
    int tag;
    uint32_t key;     /* hash of its members and comm; not 0 */
    uint32_t attempt; /* its number among those of this tag and key */
};

/* The state of a creation. */
struct rcx_making {
    struct rcx_creation creation; /* first */
    struct rcx_cid_alloc ids;
    rcx_status_t status; /* of the allocation */
    struct rcx_comm **new_p;
    int color;                   /* of a split */
    struct rcx_group_call group; /* with ranks of its own */
    /* All members have agreed. comm: that of the request. */
    rcx_status_t (*make)(const struct rcx_making *m, struct rcx_comm *comm);
    /* The request has ended. NULL: nothing more is done. */
    void (*end)(const struct rcx_making *m, struct rcx_comm *comm,
                rcx_status_t status);
};

/* NULL: no memory, which is logged. split_keys: how many to agree on. */
struct rcx_making *rcx_making_open(struct rcx_context *context,
                                   size_t split_keys);
void rcx_making_close(struct rcx_context *context, struct rcx_making *m);

/*
 * Start the request, which owns m from now on, also after an error. *m->new_p
 * is set when it completes. blocks: the caller is in a call until then.
 */
rcx_status_t rcx_making_start(struct rcx_making *m, struct rcx_comm *comm,
                              bool blocks, struct rcx_request **request_p);

#endif
