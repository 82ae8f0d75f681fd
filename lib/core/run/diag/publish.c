/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What a status page says of the operations in flight: the first ones of each
 * communicator that is busy, and the ranks that they wait for.
 */
#include "core/run/diag/publish.h"

#include <stdio.h>

#include "core/op/types.h"
#include "core/run/diag/describe.h"

static void put_text(char text[RCX_STATUS_TEXT], const char *value)
{
    snprintf(text, RCX_STATUS_TEXT, "%s", value ? value : "");
}

static void put_call(struct rcx_status_op *op, const struct rcx_request *r)
{
    const struct rcx_program *program = r->program;
    const struct rcx_record *record = &program->record;
    const struct rcx_type_info *type = rcx_type_predefined(record->type);

    put_text(op->type, type ? type->name : "");
    op->count = record->count;
    op->peer = -1;
    if (program->is_p2p) {
        const struct rcx_p2p_call *call = &rcx_p2p_of(r->program)->call;

        put_text(op->call, call->sends ? "send" : "receive");
        put_text(op->algorithm, "");
        op->bytes = call->count * call->elem_bytes;
        op->tag = call->tag;
        if (call->peer != RCX_ANY_SOURCE)
            op->peer = rcx_comm_context_rank(r->comm, call->peer);
        return;
    }
    put_text(op->call, rcx_call_function(&program->call));
    put_text(op->algorithm, record->algo ? record->algo->name : "");
    op->bytes = record->count * program->combine.reducer.elem_bytes;
}

static void put_progress(struct rcx_status_op *op, const struct rcx_request *r)
{
    int ranks[RCX_STATUS_WAITS];

    op->segments = r->finished;
    op->step = op->steps = 0;
    for (unsigned i = 0; i < rcx_request_slots(r); i++) {
        const struct rcx_exec *x = r->slots[i];

        op->steps += x ? (uint32_t)x->plan->step_count : 0;
        op->step += x ? (uint32_t)(x->plan->step_count - x->steps_left) : 0;
    }
    op->waits = rcx_request_peers(r, ranks, RCX_STATUS_WAITS);
    for (int i = 0; i < op->waits; i++)
        op->waits_for[i] = rcx_comm_context_rank(r->comm, ranks[i]);
}

/* Write the operations from r on. Returns how many are written now. */
static uint32_t put_list(struct rcx_status_page *page, uint32_t n,
                         const struct rcx_request *r)
{
    for (; r && n < RCX_STATUS_OPS; r = r->next) {
        struct rcx_status_op *op = &page->ops[n++];

        op->comm = r->comm->id;
        op->tag = 0;
        op->is_blocking = rcx_request_waits_inside(r);
        op->number = rcx_request_number(r);
        op->begin = r->begin;
        put_call(op, r);
        put_progress(op, r);
    }
    return n;
}

void rcx_publish(struct rcx_context *context)
{
    struct rcx_status_page *page = context->status.page;
    uint32_t n = 0;

    if (!page)
        return;
    rcx_status_begin(page);
    for (const struct rcx_comm *c = context->comms.busy; c; c = c->next_busy) {
        n = put_list(page, n, c->first);
        n = put_list(page, n, c->p2p.first);
    }
    page->op_count = n;
    rcx_status_end(page);
    context->status.shows_ops = n > 0;
    atomic_store_explicit(&page->seen_ns, rcx_now_ns(), memory_order_relaxed);
}

void rcx_publish_without(struct rcx_context *context)
{
    rcx_publish(context);
    atomic_store_explicit(&context->status.page->ended_ns, rcx_now_ns(),
                          memory_order_relaxed);
}
