/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Stages before and behind a user's operation: the comparison of calls, the
 * lengths of blocks in transit, and the success of user-defined ops. Those of
 * exact sums are in exact_stages.c.
 */
#include "core/run/request/stages.h"

#include <string.h>

#include "core/op/types.h"
#include "core/run/diag/describe.h"
#include "core/run/fault/failure.h"
#include "core/run/plan/check.h"
#include "core/run/plan/compile.h"
#include "core/run/request/exact_stages.h"
#include "core/run/request/seq_window.h"

static const struct rcx_call opening = {.coll = RCX_COLL_ALLREDUCE,
                                        .alias = RCX_ALIAS_SAME,
                                        .type = RCX_TYPE_CHECK,
                                        .op = RCX_OP_CHECK,
                                        .count = 1,
                                        .role = RCX_CALL_OWN};
static const struct rcx_call closing = {.coll = RCX_COLL_ALLREDUCE,
                                        .alias = RCX_ALIAS_SAME,
                                        .type = RCX_INT32,
                                        .op = RCX_MIN,
                                        .count = 1,
                                        .role = RCX_CALL_OWN};

/* Counts of the user's call may lie in place, so this one does, too. */
static struct rcx_call first_step(const struct rcx_request *r)
{
    return (struct rcx_call){.coll = r->program->call.coll,
                             .alias = RCX_ALIAS_SAME,
                             .type = RCX_UINT64,
                             .op = RCX_NO_OP,
                             .count = (size_t)r->comm->size,
                             .role = RCX_CALL_FIRST_STEP};
}
_Static_assert(sizeof(size_t) == sizeof(uint64_t), "counts are sent as uint64");

/* ---- Stages -------------------------------------------------------------- */

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

rcx_status_t rcx_request_add_stages(struct rcx_request *r)
{
    rcx_status_t status = RCX_OK;

    r->kind |= RCX_REQUEST_PLACED;
    r->veclist = NULL;
    r->stage_count = 1;
    r->exact = NULL;
    if (r->program->has_first_step) {
        const struct rcx_call call = first_step(r);

        status = add(r, 0, &call);
    }
    if (r->program->sums_in_stages)
        status = rcx_exact_add_stages(r);
    if (r->program->has_prologue && status == RCX_OK)
        status = add(r, 0, &opening);
    if (r->program->has_epilogue && status == RCX_OK)
        status = add(r, r->stage_count, &closing);
    return status;
}

rcx_status_t rcx_request_append_stage(struct rcx_request *r,
                                      const struct rcx_call *call)
{
    return add(r, r->stage_count, call);
}

void rcx_request_free_stages(struct rcx_request *r)
{
    for (unsigned i = 0; i < r->stage_count; i++)
        if (r->stages[i].program != r->program)
            rcx_program_unpin(r->comm->cache, r->stages[i].program);
    rcx_exact_free(r);
}

void rcx_request_take_over(struct rcx_request *r)
{
    struct rcx_program *const over[] = {r->stage->program, r->program};
    unsigned i = (unsigned)(r->stage - r->stages);

    r->stage_count--;
    r->program = r->stages[i + 1].program;
    for (; i < r->stage_count; i++)
        r->stages[i] = r->stages[i + 1];
    rcx_program_unpin(r->comm->cache, over[0]);
    rcx_program_unpin(r->comm->cache, over[1]);
}

/* ---- The prologue: comparison of calls ----------------------------------- */

static struct rcx_check_record *check_of(struct rcx_exec *x)
{
    return (struct rcx_check_record *)(void *)x->own;
}

/* The call as all ranks see it: handles of users' types and ops may differ
 * between ranks, their meaning does not. */
static struct rcx_check_record record_of(const struct rcx_request *r)
{
    const struct rcx_comm *comm = r->comm;
    const struct rcx_call *call = &r->program->call;
    const struct rcx_combine *c = &r->program->combine;
    struct rcx_check_record record = {.rank = comm->rank};

    record.value[RCX_CHECK_NUMBER] = (int64_t)rcx_request_number(r);
    record.value[RCX_CHECK_COLLECTIVE] =
        rcx_call_is_users(call) ? (int64_t)call->coll : RCX_COLL_COUNT;
    record.value[RCX_CHECK_COUNT] = (int64_t)rcx_call_told(call);
    record.value[RCX_CHECK_COUNTS] =
        rcx_program_counts_hash(r->program, comm->size);
    record.value[RCX_CHECK_TYPE] = rcx_type_predefined(call->type)
                                       ? rcx_type_canonical(call->type)
                                       : -(int64_t)c->reducer.elem_bytes;
    record.value[RCX_CHECK_OP] =
        rcx_op_predefined(call->op) ? call->op : -(int64_t)c->op_flags - 1;
    record.value[RCX_CHECK_ROOT] = call->root;
    if (rcx_call_has_neighbors(call))
        record.balance = rcx_check_balance(&r->program->neighbors, comm->rank);
    return record;
}

