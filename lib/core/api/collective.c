/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The part of collective calls that is not inlined: errors of arguments, and
 * requests.
 */
#include "core/api/collective.h"

#include "core/api/request.h"
#include "core/api/sizing.h"
#include "core/run/fault/failure.h"
#include "core/run/request/veclist.h"

static const struct rcx_log *log_of(const struct rcx_arguments *a)
{
    return &a->comm->context->log;
}

/* The name of the sent counts where both directions have counts; in place there
 * is one name. */
static const char *counts_name(const struct rcx_arguments *a)
{
    if (a->coll == RCX_COLL_REDUCE_SCATTER)
        return "recvcounts";
    if (!rcx_colls[a->coll].is_local)
        return "counts";
    return a->counts == a->recvcounts && a->displs == a->recvdispls
               ? "recvcounts"
               : "sendcounts";
}

/* name: of the counts. */
static rcx_status_t too_large(const struct rcx_arguments *a, const char *name)
{
    if (a->irregular)
        return rcx_fail(log_of(a), RCX_ERR_ARG,
                        "%s: their sum, or the end of a block (displacement "
                        "plus count), times the size of datatype %d overflows "
                        "size_t",
                        name, a->type);
    return rcx_fail(log_of(a), RCX_ERR_ARG,
                    "count=%zu: count times the size of datatype %d overflows "
                    "size_t",
                    a->count, a->type);
}

/* ---- How much ------------------------------------------------------------ */

static size_t count_of(const struct rcx_arguments *a,
                       const struct rcx_side *side, size_t i)
{
    return a->irregular ? side->counts[i] : a->count;
}

/* False: overflow. */
static bool measure_blocks(const struct rcx_arguments *a, struct rcx_side *side)
{
    const size_t rank = (size_t)a->comm->rank, size = (size_t)a->comm->size;
    size_t at, end;

    if (!a->irregular) {
        side->own = rank * a->count;
        side->reach = size * a->count;
        return !__builtin_mul_overflow(size, a->count, &side->count);
    }
    for (size_t i = 0; i < size; i++) {
        at = side->displs ? side->displs[i] : side->count;
        if (__builtin_add_overflow(side->count, side->counts[i],
                                   &side->count) ||
            __builtin_add_overflow(at, side->counts[i], &end))
            return false;
        if (i == rank)
            side->own = at;
        if (side->counts[i] > 0 && end > side->reach)
            side->reach = end;
    }
    return true;
}

static bool measure(const struct rcx_arguments *a, enum rcx_extent extent,
                    bool has, struct rcx_side *side)
{
    if (!has || extent == RCX_EXTENT_NONE)
        return true;
    if (extent == RCX_EXTENT_BLOCKS)
        return measure_blocks(a, side);
    side->count = side->reach = extent == RCX_EXTENT_BLOCK
                                    ? count_of(a, side, (size_t)a->comm->rank)
                                    : a->count;
    return true;
}

/* The whole vector. */
static bool measure_vector(const struct rcx_arguments *a, size_t *count_p)
{
    struct rcx_side all = {.counts = a->counts};

    if (!rcx_coll_has_blocks(a->coll)) {
        *count_p = a->count;
        return true;
    }
    if (!measure_blocks(a, &all))
        return false;
    *count_p = all.count;
    return true;
}

/* False: there cannot be so much memory. */
static bool measure_in(const struct rcx_arguments *a, struct rcx_sizing *z)
{
    return measure(a, rcx_colls[a->coll].gives,
                   rcx_coll_gives(a->coll, a->comm->rank, a->root), &z->in) &&
           measure_vector(a, &z->count) &&
           rcx_fits_memory(z->count, z->elem_bytes) &&
           rcx_fits_memory(z->in.reach, z->elem_bytes);
}

