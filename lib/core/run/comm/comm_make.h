/* SPDX-License-Identifier: BSD-3-Clause */
/* New communicators from old ones, for the user. */
#ifndef RCX_CORE_RUN_COMM_COMM_MAKE_H
#define RCX_CORE_RUN_COMM_COMM_MAKE_H

#include "core/run/object/comm.h"

/* Make a communicator for the user, whose members have agreed on its id and on
 * its group (struct rcx_comm). members: ranks of parent, this one among
 * them. */
rcx_status_t rcx_comm_make(struct rcx_comm *parent, uint32_t id, uint32_t group,
                           const int members[], int n, struct rcx_comm **new_p);

/* By agreement of all members, or of the members of the group. */
rcx_status_t rcx_comm_make_split(struct rcx_comm *comm, int color, int key,
                                 struct rcx_comm **new_p);
rcx_status_t rcx_comm_make_group(struct rcx_comm *comm, int n,
                                 const int ranks[], int tag,
                                 struct rcx_comm **new_p);

#endif