/* No data has moved, and none will. All ranks come to the same result and
 * continue in step, unless they do not even agree on the number of the call. */
static void report_mismatch(struct rcx_request *r,
                            const struct rcx_check_record *check)
{
    const int ranks[] = {check->rank, check->other_rank};
    char call[RCX_CALL_TEXT], text[RCX_REASON_TEXT];
    int used;

    const bool is_same = check->value[RCX_CHECK_SAME] == RCX_CHECK_SAME;

    if (is_same && check->balance == 0)
        return;
    used = snprintf(text, sizeof text, "%s: ", rcx_request_print(r, call));
    if (is_same)
        snprintf(text + used, sizeof text - (size_t)used,
                 "what some ranks send is not what their neighbours receive");
    else
        rcx_check_print(check, text + used, sizeof text - (size_t)used);
    r->status = RCX_ERR_MISMATCH;
    rcx_seq_window_return(&r->comm->window, r);
    if (check->value[RCX_CHECK_SAME] == RCX_CHECK_NUMBER)
        rcx_comm_fail_local(r->comm, RCX_ERR_MISMATCH, ranks, 2, text);
    else
        rcx_comm_reject_call(r->comm, ranks, is_same ? 0 : 2, text);
}

/* ---- The epilogue: whether a user-defined op failed on any rank ---------- */

static int32_t *failed_flag(struct rcx_exec *x)
{
    return (int32_t *)(void *)x->own;
}

/* ---- The first step ------------------------------------------------------ */

/* One count for each rank, behind the rest of its scratch. */
static size_t *counts_of(struct rcx_exec *x)
{
    const size_t n = rcx_piece_of(x)->program->call.count;

    return (size_t *)(void *)x->base[RCX_BUFFER_TMP] + x->plan->scratch - n;
}

/* Whether the lengths that senders told are those that this rank receives. */
static bool agrees(struct rcx_request *r, const size_t told[])
{
    const size_t *const gotten = r->program->call.lists[RCX_CALL_GOTTEN];
    char call[RCX_CALL_TEXT];
    int i = 0;

    while (i < r->comm->size && told[i] == gotten[i])
        i++;
    if (i == r->comm->size)
        return true;
    rcx_comm_fail(r->comm, RCX_ERR_MISMATCH, &i, 1,
                  "%s: rank %d sends %zu elements to rank %d, where "
                  "recvcounts[%d] is %zu",
                  rcx_request_print(r, call), i, told[i], r->comm->rank, i,
                  gotten[i]);
    return false;
}

/* Scratch begins with the lengths of blocks in transit. */
static rcx_status_t set_counts(struct rcx_request *r, struct rcx_exec *x)
{
    struct rcx_stage *next = &r->stages[r->stage - r->stages + 1];
    const size_t *passing = (void *)x->base[RCX_BUFFER_TMP];
    struct rcx_program *program;
    rcx_status_t status;

    if (!agrees(r, counts_of(x)))
        return RCX_ERR_MISMATCH;
    status = rcx_program_follow(r->comm, r->program, passing, &program);
    if (status == RCX_OK)
        next->program = program;
    return status;
}

/* ---- All stages ---------------------------------------------------------- */

static void set_vector(struct rcx_exec *x, void *vector)
{
    x->base[RCX_BUFFER_IN] = x->base[RCX_BUFFER_OUT] = vector;
}

void rcx_stage_begin(struct rcx_request *r, struct rcx_exec *x)
{
    set_vector(x, x->own);
    if (rcx_request_is_prologue(r)) {
        *check_of(x) = record_of(r);
        rcx_seq_window_gate(&r->comm->window, r);
    } else if (rcx_request_is_first_step(r)) {
        set_vector(x, counts_of(x));
        memcpy(counts_of(x), r->program->call.lists[RCX_CALL_COUNTS],
               (size_t)r->comm->size * sizeof(size_t));
    } else if (r->exact) {
        rcx_exact_stage_begin(r, x);
    } else {
        *failed_flag(x) = r->status;
    }
}

bool rcx_stage_end(struct rcx_request *r, struct rcx_exec *x)
{
    if (rcx_request_is_first_step(r)) {
        r->status = set_counts(r, x);
    } else if (rcx_request_is_prologue(r)) {
        r->comm->window.gate = NULL;
        report_mismatch(r, check_of(x));
    } else if (r->exact) {
        r->status = rcx_exact_stage_end(r, x);
    } else {
        r->status = (rcx_status_t)*failed_flag(x);
    }
    return r->status == RCX_OK;
}