static bool measure_out(const struct rcx_arguments *a, struct rcx_sizing *z)
{
    return measure(a, rcx_colls[a->coll].gets,
                   rcx_coll_gets(a->coll, a->comm->rank, a->root), &z->out) &&
           rcx_fits_memory(z->out.count, z->elem_bytes) &&
           rcx_fits_memory(z->out.reach, z->elem_bytes);
}

/* The lists that the call needs, and this rank's block according to them. */
static rcx_status_t check_counts(const struct rcx_arguments *a)
{
    const bool is_local = rcx_colls[a->coll].is_local;
    const int rank = a->comm->rank;

    if (a->irregular && !a->counts)
        return rcx_missing(log_of(a), counts_name(a));
    if (is_local && !a->recvcounts)
        return rcx_missing(log_of(a), "recvcounts");
    if (is_local && a->counts[rank] != a->recvcounts[rank])
        return rcx_fail(log_of(a), RCX_ERR_ARG,
                        "sendcounts[%d]=%zu, recvcounts[%d]=%zu: must be "
                        "equal, as this rank sends this block to itself",
                        rank, a->counts[rank], rank, a->recvcounts[rank]);
    return RCX_OK;
}

static rcx_status_t measure_all(const struct rcx_arguments *a,
                                struct rcx_sizing *z)
{
    const bool is_local = rcx_colls[a->coll].is_local;
    const rcx_status_t status = check_counts(a);

    if (status != RCX_OK)
        return status;
    z->in = (struct rcx_side){.counts = a->counts, .displs = a->displs};
    z->out = is_local ? (struct rcx_side){.counts = a->recvcounts,
                                          .displs = a->recvdispls}
                      : z->in;
    if (!measure_in(a, z))
        return too_large(a, counts_name(a));
    return measure_out(a, z)
               ? RCX_OK
               : too_large(a, is_local ? "recvcounts" : counts_name(a));
}

/* ---- All of it ----------------------------------------------------------- */

static rcx_status_t check(const struct rcx_arguments *a, struct rcx_sizing *z,
                          struct rcx_buffers *b)
{
    rcx_status_t status;

    if (a->root < 0 || a->root >= a->comm->size)
        return rcx_fail(log_of(a), RCX_ERR_ARG, "root=%d: needs 0..%d", a->root,
                        a->comm->size - 1);
    status = rcx_registry_measure(&a->comm->context->registry, a->type,
                                  &z->elem_bytes);
    if (status == RCX_OK)
        status = measure_all(a, z);
    return status == RCX_OK ? rcx_relate_buffers(a, z, b) : status;
}

/* NULL: blocks are contiguous. */
static const size_t *places_of(const struct rcx_side *side, size_t size)
{
    size_t at = 0;

    for (size_t i = 0; side->displs && i < size; i++) {
        if (side->counts[i] > 0 && side->displs[i] != at)
            return side->displs;
        at += side->counts[i];
    }
    return NULL;
}

static void fill_lists(const struct rcx_arguments *a,
                       const struct rcx_sizing *z, struct rcx_call *call)
{
    const int rank = a->comm->rank;
    const size_t size = (size_t)a->comm->size;

    call->lists[RCX_CALL_COUNTS] = a->counts;
    if (rcx_colls[a->coll].is_local)
        call->lists[RCX_CALL_GOTTEN] = a->recvcounts;
    if (rcx_coll_in_is_blocks(a->coll) &&
        rcx_coll_gives(a->coll, rank, a->root))
        call->lists[RCX_CALL_IN_PLACES] = places_of(&z->in, size);
    if (rcx_coll_out_is_blocks(a->coll) &&
        rcx_coll_gets(a->coll, rank, a->root))
        call->lists[RCX_CALL_OUT_PLACES] = places_of(&z->out, size);
}

static rcx_status_t look_up(const struct rcx_arguments *a,
                            struct rcx_buffers *b,
                            struct rcx_program **program_p)
{
    struct rcx_call call = {.coll = (uint8_t)a->coll,
                            .type = a->type,
                            .op = a->op,
                            .root = a->root,
                            .irregular = a->irregular};
    struct rcx_sizing z;
    const rcx_status_t status = check(a, &z, b);

