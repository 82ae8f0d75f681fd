/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Ranks of communicators, and programs for them. A program depends on the ranks
 * and on the settings of a communicator, not on its id, so a communicator that
 * is made of another one with the same ranks uses what was compiled for that.
 */
#ifndef RCX_CORE_RUN_PLAN_MEMBERS_H
#define RCX_CORE_RUN_PLAN_MEMBERS_H

#include "core/run/object/comm.h"

/* Takes over ranks, also on failure. It has one user. NULL: no memory. */
struct rcx_members *rcx_members_create(struct rcx_context *context, int size,
                                       int *ranks);
/* The same with a copy of the ranks, and no programs. */
struct rcx_members *rcx_members_copy(struct rcx_context *context,
                                     const struct rcx_members *members);
/* comm uses these, with the same ranks, from now on. */
void rcx_members_replace(struct rcx_comm *comm, struct rcx_members *members);
/* One user less. NULL: nothing. */
void rcx_members_put(struct rcx_context *context, struct rcx_members *members);

#endif
