/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The collectives as users call them: arguments are checked here, before
 * anything is sent, and become a struct rcx_call. All forms of all collectives
 * then go one way.
 */
#include "core/api/arguments.h"
#include "core/op/types.h"
#include "core/run/cache.h"
#include "core/run/enter.h"
#include "core/run/request.h"
#include "core/run/watch.h"

/* What the user gave, before it is checked. */
struct arguments {
    enum rcx_coll coll;
    const void *sendbuf;
    void *recvbuf;
    size_t count;             /* reduce_scatter_block: of one block */
    const size_t *recvcounts; /* where irregular */
    bool irregular;           /* reduce_scatter */
    rcx_datatype_t type;
    rcx_op_t op;
    int root;
    struct rcx_comm *comm;
};

/* The vector as a whole and this rank's share of the result, in elements. */
struct extent {
    size_t in_count;
    size_t out_count;
    size_t own_offset; /* of this rank's block in the vector */
};

/* Checked: the buffers, and how they lie to each other. */
struct buffers {
    const char *in;
    char *out;
    enum rcx_alias alias;
};

static const struct rcx_log *log_of(const struct arguments *a)
{
    return &a->comm->context->log;
}

static rcx_status_t too_large(const struct arguments *a)
{
    if (a->irregular)
        return rcx_fail(log_of(a), RCX_ERR_ARG,
                        "recvcounts: their sum times the size of datatype %d "
                        "overflows size_t", a->type);
    return rcx_fail(log_of(a), RCX_ERR_ARG,
                    "count=%zu: count times the size of datatype %d overflows "
                    "size_t", a->count, a->type);
}

static rcx_status_t measure(const struct arguments *a, struct extent *e)
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
        if (__builtin_add_overflow(e->in_count, a->recvcounts[i],
                                   &e->in_count))
            return too_large(a);
    }
    return RCX_OK;
}

/* Which of the in-place forms this is, if any. */
__attribute__((always_inline)) static inline rcx_status_t
relate_buffers(const struct arguments *a, size_t elem_bytes,
               const struct extent *e, struct buffers *b)
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
                        "(%d) sendbuf holds the operand", a->root);
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
                        "pointers", (const void *)b->in, in_bytes,
                        (void *)b->out, out_bytes);
    return RCX_OK;
}

static size_t elem_bytes_of(const struct arguments *a)
{
    const struct rcx_type_info *info = rcx_type_predefined(a->type);

    return info ? info->bytes
                : rcx_registry_extent(&a->comm->context->registry, a->type);
}

static rcx_status_t check(const struct arguments *a, struct extent *e,
                          struct buffers *b)
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
                        "by rcx_type_create()", a->type, RCX_TYPE_END - 1);
    status = measure(a, e);
    if (status != RCX_OK)
        return status;
    if (__builtin_mul_overflow(e->in_count, elem_bytes, &bytes) ||
        bytes > PTRDIFF_MAX)
        return too_large(a);
    return relate_buffers(a, elem_bytes, e, b);
}

/* Check everything and find the plan, or compile it. */
__attribute__((noinline)) static rcx_status_t
look_up(const struct arguments *a, struct buffers *b,
        struct rcx_entry **entry_p)
{
    struct rcx_call call = {.coll = (uint8_t)a->coll, .type = a->type, .op = a->op,
                            .root = a->root, .irregular = a->irregular,
                            .recvcounts = a->recvcounts};
    struct extent e;
    const rcx_status_t status = check(a, &e, b);

    if (status != RCX_OK)
        return status;
    call.count = e.in_count;
    call.alias = (uint8_t)b->alias;
    return rcx_entry_get(a->comm, &call, entry_p);
}

/* In place as far as that shows without lengths: of what is one vector. */
static bool is_in_place(const struct arguments *a)
{
    return rcx_coll_gets(a->coll, a->comm->rank, a->root) &&
           (a->sendbuf == RCX_IN_PLACE || a->sendbuf == a->recvbuf);
}

