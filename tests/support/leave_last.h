/* SPDX-License-Identifier: BSD-3-Clause */
/* For programs in which a rank dies after collective operations. */
#ifndef RCX_TESTS_SUPPORT_LEAVE_LAST_H
#define RCX_TESTS_SUPPORT_LEAVE_LAST_H

#include "rcx/rcx.h"

/* All ranks of comm call it: rank LAST returns when no other rank is in an
 * operation that needs it. tests/job/rank.h has one that sends no messages. */
static inline rcx_status_t leave_last(rcx_comm_t *comm, int last)
{
    rcx_status_t status = RCX_OK;
    char byte = 0;

    if (rcx_comm_rank(comm) != last)
        return rcx_send(&byte, 1, RCX_BYTE, last, 0, comm);
    for (int i = 1; i < rcx_comm_size(comm) && status == RCX_OK; i++)
        status = rcx_recv(&byte, 1, RCX_BYTE, RCX_ANY_SOURCE, 0, comm, NULL);
    return status;
}

#endif
