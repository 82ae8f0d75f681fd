/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The collectives as users call them: arguments are checked here, before
 * anything is sent, and become a struct rcx_call. All forms of all collectives
 * then go one way.
 */
#include "core/context.h"
#include "core/types.h"

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

/* Checked: the call, its buffers, and their sizes in elements. */
struct checked {
    struct rcx_call call;
    const char *in;
    char *out;
    size_t out_count;
    size_t own_offset; /* of this rank's block in the vector */
};

/* For errors found where no context is known. */
static rcx_status_t bad_handle(const char *what, const void *handle)
{
    struct rcx_log log;

    rcx_log_init(&log);
    return rcx_fail(&log, RCX_ERR_ARG, "%s=%p: not a valid handle", what,
                    handle);
}

static const struct rcx_log *log_of(const struct arguments *a)
{
    return &a->comm->context->log;
}

static rcx_status_t missing(const struct rcx_comm *comm, const char *what)
{
    return rcx_fail(&comm->context->log, RCX_ERR_ARG, "%s=NULL", what);
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

/* The vector's length, and this rank's share of it. */
static rcx_status_t measure(const struct arguments *a, struct checked *c)
{
    const size_t rank = (size_t)a->comm->rank, size = (size_t)a->comm->size;

    if (a->coll == RCX_COLL_REDUCE && a->comm->rank != a->root)
        c->out_count = 0;
    if (a->coll != RCX_COLL_REDUCE_SCATTER)
        return RCX_OK;
    if (!a->irregular) {
        c->own_offset = rank * a->count;
        return __builtin_mul_overflow(size, a->count, &c->call.count)
                   ? too_large(a)
                   : RCX_OK;
    }
    if (!a->recvcounts)
        return missing(a->comm, "recvcounts");
    c->call.irregular = 1;
    c->call.recvcounts = a->recvcounts;
    c->call.count = 0;
    c->out_count = a->recvcounts[rank];
    for (size_t i = 0; i < size; i++) {
        if (i == rank)
            c->own_offset = c->call.count;
        if (__builtin_add_overflow(c->call.count, a->recvcounts[i],
                                   &c->call.count))
            return too_large(a);
    }
    return RCX_OK;
}

static bool overlap(const char *a, size_t a_bytes, const char *b,
                    size_t b_bytes)
{
    return a_bytes > 0 && b_bytes > 0 && a < b + b_bytes && b < a + a_bytes;
}

/* Which of the in-place forms this is, if any. */
static rcx_status_t relate_buffers(const struct arguments *a, size_t elem_bytes,
                                   struct checked *c)
{
    const bool receives = a->coll != RCX_COLL_REDUCE ||
                          a->comm->rank == a->root;
    const size_t in_bytes = c->call.count * elem_bytes;
    const size_t out_bytes = c->out_count * elem_bytes;

    c->call.alias = RCX_ALIAS_NONE;
    c->in = a->sendbuf;
    c->out = receives ? a->recvbuf : (char *)a->sendbuf;
    if (a->sendbuf == RCX_IN_PLACE && !receives)
        return rcx_fail(log_of(a), RCX_ERR_ARG,
                        "sendbuf=RCX_IN_PLACE: at a rank that is not the root "
                        "(%d) sendbuf holds the operand", a->root);
    if (receives && a->recvbuf == RCX_IN_PLACE)
        return rcx_fail(log_of(a), RCX_ERR_ARG,
                        "recvbuf=RCX_IN_PLACE: only sendbuf may be that");
    if (a->sendbuf == RCX_IN_PLACE)
        c->in = a->recvbuf;
    if ((!c->in && in_bytes > 0) || (!c->out && out_bytes > 0))
        return rcx_fail(log_of(a), RCX_ERR_ARG,
                        "%s=NULL: NULL is fine only where nothing is %s",
                        a->sendbuf ? "recvbuf" : "sendbuf",
                        a->sendbuf ? "received" : "sent");
    if (!receives)
        return RCX_OK;
    if (c->in == c->out)
        c->call.alias = RCX_ALIAS_SAME;
    else if (a->coll == RCX_COLL_REDUCE_SCATTER && out_bytes > 0 &&
             c->out == c->in + c->own_offset * elem_bytes)
        c->call.alias = RCX_ALIAS_BLOCK;
    else if (overlap(c->in, in_bytes, c->out, out_bytes))
        return rcx_fail(log_of(a), RCX_ERR_ARG,
                        "sendbuf=%p (%zu bytes) and recvbuf=%p (%zu bytes) "
                        "overlap: in place needs RCX_IN_PLACE or equal "
                        "pointers", (const void *)c->in, in_bytes,
                        (void *)c->out, out_bytes);
    return RCX_OK;
}

static size_t elem_bytes_of(const struct arguments *a)
{
    const struct rcx_type_info *info = rcx_type_predefined(a->type);

    return info ? info->bytes
                : rcx_registry_extent(&a->comm->context->registry, a->type);
}

static rcx_status_t check(const struct arguments *a, struct checked *c)
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
    c->call = (struct rcx_call){.coll = a->coll, .type = a->type, .op = a->op,
                                .root = a->root, .count = a->count};
    c->out_count = a->count;
    c->own_offset = 0;
    status = measure(a, c);
    if (status != RCX_OK)
        return status;
    if (__builtin_mul_overflow(c->call.count, elem_bytes, &bytes) ||
        bytes > PTRDIFF_MAX)
        return too_large(a);
    return relate_buffers(a, elem_bytes, c);
}

