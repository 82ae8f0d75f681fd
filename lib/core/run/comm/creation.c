/* SPDX-License-Identifier: BSD-3-Clause */
/* The request that makes a communicator. */
#include "core/run/comm/creation.h"

#include "core/run/comm/comm_close.h"
#include "core/run/request/request.h"

static struct rcx_making *making_of(const struct rcx_request *r)
{
    return (struct rcx_making *)(void *)r->creation;
}

struct rcx_making *rcx_making_open(struct rcx_context *context,
                                   size_t split_keys)
{
    struct rcx_making *m = rcx_heap_zalloc(&context->heap, sizeof *m);

    if (!m) {
        rcx_log_line(&context->log, RCX_LOG_ERROR,
                     "no memory to make a communicator");
        return NULL;
    }
    if (rcx_cid_alloc_open(context, split_keys, &m->ids) == RCX_OK)
        return m;
    rcx_heap_free(&context->heap, m);
    return NULL;
}

void rcx_making_close(struct rcx_context *context, struct rcx_making *m)
{
    rcx_cid_alloc_close(context, &m->ids);
    rcx_heap_free(&context->heap, (void *)(uintptr_t)m->group.ranks);
    rcx_heap_free(&context->heap, m);
}

/* ---- What the request does between its stages ---------------------------- */

/* Groups in the making share two ids, one for each stage, and the number of
 * both stages is the caller's tag. */
static void change_id(struct rcx_request *r, bool confirms)
{
    const struct rcx_comm *comm = r->comm;
    const struct rcx_tag_layout *layout = &comm->context->layout;

    if (!rcx_comm_is_for_groups(comm->id))
        return;
    r->mark ^= rcx_tag_base(layout, RCX_COMM_ID_GROUP, 0) ^
               rcx_tag_base(layout, RCX_COMM_ID_SETTLE, 0);
    r->sequence = (uint64_t)comm->tag - (confirms ? r->launched : 0);
}

static enum rcx_creation_step next(struct rcx_request *r)
{
    struct rcx_making *m = making_of(r);

    if (r->stage->program == r->program) {
        m->status = rcx_cid_choose(r->comm, &m->ids);
        if (m->status != RCX_OK)
            return RCX_CREATION_OVER;
        change_id(r, true);
        return RCX_CREATION_CONFIRM;
    }
    m->status = rcx_cid_check_result(r->comm, &m->ids);
    if (m->status != RCX_OK || rcx_cid_is_settled(r->comm, &m->ids))
        return RCX_CREATION_OVER;
    rcx_cid_propose(r->comm, &m->ids);
    change_id(r, false);
    return RCX_CREATION_AGAIN;
}

static rcx_status_t make(const struct rcx_making *m, struct rcx_comm *comm)
{
    const rcx_status_t status = m->make(m, comm);

    if (!*m->new_p) /* a split may make none */
        rcx_comm_id_put(&comm->context->comms.ids, m->ids.id);
    return status;
}

static void end(struct rcx_request *r)
{
    struct rcx_making *m = making_of(r);

    if (r->status == RCX_OK)
        r->status = m->status;
    if (r->status != RCX_OK)
        rcx_cid_give_up(r->comm, &m->ids, r->status);
    else
        r->status = make(m, r->comm);
    if (m->end)
        m->end(m, r->comm, r->status);
}

static void destroy(struct rcx_request *r)
{
    struct rcx_making *m = making_of(r);
    struct rcx_comm *parent = m->group.comm;

    rcx_making_close(r->comm->context, m);
    if (parent)
        rcx_comm_end_use(parent);
}

/* ---- Start --------------------------------------------------------------- */

static rcx_status_t create(struct rcx_making *m, struct rcx_comm *comm,
                           struct rcx_request **request_p)
{
    const struct rcx_call propose = {.coll = RCX_COLL_ALLREDUCE,
                                     .alias = RCX_ALIAS_SAME,
                                     .type = RCX_BYTE,
                                     .op = RCX_BOR,
                                     .count = m->ids.bytes,
                                     .role = RCX_CALL_CREATION};
    struct rcx_program *program;
    rcx_status_t status = rcx_program_get(comm, &propose, &program);

    if (status == RCX_OK)
        status = rcx_request_create(comm, program, m->ids.used, m->ids.used,
                                    request_p);
    if (status != RCX_OK) {
        rcx_making_close(comm->context, m);
        return status;
    }
    (*request_p)->creation = &m->creation;
    if (m->group.comm)
        m->group.comm->live_requests++;
    return RCX_OK;
}

static rcx_status_t add_confirm(struct rcx_making *m, struct rcx_request *r)
{
    const struct rcx_call confirm = {.coll = RCX_COLL_ALLREDUCE,
                                     .alias = RCX_ALIAS_SAME,
                                     .type = RCX_UINT32,
                                     .op = RCX_BOR,
                                     .count = RCX_CID_RESULT_WORDS,
                                     .role = RCX_CALL_OWN};
    const rcx_status_t status = rcx_request_append_stage(r, &confirm);
    struct rcx_stage *stage = &r->stages[r->stage_count - 1];

    if (status == RCX_OK)
        stage->in = stage->out = (char *)m->ids.result;
    return status;
}

rcx_status_t rcx_making_start(struct rcx_making *m, struct rcx_comm *comm,
                              bool blocks, struct rcx_request **request_p)
{
    struct rcx_request *r;
    rcx_status_t status;

    m->creation = (struct rcx_creation){next, end, destroy};
    *m->new_p = NULL;
    status = create(m, comm, &r);
    if (status != RCX_OK)
        return status;
    status = add_confirm(m, r);
    if (status != RCX_OK) {
        rcx_request_destroy(r);
        return status;
    }
    rcx_cid_propose(comm, &m->ids);
    if (rcx_comm_is_for_groups(comm->id))
        comm->window.next = (uint64_t)comm->tag;
    r->kind |= blocks ? RCX_REQUEST_INSIDE : 0;
    *request_p = r;
    rcx_request_launch(r);
    return RCX_OK;
}
