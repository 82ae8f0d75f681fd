/* SPDX-License-Identifier: BSD-3-Clause */
#include "core/run/rounds.h"

#include "core/op/types.h"
#include "core/run/check.h"
#include "core/run/describe.h"
#include "core/run/failure.h"

static const struct rcx_call opening = {.coll = RCX_COLL_ALLREDUCE,
                                        .alias = RCX_ALIAS_SAME,
                                        .type = RCX_TYPE_CHECK,
                                        .op = RCX_OP_CHECK,
                                        .count = 1,
                                        .internal = true};
static const struct rcx_call closing = {.coll = RCX_COLL_ALLREDUCE,
                                        .alias = RCX_ALIAS_SAME,
                                        .type = RCX_INT32,
                                        .op = RCX_MIN,
                                        .count = 1,
                                        .internal = true};

/* ---- Stages ------------------------------------------------------------------ */

static rcx_status_t add(struct rcx_request *r, unsigned at,
                        const struct rcx_call *call)
{
    struct rcx_stage stage = {.program = NULL};
    const rcx_status_t status = rcx_program_get(r->comm, call, &stage.program);

    if (status != RCX_OK)
        return status;
    for (unsigned i = r->stage_count++; i > at; i--)
        r->stages[i] = r->stages[i - 1];
    r->stages[at] = stage;
    return RCX_OK;
}

rcx_status_t rcx_request_add_rounds(struct rcx_request *r)
{
    rcx_status_t status = RCX_OK;

    r->kind |= RCX_REQUEST_PLACED;
    r->bundle = NULL;
    r->stage_count = 1;
    if (r->program->has_opening)
        status = add(r, 0, &opening);
    if (r->program->has_closing && status == RCX_OK)
        status = add(r, r->stage_count, &closing);
    return status;
}

void rcx_request_drop_rounds(struct rcx_request *r)
{
    for (unsigned i = 0; i < r->stage_count; i++)
        if (r->stages[i].program != r->program)
            rcx_program_unpin(&r->comm->cache, r->stages[i].program);
}

/* ---- The opening ------------------------------------------------------------- */

static struct rcx_check_record *check_of(struct rcx_exec *x)
{
    return (struct rcx_check_record *)(void *)x->own;
}

/* What this rank calls, as any rank would see it: handles of users' types and
 * ops count differently, what they mean does not. */
static struct rcx_check_record record_of(const struct rcx_request *r)
{
    const struct rcx_comm *comm = r->comm;
    const struct rcx_call *call = &r->program->call;
    const struct rcx_combine *c = &r->program->combine;
    struct rcx_check_record record = {.rank = comm->rank};

    record.value[RCX_CHECK_NUMBER] = (int64_t)rcx_request_number(r);
    record.value[RCX_CHECK_COLLECTIVE] =
        call->internal ? RCX_COLL_COUNT : (int64_t)call->coll;
    record.value[RCX_CHECK_COUNT] = (int64_t)rcx_call_told(call);
    record.value[RCX_CHECK_COUNTS] =
        rcx_program_counts_hash(r->program, comm->size);
    record.value[RCX_CHECK_TYPE] = rcx_type_predefined(call->type)
                                       ? rcx_type_canonical(call->type)
                                       : -(int64_t)c->reducer.elem_bytes;
    record.value[RCX_CHECK_OP] =
        rcx_op_predefined(call->op) ? call->op : -(int64_t)c->op_flags - 1;
    record.value[RCX_CHECK_ROOT] = call->root;
    return record;
}

/* No data has moved yet; none will. All ranks come to the same verdict, and go
 * on together, unless they do not even agree on which call this is. */
static void judge(struct rcx_request *r, const struct rcx_check_record *check)
{
    const int ranks[] = {check->rank, check->other_rank};
    char call[RCX_CALL_TEXT], text[RCX_TEXT_TOLD];
    int used;

    if (check->value[RCX_CHECK_SAME] == RCX_CHECK_SAME)
        return;
    used = snprintf(text, sizeof text, "%s: ", rcx_request_print(r, call));
    rcx_check_print(check, text + used, sizeof text - (size_t)used);
    r->status = RCX_ERR_MISMATCH;
    rcx_window_give_back(&r->comm->window, r);
    if (check->value[RCX_CHECK_SAME] == RCX_CHECK_NUMBER)
        rcx_comm_fail_untold(r->comm, RCX_ERR_MISMATCH, ranks, 2, text);
    else
        rcx_comm_refuse(r->comm, ranks, 2, text);
}

/* ---- The closing: that a user's op failed nowhere ---------------------------- */

static int32_t *verdict_of(struct rcx_exec *x)
{
    return (int32_t *)(void *)x->own;
}

/* ---- Both -------------------------------------------------------------------- */

void rcx_round_begin(struct rcx_request *r, struct rcx_exec *x)
{
    if (rcx_request_is_opening(r)) {
        *check_of(x) = record_of(r);
        rcx_window_close_behind(&r->comm->window, r);
    } else {
        *verdict_of(x) = r->status;
    }
}

bool rcx_round_end(struct rcx_request *r, struct rcx_exec *x)
{
    if (rcx_request_is_opening(r)) {
        r->comm->window.judged = NULL;
        judge(r, check_of(x));
    } else {
        r->status = (rcx_status_t)*verdict_of(x);
    }
    return r->status == RCX_OK;
}
