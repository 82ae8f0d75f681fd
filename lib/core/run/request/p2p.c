/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Point to point: programs of one message, their start, and their end.
 */
#include "core/run/request/p2p.h"

#include "core/op/types.h"
#include "core/run/diag/describe.h"
#include "core/run/object/comm.h"

static void free_program(struct rcx_heap *heap, struct rcx_p2p *p)
{
    p->piece.pool.plan = NULL; /* the plan is part of p */
    rcx_pool_close(&p->piece.pool, heap);
    rcx_heap_free(heap, p);
}

void rcx_p2p_close(struct rcx_p2p_queue *mail)
{
    while (mail->idle) {
        struct rcx_p2p *p = mail->idle;

        mail->idle = p->next;
        free_program(mail->recorder.heap, p);
    }
    rcx_recorder_free(&mail->recorder);
}

/* ---- Programs ------------------------------------------------------------ */

static struct rcx_p2p *new_program(struct rcx_comm *comm)
{
    static const uint32_t first; /* of a step without successors */
    struct rcx_context *context = comm->context;
    struct rcx_p2p *p = rcx_heap_zalloc_lines(&context->heap, sizeof *p);
    struct rcx_exec *x;

    if (!p)
        return NULL;
    p->plan = (struct rcx_plan){.step_count = 1,
                                .ready_count = 1,
                                .steps = &p->step,
                                .successors = &first,
                                .ready = &first};
    p->piece.program = &p->program;
    p->piece.pool = (struct rcx_exec_pool){
        .setting = {.transport = context->transport,
                    .reducer = &p->program.combine.reducer,
                    .layout = context->layout},
        .heap = &context->heap};
    p->program.is_p2p = true;
    snprintf(p->program.text, sizeof p->program.text, "message");
    rcx_pool_open(&p->piece.pool, &p->plan);
    x = rcx_exec_get(&p->piece.pool);
    if (!x) {
        rcx_heap_free(&context->heap, p);
        return NULL;
    }
    rcx_exec_put(x); /* so that starts do not allocate */
    return p;
}

static void set_tag(struct rcx_p2p *p, const struct rcx_comm *comm)
{
    const struct rcx_tag_layout *l = &comm->context->layout;
    const bool from_any = p->call.peer == RCX_ANY_SOURCE;
    const int source = p->call.sends ? comm->rank : from_any ? 0 : p->call.peer;

    p->tag = rcx_tag_p2p(l, comm->id, (uint64_t)p->call.tag, (uint64_t)source);
    p->mask = from_any ? rcx_tag_any_source(l) : UINT64_MAX;
}

static void set_step(struct rcx_p2p *p, const struct rcx_comm *comm)
{
    const struct rcx_p2p_call *call = &p->call;
    struct rcx_exec *x = p->piece.pool.idle;
    const bool from_any = call->peer == RCX_ANY_SOURCE;
    const size_t stream_bytes = comm->context->transport->stream_bytes;

    p->step =
        (struct rcx_step){.kind = call->sends ? RCX_STEP_SEND : RCX_STEP_RECV,
                          .dst = RCX_BUFFER_OUT,
                          .left = RCX_BUFFER_IN,
                          .peer = from_any ? -1 : call->peer,
                          .count = call->count,
                          .is_final = !call->sends};
    x->elem_bytes = call->elem_bytes;
    x->streams =
        stream_bytes > 0 && call->count * call->elem_bytes >= stream_bytes;
    rcx_exec_set_step(x, 0);
    x->messages->tag = 0;
    x->messages->peer = from_any ? -1 : rcx_comm_context_rank(comm, call->peer);
}

/* The recorder has no field for a tag; messages have no segments. */
static void set_record(struct rcx_program *program,
                       const struct rcx_p2p_call *call)
{
    program->record = (struct rcx_record){.count = call->count,
                                          .segment = (uint64_t)call->tag,
                                          .type = call->type,
                                          .root = call->peer,
                                          .coll = call->sends};
}

