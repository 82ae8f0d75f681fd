/* SPDX-License-Identifier: BSD-3-Clause */
/* Closing of communicators, with what other modules keep for them. */
#ifndef RCX_CORE_RUN_COMM_COMM_CLOSE_H
#define RCX_CORE_RUN_COMM_COMM_CLOSE_H

struct rcx_comm;

void rcx_comm_close(struct rcx_comm *comm);
/* Close comm if possible. A failed one is kept: UCX may use its memory, and the
 * tags of its messages must not be used again. NULL is allowed. */
void rcx_comm_close_or_keep(struct rcx_comm *comm);

#endif