/*
 * Whether the newest plan is of this call, so that all but its buffers has
 * been checked: the usual case of a short collective in a loop.
 */
static bool is_repeated(const struct arguments *a)
{
    const struct rcx_entry *last = a->comm->cache.recent;

    return last && last->call.count == a->count && last->call.type == a->type &&
           last->call.op == a->op && last->call.coll == a->coll &&
           last->call.root == a->root && a->coll != RCX_COLL_REDUCE_SCATTER;
}

static rcx_status_t create(const struct arguments *a,
                           struct rcx_request **request_p)
{
    struct rcx_entry *entry;
    struct checked c;
    rcx_status_t status;

    if (!rcx_comm_is_valid(a->comm))
        return bad_handle("comm", a->comm);
    if (a->comm->failed != RCX_OK)
        return RCX_ERR_COMM_FAILED;
    if (is_repeated(a)) {
        const struct rcx_entry *last = a->comm->cache.recent;

        c.call = last->call;
        c.out_count = last->piece[0].out_count ? a->count : 0;
        status = relate_buffers(a, last->combine.reducer.elem_bytes, &c);
        if (status == RCX_OK && c.call.alias == last->call.alias)
            return rcx_request_new(a->comm, rcx_entry_repeat(a->comm), c.in,
                                   c.out, request_p);
    } else {
        status = check(a, &c);
    }
    if (status == RCX_OK)
        status = rcx_entry_get(a->comm, &c.call, &entry);
    return status == RCX_OK
               ? rcx_request_new(a->comm, entry, c.in, c.out, request_p)
               : status;
}

static rcx_status_t blocking(const struct arguments *a)
{
    struct rcx_request *request;
    rcx_status_t status = create(a, &request);

    if (status != RCX_OK)
        return status;
    rcx_request_launch(request);
    status = rcx_request_wait(request);
    rcx_request_delete(request);
    return status;
}

static rcx_status_t for_user(const struct arguments *a, bool persistent,
                             rcx_request_t **request_p)
{
    struct rcx_request *request;
    rcx_status_t status;

    if (!request_p && rcx_comm_is_valid(a->comm))
        return missing(a->comm, "request_p");
    status = create(a, &request);
    if (status != RCX_OK)
        return status;
    request->persistent = persistent;
    a->comm->context->live_requests++;
    rcx_registry_pin(&a->comm->context->registry, a->type, a->op, 1);
    *request_p = request;
    return RCX_OK;
}

static rcx_status_t nonblocking(const struct arguments *a,
                                rcx_request_t **request_p)
{
    const rcx_status_t status = for_user(a, false, request_p);

    if (status == RCX_OK)
        rcx_request_launch(*request_p);
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
    return nonblocking(ALLREDUCE, request_p);
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
    return nonblocking(REDUCE, request_p);
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
    return nonblocking(REDUCE_SCATTER, request_p);
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
    return nonblocking(REDUCE_SCATTER_BLOCK, request_p);
}

