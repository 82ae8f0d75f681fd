/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Sending of control messages. See ctrl_dispatch.c for what a rank does with
 * those that it receives.
 */
#include "core/run/fault/ctrl_msg.h"

enum { SMALL = 32 };

static void send(struct rcx_context *context, int to, struct rcx_ctrl_msg *body,
                 size_t more)
{
    body->from = context->boot->rank;
    if (context->transport)
        context->transport->ops->send_ctrl(context->transport, to, body,
                                           sizeof *body + more);
}

void rcx_ctrl_reply(struct rcx_context *context, int to,
                    struct rcx_ctrl_msg *body)
{
    send(context, to, body, 0);
}

void rcx_ctrl_send_more(struct rcx_comm *comm, int rank,
                        struct rcx_ctrl_msg *body, size_t more)
{
    body->comm_id = comm->id;
    body->tag = (int16_t)comm->tag;
    body->group = comm->group;
    send(comm->context, rcx_comm_context_rank(comm, rank), body, more);
}

void rcx_ctrl_send(struct rcx_comm *comm, int rank, struct rcx_ctrl_msg *body)
{
    rcx_ctrl_send_more(comm, rank, body, 0);
}

void rcx_ctrl_send_all(struct rcx_comm *comm, struct rcx_ctrl_msg *body)
{
    for (int i = 0; i < comm->size; i++)
        if (i != comm->rank)
            rcx_ctrl_send(comm, i, body);
}

bool rcx_ctrl_is_small(const struct rcx_comm *comm)
{
    return comm->size <= SMALL;
}

int rcx_ctrl_neighbours(const struct rcx_comm *comm,
                        int ranks[RCX_NEIGHBOURS_MOST])
{
    int n = 0;

    for (int64_t d = 1; d < comm->size; d *= 2) {
        ranks[n++] = (int)((comm->rank + d) % comm->size);
        ranks[n++] = (int)((comm->rank + comm->size - d) % comm->size);
    }
    return n;
}

bool rcx_ctrl_is_about(const struct rcx_ctrl_msg *body,
                       const struct rcx_comm *comm)
{
    return comm->id == body->comm_id && comm->tag == body->tag &&
           comm->group == body->group && rcx_comm_index(comm, body->from) >= 0;
}
