/* SPDX-License-Identifier: BSD-3-Clause */
/* Closing of communicators, with what other modules keep for them. */
#ifndef RCX_CORE_RUN_COMM_COMM_CLOSE_H
#define RCX_CORE_RUN_COMM_COMM_CLOSE_H

struct rcx_comm;

void rcx_comm_close(struct rcx_comm *comm);
/*
 * Close comm if possible. NULL is allowed. A failed one is kept unless
 * rcx_comm_shrink() has replaced it: UCX may use its memory, and others may
 * send messages with its tags. One with an agreement is kept if others may ask
 * for the decision.
 */
void rcx_comm_close_or_keep(struct rcx_comm *comm);

/* A request that used comm is freed: a freed communicator is closed with the
 * last one. */
void rcx_comm_end_use(struct rcx_comm *comm);

/* Drop messages of comm that have arrived and for which no receive is
 * posted. */
void rcx_comm_drop_unexpected(const struct rcx_comm *comm);

#endif