rcx_status_t rcx_p2p_get(struct rcx_comm *comm, const struct rcx_p2p_call *call,
                         struct rcx_p2p **p_p)
{
    struct rcx_p2p *p = comm->p2p.idle;

    if (p)
        comm->p2p.idle = p->next;
    else
        p = new_program(comm);
    if (!p)
        return rcx_fail(&comm->context->log, RCX_ERR_NOMEM,
                        "no memory for a message");
    rcx_recorder_open(&comm->p2p.recorder);
    p->call = *call;
    p->has_info = false;
    p->program.pins = 1;
    p->program.combine.reducer.elem_bytes = call->elem_bytes;
    set_tag(p, comm);
    set_step(p, comm);
    set_record(&p->program, call);
    *p_p = p;
    return RCX_OK;
}

void rcx_p2p_put(struct rcx_p2p_queue *mail, struct rcx_p2p *p)
{
    p->next = mail->idle;
    mail->idle = p;
}

/* ---- Messages ------------------------------------------------------------ */

bool rcx_p2p_start(struct rcx_p2p *p, struct rcx_exec *x)
{
    /* an empty message may have no buffer, and C adds nothing to NULL */
    char *buffer = p->call.buffer ? p->call.buffer : (char *)x->own;

    p->has_info = false;
    x->tag_base = p->tag;
    x->base[RCX_BUFFER_IN] = x->base[RCX_BUFFER_OUT] = buffer;
    return p->call.sends ? rcx_exec_start(x)
                         : rcx_exec_start_masked(x, p->mask);
}

static rcx_status_t say(const struct rcx_comm *comm, const struct rcx_p2p *p,
                        size_t bytes, rcx_status_t status)
{
    char call[RCX_CALL_TEXT], name[RCX_COMM_TEXT];

    rcx_p2p_print(p, call, sizeof call);
    return rcx_fail(
        &comm->context->log, status,
        "%s, on %s: the message of rank %d has %zu bytes, %s %zu", call,
        rcx_comm_print(comm, name), p->info.source, bytes,
        status == RCX_ERR_TRUNCATED ? "and the buffer" : "no multiple of",
        status == RCX_ERR_TRUNCATED ? p->call.count * p->call.elem_bytes
                                    : p->call.elem_bytes);
}

rcx_status_t rcx_p2p_finish(struct rcx_p2p *p, const struct rcx_comm *comm,
                            const struct rcx_exec *x, rcx_status_t status)
{
    const struct rcx_message *m = x->messages;

    /* a message without a receive is dropped at finalize: ucp/drain.c */
    if (p->call.sends && status == RCX_OK)
        return rcx_comm_failure(comm);
    if (p->call.sends || status == RCX_ERR_CANCELED)
        return status;
    p->has_info = true;
    p->info = (rcx_recv_info_t){
        .source = (int)rcx_tag_low(m->tag, comm->context->layout.rank_bits),
        .tag = p->call.tag,
        .count = m->bytes / p->call.elem_bytes};
    if (status == RCX_OK && m->bytes % p->call.elem_bytes != 0)
        status = RCX_ERR_MISMATCH;
    return status == RCX_OK ? RCX_OK : say(comm, p, m->bytes, status);
}

bool rcx_p2p_warn_unreceived(const struct rcx_comm *comm,
                             const char *consequence)
{
    const struct rcx_tag_layout *l = &comm->context->layout;
    struct rcx_transport *t = comm->context->transport;
    char name[RCX_COMM_TEXT];
    struct rcx_arrival found;

    if (!t || !t->ops->probe(t, RCX_PROBE_OPEN, rcx_tag_p2p(l, comm->id, 0, 0),
                             rcx_tag_p2p_mask(l), &found))
        return false;
    rcx_warn(
        &comm->context->log,
        "%s is freed, but a message of rank %d with tag %d was not "
        "received%s",
        rcx_comm_print(comm, name), (int)rcx_tag_low(found.tag, l->rank_bits),
        (int)(rcx_tag_low(found.tag, l->rank_bits + l->fingerprint_bits +
                                         l->message_bits + l->sequence_bits) >>
              l->rank_bits),
        consequence);
    return true;
}
