/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * How members of a communicator in the making agree on an id: by allreduces of
 * what each has in use. A split's wishes ride along.
 */
#ifndef RCX_CORE_RUN_COMM_CID_ALLOC_H
#define RCX_CORE_RUN_COMM_CID_ALLOC_H

#include "core/run/object/comm.h"

/* What a rank wants of a split. */
struct rcx_wish {
    int32_t color, key;
};

/* Of which attempt to make which group a vector is: combined by BOR, the two
 * have a bit in common where ranks' differ. */
struct rcx_whose {
    uint32_t is, is_not;
};

/* Whether a rank could not take the id that all came to. */
struct rcx_verdict {
    uint32_t is_refused;
    struct rcx_whose whose;
};

/* One rank's part, and in the end everybody's. */
struct rcx_ballot {
    struct rcx_verdict *verdict; /* here the memory of all of it begins */
    unsigned char *used;         /* ids: the vector begins here */
    unsigned char *flags;        /* and behind them a struct rcx_whose */
    struct rcx_wish *wishes;     /* of each rank */
    size_t bytes;
};

rcx_status_t rcx_ballot_open(struct rcx_context *context, size_t wishes,
                             struct rcx_ballot *b);
void rcx_ballot_close(struct rcx_context *context, struct rcx_ballot *b);

/*
 * An id that was free on all members of comm, and is taken now. Calls on comm,
 * and on second, which has the same members and may be the same. For a group in
 * the making it is taken in a second round, so that a member that has it knows
 * that all the others have come to it; a member that fails then tells those that
 * may have the new communicator.
 */
rcx_status_t rcx_agree(struct rcx_comm *comm, struct rcx_comm *second,
                       struct rcx_ballot *b, uint32_t *id_p);

#endif
