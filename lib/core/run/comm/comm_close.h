/* SPDX-License-Identifier: BSD-3-Clause */
/* How communicators go, with all that other modules keep for them. */
#ifndef RCX_CORE_RUN_COMM_COMM_CLOSE_H
#define RCX_CORE_RUN_COMM_COMM_CLOSE_H

struct rcx_comm;

void rcx_comm_close(struct rcx_comm *comm);
/* As far as it can be: of one that failed, UCX may have some memory, and nobody
 * is to use its messages' tags again. NULL is fine. */
void rcx_comm_retire(struct rcx_comm *comm);

#endif