rcx_status_t rcx_reduce_scatter_block_init(const void *sendbuf, void *recvbuf,
                                           size_t recvcount,
                                           rcx_datatype_t datatype, rcx_op_t op,
                                           rcx_comm_t *comm,
                                           rcx_request_t **request_p)
{
    return for_user(REDUCE_SCATTER_BLOCK, true, request_p);
}

/* ---- Requests ------------------------------------------------------------- */

static bool is_live(const rcx_request_t *request)
{
    return request && request->state != RCX_REQUEST_FREE;
}

/* A freed one's slot still knows where it was. */
static rcx_status_t not_live(const rcx_request_t *request)
{
    if (!request)
        return bad_handle("request", request);
    return rcx_fail(&request->comm->context->log, RCX_ERR_ARG,
                    "request=%p: was freed", (const void *)request);
}

rcx_status_t rcx_start(rcx_request_t *request)
{
    if (!is_live(request))
        return not_live(request);

    const struct rcx_log *log = &request->comm->context->log;

    if (!request->persistent)
        return rcx_fail(log, RCX_ERR_ARG,
                        "request=%p: only a request of an _init function can "
                        "be started", (void *)request);
    if (request->state == RCX_REQUEST_ACTIVE)
        return rcx_fail(log, RCX_ERR_BUSY, "request=%p: is active",
                        (void *)request);
    if (request->comm->failed != RCX_OK)
        return RCX_ERR_COMM_FAILED;
    rcx_request_launch(request);
    return RCX_OK;
}

rcx_status_t rcx_test(rcx_request_t *request, int *done_p)
{
    if (!is_live(request))
        return not_live(request);
    if (!done_p)
        return missing(request->comm, "done_p");
    if (request->state == RCX_REQUEST_ACTIVE)
        rcx_context_progress(request->comm->context);
    *done_p = request->state != RCX_REQUEST_ACTIVE;
    return *done_p ? request->status : RCX_OK;
}

rcx_status_t rcx_wait(rcx_request_t *request)
{
    return is_live(request) ? rcx_request_wait(request)
                            : not_live(request);
}

rcx_status_t rcx_wait_all(size_t n, rcx_request_t *const requests[])
{
    rcx_status_t first = RCX_OK;

    if (n > 0 && !requests)
        return bad_handle("requests", requests);
    for (size_t i = 0; i < n; i++) {
        const rcx_status_t status =
            requests[i] ? rcx_wait(requests[i]) : RCX_OK;

        first = first == RCX_OK ? status : first;
    }
    return first;
}

rcx_status_t rcx_request_free(rcx_request_t **request_p)
{
    rcx_request_t *request = request_p ? *request_p : NULL;

    if (!is_live(request))
        return not_live(request);

    struct rcx_context *context = request->comm->context;

    if (request->state == RCX_REQUEST_ACTIVE)
        return rcx_fail(&context->log, RCX_ERR_BUSY,
                        "request=%p: is active; wait for it first",
                        (void *)request);
    rcx_registry_pin(&context->registry, request->entry->call.type,
                     request->entry->call.op, -1);
    context->live_requests--;
    rcx_request_delete(request);
    *request_p = NULL;
    return RCX_OK;
}

const char *rcx_request_method(const rcx_request_t *request)
{
    return is_live(request) ? request->entry->text : NULL;
}

/* ---- Contexts: the small functions ---------------------------------------- */

rcx_comm_t *rcx_world(rcx_context_t *context)
{
    return context ? context->world : NULL;
}

int rcx_progress(rcx_context_t *context)
{
    return context ? rcx_context_progress(context)
                   : (int)bad_handle("context", context);
}

rcx_status_t rcx_op_create(rcx_context_t *context, rcx_op_fn_t fn,
                           unsigned flags, void *arg, rcx_op_t *op_p)
{
    if (!context)
        return bad_handle("context", context);
    if (!op_p)
        return missing(context->world, "op_p");
    return rcx_registry_add_op(&context->registry, fn, flags, arg, op_p);
}

