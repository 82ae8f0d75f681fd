/* SPDX-License-Identifier: BSD-3-Clause */
/* New communicators from old ones, for the user. */
#ifndef RCX_CORE_RUN_COMM_COMM_MAKE_H
#define RCX_CORE_RUN_COMM_COMM_MAKE_H

#include "core/run/object/comm.h"

/* A communicator of all ranks of the context. */
rcx_status_t rcx_comm_make_full(struct rcx_context *context, uint32_t id,
                                struct rcx_comm **comm_p);

/* A communicator of ranks of parent, this one among them. It has parent's
 * deadline and settings. */
rcx_status_t rcx_comm_derive(struct rcx_comm *parent, uint32_t id,
                             const int ranks[], int n, struct rcx_comm **new_p);

/* The same for the user. Its members have agreed on its id and on its group
 * (struct rcx_comm). It may have failed. */
rcx_status_t rcx_comm_make(struct rcx_comm *parent, uint32_t id, uint32_t group,
                           const int ranks[], int n, struct rcx_comm **new_p);

/* Handle the failure of a new communicator at once, outside of progress. */
void rcx_comm_attend(struct rcx_comm *comm);

/*
 * Start to make one for the user, by agreement of all members, or of the
 * members of the group. *new_p is set when the request completes. blocks: the
 * caller waits until then.
 */
rcx_status_t rcx_comm_start_split(struct rcx_comm *comm, int color, int key,
                                  bool blocks, struct rcx_comm **new_p,
                                  struct rcx_request **request_p);
rcx_status_t rcx_comm_start_group(struct rcx_comm *comm, int n,
                                  const int ranks[], int tag, bool blocks,
                                  struct rcx_comm **new_p,
                                  struct rcx_request **request_p);

#endif
