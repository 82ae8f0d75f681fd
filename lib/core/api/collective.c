/* SPDX-License-Identifier: BSD-3-Clause */
#include "core/api/collective.h"

#include "core/op/types.h"

/* The vector as a whole and this rank's share of the result, in elements. */
struct extent {
    size_t in_count;
    size_t out_count;
    size_t own_offset; /* of this rank's block in the vector */
};

static const struct rcx_log *log_of(const struct rcx_arguments *a)
{
    return &a->comm->context->log;
}

static rcx_status_t too_large(const struct rcx_arguments *a)
{
    if (a->irregular)
        return rcx_fail(log_of(a), RCX_ERR_ARG,
                        "recvcounts: their sum times the size of datatype %d "
                        "overflows size_t",
                        a->type);
    return rcx_fail(log_of(a), RCX_ERR_ARG,
                    "count=%zu: count times the size of datatype %d overflows "
                    "size_t",
                    a->count, a->type);
}

static rcx_status_t measure(const struct rcx_arguments *a, struct extent *e)
{
    const size_t rank = (size_t)a->comm->rank, size = (size_t)a->comm->size;

    *e = (struct extent){.in_count = a->count, .out_count = a->count};
    if (!rcx_coll_gets(a->coll, a->comm->rank, a->root))
        e->out_count = 0;
    if (!rcx_coll_has_blocks(a->coll))
        return RCX_OK;
    if (!a->irregular) {
        e->own_offset = rank * a->count;
        return __builtin_mul_overflow(size, a->count, &e->in_count)
                   ? too_large(a)
                   : RCX_OK;
    }
    if (!a->recvcounts)
        return rcx_missing(log_of(a), "recvcounts");
    e->in_count = 0;
    e->out_count = a->recvcounts[rank];
    for (size_t i = 0; i < size; i++) {
        if (i == rank)
            e->own_offset = e->in_count;
        if (__builtin_add_overflow(e->in_count, a->recvcounts[i], &e->in_count))
            return too_large(a);
    }
    return RCX_OK;
}

/* Which of the in-place forms this is, if any. */
static rcx_status_t relate_buffers(const struct rcx_arguments *a,
                                   size_t elem_bytes, const struct extent *e,
                                   struct rcx_buffers *b)
{
    const bool receives = rcx_coll_gets(a->coll, a->comm->rank, a->root);
    const size_t in_bytes = e->in_count * elem_bytes;
    const size_t out_bytes = e->out_count * elem_bytes;

    b->alias = RCX_ALIAS_NONE;
    b->in = a->sendbuf;
    b->out = receives ? a->recvbuf : (char *)a->sendbuf;
    if (a->sendbuf == RCX_IN_PLACE && !receives)
        return rcx_fail(log_of(a), RCX_ERR_ARG,
                        "sendbuf=RCX_IN_PLACE: at a rank that is not the root "
                        "(%d) sendbuf holds the operand",
                        a->root);
    if (receives && a->recvbuf == RCX_IN_PLACE)
        return rcx_fail(log_of(a), RCX_ERR_ARG,
                        "recvbuf=RCX_IN_PLACE: only sendbuf may be that");
    if (a->sendbuf == RCX_IN_PLACE)
        b->in = a->recvbuf;
    if ((!b->in && in_bytes > 0) || (!b->out && out_bytes > 0))
        return rcx_fail(log_of(a), RCX_ERR_ARG,
                        "%s=NULL: NULL is fine only where nothing is %s",
                        a->sendbuf ? "recvbuf" : "sendbuf",
                        a->sendbuf ? "received" : "sent");
    if (!receives)
        return RCX_OK;
    if (b->in == b->out)
        b->alias = RCX_ALIAS_SAME;
    else if (rcx_coll_allows(a->coll, RCX_ALIAS_BLOCK) && out_bytes > 0 &&
             b->out == b->in + e->own_offset * elem_bytes)
        b->alias = RCX_ALIAS_BLOCK;
    else if (rcx_overlap(b->in, in_bytes, b->out, out_bytes))
        return rcx_fail(log_of(a), RCX_ERR_ARG,
                        "sendbuf=%p (%zu bytes) and recvbuf=%p (%zu bytes) "
                        "overlap: in place needs RCX_IN_PLACE or equal "
                        "pointers",
                        (const void *)b->in, in_bytes, (void *)b->out,
                        out_bytes);
    return RCX_OK;
}

static size_t elem_bytes_of(const struct rcx_arguments *a)
{
    const struct rcx_type_info *info = rcx_type_predefined(a->type);

    return info ? info->bytes
                : rcx_registry_extent(&a->comm->context->registry, a->type);
}

static rcx_status_t check(const struct rcx_arguments *a, struct extent *e,
                          struct rcx_buffers *b)
{
    size_t elem_bytes, bytes;
    rcx_status_t status;

    if (a->root < 0 || a->root >= a->comm->size)
        return rcx_fail(log_of(a), RCX_ERR_ARG, "root=%d: needs 0..%d", a->root,
                        a->comm->size - 1);
    elem_bytes = elem_bytes_of(a);
    if (elem_bytes == 0)
        return rcx_fail(log_of(a), RCX_ERR_ARG,
                        "datatype=%d: neither predefined (1..%d) nor created "
                        "by rcx_type_create()",
                        a->type, RCX_TYPE_END - 1);
    status = measure(a, e);
    if (status != RCX_OK)
        return status;
    if (__builtin_mul_overflow(e->in_count, elem_bytes, &bytes) ||
        bytes > PTRDIFF_MAX)
        return too_large(a);
    return relate_buffers(a, elem_bytes, e, b);
}

/* Check everything and find the plan, or compile it. */
rcx_status_t rcx_call_look_up(const struct rcx_arguments *a,
                              struct rcx_buffers *b,
                              struct rcx_program **program_p)
{
    struct rcx_call call = {.coll = (uint8_t)a->coll,
                            .type = a->type,
                            .op = a->op,
                            .root = a->root,
                            .irregular = a->irregular,
                            .recvcounts = a->recvcounts};
    struct extent e;
    const rcx_status_t status = check(a, &e, b);

    if (status != RCX_OK)
        return status;
    call.count = e.in_count;
    call.alias = (uint8_t)b->alias;
    return rcx_program_get(a->comm, &call, program_p);
}

static rcx_status_t make_request(const struct rcx_arguments *a, bool persistent,
                                 rcx_request_t **request_p)
{
    struct rcx_request *request;
    struct rcx_program *program;
    struct rcx_buffers b;
    rcx_status_t status;

    if (!request_p)
        return rcx_missing(log_of(a), "request_p");
    status = rcx_call_resolve(a, &b, &program);
    if (status == RCX_OK)
        status = rcx_request_new(a->comm, program, b.in, b.out, &request);
    if (status != RCX_OK)
        return status;
    request->persistent = persistent;
    a->comm->live_requests++;
    a->comm->context->requests.live++;
    rcx_registry_pin(&a->comm->context->registry, a->type, a->op, 1);
    if (!persistent)
        rcx_request_launch(request);
    if (request->state == RCX_REQUEST_ACTIVE)
        rcx_wake_sleeper(&a->comm->context->sleeper);
    *request_p = request;
    return RCX_OK;
}

rcx_status_t rcx_call_request(const struct rcx_arguments *a, bool persistent,
                              rcx_request_t **request_p)
{
    rcx_status_t status = rcx_call_enter(a);

    if (status != RCX_OK)
        return status;
    status = make_request(a, persistent, request_p);
    rcx_comm_leave(a->comm);
    return status;
}