    if (status != RCX_OK)
        return status;
    call.count = z.count;
    call.alias = (uint8_t)b->alias;
    if (a->irregular)
        fill_lists(a, &z, &call);
    return rcx_program_get(a->comm, &call, program_p);
}

/* Check everything, and find or compile the program. */
rcx_status_t rcx_call_look_up(const struct rcx_arguments *a,
                              struct rcx_buffers *b,
                              struct rcx_program **program_p)
{
    struct rcx_log *log = &a->comm->context->log;
    rcx_status_t status;

    /* ranks that this one sends to for the first time may have left */
    rcx_stamp_call(a->comm->context, rcx_ticks());
    if (rcx_comm_is_failed(a->comm))
        return rcx_comm_refuse(a->comm);
    rcx_log_name_call(log, rcx_call_name(a));
    status = a->neighbors ? rcx_neighbors_look_up(a, b, program_p)
                          : look_up(a, b, program_p);
    rcx_log_name_call(log, NULL);
    return status;
}

/* Neither NULL nor RCX_IN_PLACE, the value before it. */
static inline bool is_buffer(const void *p)
{
    return (uintptr_t)p + 1 > 1;
}

/* False: the buffers are not as the program needs them. */
static bool relate_again(const struct rcx_arguments *a,
                         const struct rcx_program *last, struct rcx_buffers *b)
{
    b->alias = RCX_ALIAS_NONE;
    b->in = a->sendbuf;
    b->out = last->gets ? a->recvbuf : (char *)a->sendbuf;
    if (last->gets && (b->in == RCX_IN_PLACE || b->in == b->out)) {
        b->in = b->out;
        b->alias = RCX_ALIAS_SAME;
    } else if (last->gets && ((size_t)(b->out - b->in) < last->bytes_in ||
                              (size_t)(b->in - b->out) < last->bytes_out)) {
        return false;
    }
    return (!last->gives || is_buffer(b->in)) &&
           (!last->gets || is_buffer(b->out));
}

static void remember(const struct rcx_arguments *a, const struct rcx_buffers *b,
                     struct rcx_program *program)
{
    a->comm->repeat = (struct rcx_repeat){
        .sendbuf = a->sendbuf,
        .recvbuf = a->recvbuf,
        .count = a->count,
        .key = rcx_call_key(a->coll, RCX_ALIAS_NONE, a->type, a->op, a->root),
        .program = program,
        .evictions = a->comm->context->evictions,
        .in = (char *)b->in,
        .out = b->out};
}

struct rcx_program *rcx_call_find_last(const struct rcx_arguments *a,
                                       struct rcx_buffers *b)
{
    struct rcx_program *last = a->comm->cache->recent;
    struct rcx_call_key key;

    if (!last || rcx_comm_is_failed(a->comm) || a->irregular ||
        a->count != last->given || !relate_again(a, last, b) ||
        !rcx_are_on_host(a->comm->context, b))
        return NULL;
    key = rcx_call_key(a->coll, b->alias, a->type, a->op, a->root);
    if (key.what != last->key.what || key.how != last->key.how)
        return NULL;
    remember(a, b, last);
    a->comm->hits++;
    return last;
}

rcx_status_t rcx_call_run(const struct rcx_arguments *a, const void *site)
{
    struct rcx_program *program;
    struct rcx_buffers b;
    rcx_status_t status = rcx_call_look_up(a, &b, &program);

    if (status != RCX_OK)
        return status;
    status = rcx_request_run(a->comm, program, b.in, b.out, site);
    rcx_program_unpin(a->comm->cache, program);
    return status;
}

rcx_status_t rcx_call_resolve(const struct rcx_arguments *a,
                              struct rcx_buffers *b,
                              struct rcx_program **program_p)
{
    struct rcx_program *program = rcx_call_repeat(a, b);