rcx_status_t rcx_op_free(rcx_context_t *context, rcx_op_t *op)
{
    rcx_status_t status;

    if (!context)
        return bad_handle("context", context);
    if (!op)
        return missing(context->world, "op");
    status = rcx_registry_remove_op(&context->registry, *op);
    if (status == RCX_OK) {
        rcx_plan_cache_forget(context->world, 0, *op);
        *op = 0;
    }
    return status;
}

rcx_status_t rcx_type_create(rcx_context_t *context, size_t extent_bytes,
                             rcx_datatype_t *type_p)
{
    if (!context)
        return bad_handle("context", context);
    if (!type_p)
        return missing(context->world, "type_p");
    return rcx_registry_add_type(&context->registry, extent_bytes, type_p);
}

rcx_status_t rcx_type_free(rcx_context_t *context, rcx_datatype_t *type)
{
    rcx_status_t status;

    if (!context)
        return bad_handle("context", context);
    if (!type)
        return missing(context->world, "type");
    status = rcx_registry_remove_type(&context->registry, *type);
    if (status == RCX_OK) {
        rcx_plan_cache_forget(context->world, *type, 0);
        *type = 0;
    }
    return status;
}

rcx_status_t rcx_reduce_local(rcx_context_t *context, void *dst,
                              const void *left, const void *right, size_t count,
                              rcx_datatype_t datatype, rcx_op_t op)
{
    struct rcx_combine combine;
    rcx_status_t status;
    size_t bytes;

    if (!context)
        return bad_handle("context", context);
    status = rcx_registry_combine(&context->registry, datatype, op, &combine);
    if (status != RCX_OK || count == 0)
        return status;
    if (__builtin_mul_overflow(count, combine.reducer.elem_bytes, &bytes))
        return rcx_fail(&context->log, RCX_ERR_ARG,
                        "count=%zu: count times the size of datatype %d "
                        "overflows size_t", count, datatype);
    if (!dst || !left || !right)
        return rcx_fail(&context->log, RCX_ERR_ARG, "%s=NULL with count=%zu",
                        !dst ? "dst" : !left ? "left" : "right", count);
    if ((dst != left && overlap(dst, bytes, left, bytes)) ||
        (dst != right && overlap(dst, bytes, right, bytes)))
        return rcx_fail(&context->log, RCX_ERR_ARG,
                        "dst=%p overlaps left=%p or right=%p without being "
                        "equal to it", dst, left, right);
    status = rcx_reducer_apply(&combine.reducer, dst, left, right, count);
    return status == RCX_OK
               ? status
               : rcx_fail(&context->log, status,
                          "rcx_reduce_local: the user's op failed");
}

rcx_status_t rcx_mem_alloc(rcx_comm_t *comm, size_t bytes, void **ptr_p)
{
    struct rcx_memory_block *block;
    struct rcx_context *context;

    if (!rcx_comm_is_valid(comm))
        return bad_handle("comm", comm);
    if (!ptr_p)
        return missing(comm, "ptr_p");
    context = comm->context;
    block = bytes > PTRDIFF_MAX - sizeof *block
                ? NULL
                : rcx_heap_alloc(&context->heap, sizeof *block + bytes);
    if (!block)
        return rcx_fail(&context->log, RCX_ERR_NOMEM, "bytes=%zu: no memory",
                        bytes);
    block->next = context->memory;
    context->memory = block;
    *ptr_p = block + 1;
    return RCX_OK;
}

rcx_status_t rcx_mem_free(rcx_comm_t *comm, void *ptr)
{
    struct rcx_memory_block **link, *block;

    if (!rcx_comm_is_valid(comm))
        return bad_handle("comm", comm);
    link = &comm->context->memory;
    while (*link && (void *)(*link + 1) != ptr)
        link = &(*link)->next;
    block = *link;
    if (!block)
        return rcx_fail(&comm->context->log, RCX_ERR_ARG,
                        "ptr=%p: not from rcx_mem_alloc()", ptr);
    *link = block->next;
    rcx_heap_free(&comm->context->heap, block);
    return RCX_OK;
}