/*
 * Whether the newest plan is of this call, so that all but its buffers has
 * been checked: the usual case of a short collective in a loop.
 */
__attribute__((always_inline)) static inline bool
is_repeated(const struct arguments *a)
{
    const struct rcx_entry *last = a->comm->cache.recent;
    const struct rcx_call call = {
        .coll = (uint8_t)a->coll,
        .alias = is_in_place(a) ? RCX_ALIAS_SAME : RCX_ALIAS_NONE,
        .type = a->type, .op = a->op, .root = a->root, .count = a->count};

    return last && !rcx_coll_has_blocks(a->coll) &&
           rcx_call_is_alike(&last->call, &call);
}

/* The plan of the call, pinned. Inlined: what each collective has as constants
 * need not be looked at. */
__attribute__((always_inline)) static inline rcx_status_t
resolve(const struct arguments *a, struct buffers *b,
        struct rcx_entry **entry_p)
{
    if (a->comm->failed != RCX_OK)
        return RCX_ERR_COMM_FAILED;
    if (is_repeated(a)) {
        const struct rcx_entry *last = a->comm->cache.recent;
        const struct extent e = {a->count, a->count, 0};
        const rcx_status_t status =
            relate_buffers(a, last->combine.reducer.elem_bytes, &e, b);

        if (status == RCX_OK)
            *entry_p = rcx_entry_repeat(a->comm);
        return status;
    }

    const struct arguments copy = *a; /* so that a's own are in registers */

    return look_up(&copy, b, entry_p);
}

__attribute__((always_inline)) static inline rcx_status_t
enter(const struct arguments *a)
{
    return rcx_comm_is_valid(a->comm) ? rcx_comm_enter(a->comm)
                                      : rcx_bad_handle("comm", a->comm);
}

/* Inlined likewise. */
__attribute__((always_inline)) static inline rcx_status_t
blocking(const struct arguments *a)
{
    struct rcx_entry *entry;
    struct buffers b;
    rcx_status_t status = enter(a);

    if (status != RCX_OK)
        return status;
    status = resolve(a, &b, &entry);
    if (status == RCX_OK)
        status = rcx_request_run(a->comm, entry, b.in, b.out);
    rcx_comm_leave(a->comm);
    return status;
}

static rcx_status_t make_request(const struct arguments *a, bool persistent,
                                 rcx_request_t **request_p)
{
    struct rcx_request *request;
    struct rcx_entry *entry;
    struct buffers b;
    rcx_status_t status;

    if (!request_p)
        return rcx_missing(log_of(a), "request_p");
    status = resolve(a, &b, &entry);
    if (status == RCX_OK)
        status = rcx_request_new(a->comm, entry, b.in, b.out, &request);
    if (status != RCX_OK)
        return status;
    request->persistent = persistent;
    a->comm->live_requests++;
    a->comm->context->live_requests++;
    rcx_registry_pin(&a->comm->context->registry, a->type, a->op, 1);
    if (!persistent)
        rcx_request_launch(request);
    if (request->state == RCX_REQUEST_ACTIVE)
        rcx_wake_sleeper(a->comm->context);
    *request_p = request;
    return RCX_OK;
}

static rcx_status_t for_user(const struct arguments *a, bool persistent,
                             rcx_request_t **request_p)
{
    rcx_status_t status = enter(a);

    if (status != RCX_OK)
        return status;
    status = make_request(a, persistent, request_p);
    rcx_comm_leave(a->comm);
    return status;
}

/* ---- The collectives ------------------------------------------------------ */

#define ALLREDUCE \
    (&(struct arguments){RCX_COLL_ALLREDUCE, sendbuf, recvbuf, count, NULL, \
                         false, datatype, op, 0, comm})
#define REDUCE \
    (&(struct arguments){RCX_COLL_REDUCE, sendbuf, recvbuf, count, NULL, \
                         false, datatype, op, root, comm})
#define REDUCE_SCATTER \
    (&(struct arguments){RCX_COLL_REDUCE_SCATTER, sendbuf, recvbuf, 0, \
                         recvcounts, true, datatype, op, 0, comm})
