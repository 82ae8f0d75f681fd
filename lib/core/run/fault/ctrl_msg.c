/* SPDX-License-Identifier: BSD-3-Clause */
#include "core/run/fault/ctrl_msg.h"

void rcx_note_answer(struct rcx_context *context, int to,
                     struct rcx_note_body *body)
{
    body->from = context->boot->rank;
    if (context->transport)
        context->transport->ops->notify(context->transport, to, body,
                                        sizeof *body);
}

void rcx_note_send(struct rcx_comm *comm, int rank, struct rcx_note_body *body)
{
    body->comm_id = comm->id;
    body->tag = (int16_t)comm->tag;
    body->group = comm->group;
    rcx_note_answer(comm->context, rcx_comm_context_rank(comm, rank), body);
}

void rcx_note_send_all(struct rcx_comm *comm, struct rcx_note_body *body)
{
    for (int i = 0; i < comm->size; i++)
        if (i != comm->rank)
            rcx_note_send(comm, i, body);
}

bool rcx_note_is_about(const struct rcx_note_body *body,
                       const struct rcx_comm *comm)
{
    return comm->id == body->comm_id && comm->tag == body->tag &&
           comm->group == body->group && rcx_comm_index(comm, body->from) >= 0;
}
