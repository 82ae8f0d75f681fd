/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A message of a blocking call, which mostly completes within some polls. Until
 * then it has no request: what a request costs is a third of a short message.
 * One that takes longer, or fails, becomes a request, like a blocking
 * collective (blocking.h).
 */
#ifndef RCX_CORE_RUN_WAIT_MESSAGE_H
#define RCX_CORE_RUN_WAIT_MESSAGE_H

#include "core/run/request/p2p.h"
#include "core/run/request/request.h"

struct rcx_blocking_message {
    struct rcx_p2p *p;
    struct rcx_exec *x; /* lent */
    uint64_t record;
    bool is_over;
};

/* Start the message of p. Until rcx_message_end() or rcx_message_adopt() the
 * caller calls nothing else that progresses. */
void rcx_message_start(struct rcx_comm *comm, struct rcx_p2p *p,
                       struct rcx_blocking_message *b);
/* Whether it completes well within some polls in which nothing else happens. */
bool rcx_message_is_soon_over(struct rcx_context *context,
                              struct rcx_blocking_message *b);
/* It has. Returns its final status, and puts p back. */
rcx_status_t rcx_message_end(struct rcx_comm *comm,
                             struct rcx_blocking_message *b,
                             rcx_recv_info_t *info_p);
/* Make it request r, which is active then or has ended. */
void rcx_message_adopt(struct rcx_comm *comm, struct rcx_blocking_message *b,
                       struct rcx_request *r);

#endif