#define REDUCE_SCATTER_BLOCK \
    (&(struct arguments){RCX_COLL_REDUCE_SCATTER, sendbuf, recvbuf, recvcount, \
                         NULL, false, datatype, op, 0, comm})

rcx_status_t rcx_allreduce(const void *sendbuf, void *recvbuf, size_t count,
                           rcx_datatype_t datatype, rcx_op_t op,
                           rcx_comm_t *comm)
{
    return blocking(ALLREDUCE);
}

rcx_status_t rcx_iallreduce(const void *sendbuf, void *recvbuf, size_t count,
                            rcx_datatype_t datatype, rcx_op_t op,
                            rcx_comm_t *comm, rcx_request_t **request_p)
{
    return for_user(ALLREDUCE, false, request_p);
}

rcx_status_t rcx_allreduce_init(const void *sendbuf, void *recvbuf,
                                size_t count, rcx_datatype_t datatype,
                                rcx_op_t op, rcx_comm_t *comm,
                                rcx_request_t **request_p)
{
    return for_user(ALLREDUCE, true, request_p);
}

rcx_status_t rcx_reduce(const void *sendbuf, void *recvbuf, size_t count,
                        rcx_datatype_t datatype, rcx_op_t op, int root,
                        rcx_comm_t *comm)
{
    return blocking(REDUCE);
}

rcx_status_t rcx_ireduce(const void *sendbuf, void *recvbuf, size_t count,
                         rcx_datatype_t datatype, rcx_op_t op, int root,
                         rcx_comm_t *comm, rcx_request_t **request_p)
{
    return for_user(REDUCE, false, request_p);
}

rcx_status_t rcx_reduce_init(const void *sendbuf, void *recvbuf, size_t count,
                             rcx_datatype_t datatype, rcx_op_t op, int root,
                             rcx_comm_t *comm, rcx_request_t **request_p)
{
    return for_user(REDUCE, true, request_p);
}

rcx_status_t rcx_reduce_scatter(const void *sendbuf, void *recvbuf,
                                const size_t recvcounts[],
                                rcx_datatype_t datatype, rcx_op_t op,
                                rcx_comm_t *comm)
{
    return blocking(REDUCE_SCATTER);
}

rcx_status_t rcx_ireduce_scatter(const void *sendbuf, void *recvbuf,
                                 const size_t recvcounts[],
                                 rcx_datatype_t datatype, rcx_op_t op,
                                 rcx_comm_t *comm, rcx_request_t **request_p)
{
    return for_user(REDUCE_SCATTER, false, request_p);
}

rcx_status_t rcx_reduce_scatter_init(const void *sendbuf, void *recvbuf,
                                     const size_t recvcounts[],
                                     rcx_datatype_t datatype, rcx_op_t op,
                                     rcx_comm_t *comm,
                                     rcx_request_t **request_p)
{
    return for_user(REDUCE_SCATTER, true, request_p);
}

rcx_status_t rcx_reduce_scatter_block(const void *sendbuf, void *recvbuf,
                                      size_t recvcount, rcx_datatype_t datatype,
                                      rcx_op_t op, rcx_comm_t *comm)
{
    return blocking(REDUCE_SCATTER_BLOCK);
}

rcx_status_t rcx_ireduce_scatter_block(const void *sendbuf, void *recvbuf,
                                       size_t recvcount,
                                       rcx_datatype_t datatype, rcx_op_t op,
                                       rcx_comm_t *comm,
                                       rcx_request_t **request_p)
{
    return for_user(REDUCE_SCATTER_BLOCK, false, request_p);
}

rcx_status_t rcx_reduce_scatter_block_init(const void *sendbuf, void *recvbuf,
                                           size_t recvcount,
                                           rcx_datatype_t datatype, rcx_op_t op,
                                           rcx_comm_t *comm,
                                           rcx_request_t **request_p)
{
    return for_user(REDUCE_SCATTER_BLOCK, true, request_p);
}

