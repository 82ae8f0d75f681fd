/* SPDX-License-Identifier: BSD-3-Clause */
/* Messages of blocking calls. */
#include "core/run/wait/message.h"

#include "core/run/wait/blocking.h"

void rcx_message_start(struct rcx_comm *comm, struct rcx_p2p *p,
                       struct rcx_blocking_message *b)
{
    const uint64_t begin = comm->context->progress.ticks;

    b->p = p;
    b->x = rcx_exec_lend(&p->piece.pool);
    b->is_over = rcx_p2p_start(p, b->x);
    b->record =
        rcx_recorder_begin(&comm->p2p.recorder, &p->program.record, begin);
}

/* Polls for the message alone first, which is faster. */
static bool is_there(struct rcx_context *context, struct rcx_exec *x)
{
    struct rcx_transport *t = context->transport;
    unsigned polls = context->progress.polls;
    struct rcx_message *m = x->messages;
    const rcx_status_t status = m->kind == RCX_STEP_RECV && t->ops->expect
                                    ? t->ops->expect(t, m, &polls)
                                    : RCX_IN_PROGRESS;

    if (status == RCX_IN_PROGRESS)
        return rcx_exec_is_soon_over(context, x);
    m->status = status;
    return rcx_exec_advance(x, m);
}

bool rcx_message_is_soon_over(struct rcx_context *context,
                              struct rcx_blocking_message *b)
{
    b->is_over = b->is_over || is_there(context, b->x);
    return b->is_over && b->x->status == RCX_OK;
}

rcx_status_t rcx_message_end(struct rcx_comm *comm,
                             struct rcx_blocking_message *b,
                             rcx_recv_info_t *info_p)
{
    const rcx_status_t status = rcx_p2p_finish(b->p, comm, b->x, RCX_OK);

    rcx_recorder_end(&comm->p2p.recorder, b->record, status, rcx_ticks());
    if (info_p && status == RCX_OK)
        *info_p = b->p->info;
    rcx_p2p_put(&comm->p2p, b->p);
    return status;
}

void rcx_message_adopt(struct rcx_comm *comm, struct rcx_blocking_message *b,
                       struct rcx_request *r)
{
    rcx_exec_keep(&b->p->piece.pool);
    rcx_request_fill(r, comm, &b->p->program, NULL, NULL);
    rcx_request_adopt_message(r, b->x, b->is_over, b->record);
}
