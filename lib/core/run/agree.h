/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * How members of a communicator in the making agree on an id: by allreduces of
 * what each has in use. A split's wishes ride along.
 */
#ifndef RCX_CORE_AGREE_H
#define RCX_CORE_AGREE_H

#include "core/run/comm.h"

/* What a rank wants of a split. */
struct rcx_wish {
    int32_t color, key;
};

/* One rank's part, and in the end everybody's. */
struct rcx_ballot {
    int32_t *settled;    /* here the memory of all of it begins */
    unsigned char *used; /* ids: the vector begins here */
    unsigned char *flags;
    struct rcx_wish *wishes; /* of each rank */
    size_t bytes;
};

rcx_status_t rcx_ballot_open(struct rcx_context *context, size_t wishes,
                             struct rcx_ballot *b);
void rcx_ballot_close(struct rcx_context *context, struct rcx_ballot *b);

/*
 * An id that was free on all members of comm, and is taken now. Calls on comm,
 * and on second, which has the same members and may be the same.
 */
rcx_status_t rcx_agree(struct rcx_comm *comm, struct rcx_comm *second,
                       struct rcx_ballot *b, uint32_t *id_p);

#endif