    if (!program)
        return rcx_call_look_up(a, b, program_p);
    rcx_program_pin(program);
    *program_p = program;
    return RCX_OK;
}

static rcx_status_t prepare(const struct rcx_arguments *a,
                            struct rcx_request **request_p)
{
    struct rcx_veclist *bundle = NULL;
    struct rcx_program *program;
    struct rcx_arguments one;
    struct rcx_buffers b;
    struct rcx_log *log = &a->comm->context->log;
    rcx_status_t status = RCX_OK;

    if (a->vectors) {
        rcx_log_name_call(log, rcx_call_name(a));
        status = rcx_call_merge(a, &one, &bundle);
        rcx_log_name_call(log, NULL);
        a = &one;
    }
    if (status == RCX_OK)
        status = rcx_call_resolve(a, &b, &program);
    if (status == RCX_OK)
        status = rcx_request_create(a->comm, program, b.in, b.out, request_p);
    if (status == RCX_OK && bundle) {
        status = rcx_call_place(a, *request_p, bundle);
        if (status != RCX_OK)
            rcx_request_destroy(*request_p);
    }
    if (status != RCX_OK && bundle)
        rcx_veclist_destroy(a->comm->context, bundle);
    return status;
}

/* By a request that the user does not see. */
rcx_status_t rcx_call_run_merged_from(const struct rcx_arguments *a,
                                      const void *site)
{
    struct rcx_request *request;
    rcx_status_t status = rcx_call_enter(a);

    if (status != RCX_OK)
        return status;
    status = prepare(a, &request);
    if (status == RCX_OK) {
        request->site = site;
        rcx_request_launch(request);
        status = rcx_request_wait(request);
        rcx_request_destroy(request);
    }
    rcx_comm_leave(a->comm);
    return status;
}

/* Start a short call like the one before. NULL: it is not, and nothing has
 * happened. */
static struct rcx_request *begin_again(const struct rcx_arguments *a,
                                       const void *site)
{
    struct rcx_program *program = NULL;
    struct rcx_buffers b;

    rcx_stamp_before(a->comm->context);
    if (!a->vectors)
        program = rcx_call_repeat(a, &b);
    return program ? rcx_request_start_fast(a->comm, program, b.in, b.out, site)
                   : NULL;
}

static rcx_status_t make_request(const struct rcx_arguments *a, bool persistent,
                                 const void *site, rcx_request_t **request_p)
{
    struct rcx_request *request = persistent ? NULL : begin_again(a, site);
    const bool has_begun = request;

    if (!has_begun) {
        rcx_status_t status;

        rcx_stamp_call(a->comm->context, rcx_ticks());
        status = prepare(a, &request);
        if (status != RCX_OK)
            return status;
        request->site = site;
    }
    rcx_request_hand_out(request, persistent);
    if (!persistent && !has_begun)
        rcx_request_launch(request);
    rcx_request_announce(request);
    *request_p = request;
    return RCX_OK;
}

static rcx_status_t no_request_p(const struct rcx_arguments *a)
{
    struct rcx_log *log = &a->comm->context->log;

    rcx_log_name_call(log, rcx_call_name(a));
    rcx_missing(log, "request_p");
    rcx_log_name_call(log, NULL);
    return RCX_ERR_ARG;
}

rcx_status_t rcx_call_request_from(const struct rcx_arguments *a,
                                   bool persistent, const void *site,
                                   rcx_request_t **request_p)
{
    rcx_status_t status;

    if (!rcx_comm_is_valid(a->comm))
        return rcx_bad_handle(rcx_call_name(a), "comm", a->comm);
    status = rcx_comm_lock(a->comm);
    if (status != RCX_OK)
        return status;
    status = request_p ? make_request(a, persistent, site, request_p)
                       : no_request_p(a);
    rcx_comm_leave(a->comm);
    return status;
}
