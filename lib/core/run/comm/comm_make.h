/* SPDX-License-Identifier: BSD-3-Clause */
/* New communicators from old ones, for the user. */
#ifndef RCX_CORE_RUN_COMM_COMM_MAKE_H
#define RCX_CORE_RUN_COMM_COMM_MAKE_H

#include "core/run/object/comm.h"

/* By agreement of all members, or of the members of the group. */
rcx_status_t rcx_comm_make_split(struct rcx_comm *comm, int color, int key,
                                 struct rcx_comm **new_p);
rcx_status_t rcx_comm_make_group(struct rcx_comm *comm, int n,
                                 const int ranks[], int tag,
                                 struct rcx_comm **new_p);

#endif
