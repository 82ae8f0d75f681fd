/* SPDX-License-Identifier: BSD-3-Clause */
/* The rounds of RCX's own before and after a user's operation. */
#include "core/run/rounds.h"

#include "core/op/types.h"
#include "core/run/cache.h"
#include "core/run/describe.h"

/* The round after a user's op in which ranks agree that it failed nowhere. */
static rcx_status_t prepare_closing(struct rcx_request *r)
{
    const struct rcx_call call = {.coll = RCX_COLL_ALLREDUCE,
                                  .alias = RCX_ALIAS_SAME,
                                  .type = RCX_INT32,
                                  .op = RCX_MIN,
                                  .count = 1,
                                  .internal = true};

    r->total++;
    return rcx_program_get(r->comm, &call, &r->closing);
}

struct rcx_check_record rcx_round_record_of(const struct rcx_request *r)
{
    const struct rcx_comm *comm = r->comm;
    const struct rcx_call *call = &r->program->call;
    const struct rcx_combine *c = &r->program->combine;
    struct rcx_check_record record = {.rank = comm->rank};

    record.value[RCX_CHECK_NUMBER] = (int64_t)rcx_request_number(r);
    record.value[RCX_CHECK_COLLECTIVE] =
        call->internal ? RCX_COLL_COUNT : (int64_t)call->coll;
    record.value[RCX_CHECK_COUNT] = (int64_t)call->count;
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

/* The round before an operation in which ranks compare what they call. */
static rcx_status_t prepare_opening(struct rcx_request *r)
{
    const struct rcx_call call = {.coll = RCX_COLL_ALLREDUCE,
                                  .alias = RCX_ALIAS_SAME,
                                  .type = RCX_TYPE_CHECK,
                                  .op = RCX_OP_CHECK,
                                  .count = 1,
                                  .internal = true};

    r->total++;
    return rcx_program_get(r->comm, &call, &r->opening);
}

rcx_status_t rcx_rounds_prepare(struct rcx_request *r)
{
    rcx_status_t status = RCX_OK;

    r->opening = r->closing = NULL;
    if (r->program->has_opening)
        status = prepare_opening(r);
    if (r->program->has_closing && status == RCX_OK)
        status = prepare_closing(r);
    return status;
}
