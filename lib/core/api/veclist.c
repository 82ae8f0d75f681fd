/* SPDX-License-Identifier: BSD-3-Clause */
/* rcx_allreduce_many(): checks and copies the lists of vectors. */
#include "core/api/collective.h"
#include "core/api/overlap.h"
#include "core/run/request/request.h"
#include "core/run/request/veclist.h"

static const struct rcx_log *log_of(const struct rcx_arguments *a)
{
    return &a->comm->context->log;
}

/* The operand of vector i; in place, its result. */
static const void *given(const struct rcx_vectors *v, size_t i)
{
    return v->sendbufs == RCX_IN_PLACE ? v->recvbufs[i] : v->sendbufs[i];
}

/* ---- Arrays and pointers ------------------------------------------------- */

static rcx_status_t check_arrays(const struct rcx_arguments *a)
{
    const struct rcx_vectors *v = a->vectors;

    if (v->n > 0 && (!v->sendbufs || !v->recvbufs || !v->counts))
        return rcx_missing(log_of(a), !v->counts     ? "counts"
                                      : !v->sendbufs ? "sendbufs"
                                                     : "recvbufs");
    if (v->recvbufs == RCX_IN_PLACE)
        return rcx_fail(log_of(a), RCX_ERR_ARG,
                        "recvbufs=RCX_IN_PLACE: only sendbufs may be "
                        "RCX_IN_PLACE");
    return RCX_OK;
}

static rcx_status_t add_up(const struct rcx_arguments *a, size_t elem_bytes,
                           size_t *count_p)
{
    const struct rcx_vectors *v = a->vectors;
    bool fits = true;

    *count_p = 0;
    for (size_t i = 0; i < v->n; i++)
        fits &= !__builtin_add_overflow(*count_p, v->counts[i], count_p);
    if (fits && rcx_fits_memory(*count_p, elem_bytes))
        return RCX_OK;
    return rcx_fail(log_of(a), RCX_ERR_ARG,
                    "counts: their sum times the size of datatype %d overflows "
                    "size_t",
                    a->type);
}

static rcx_status_t check_pointer(const struct rcx_arguments *a,
                                  const char *what, const void *p, size_t i)
{
    if (!p)
        return rcx_fail(log_of(a), RCX_ERR_ARG,
                        "%s[%zu]=NULL: NULL is fine only where counts[%zu] is "
                        "0",
                        what, i, i);
    if (p == RCX_IN_PLACE)
        return rcx_fail(log_of(a), RCX_ERR_ARG,
                        "%s[%zu]=RCX_IN_PLACE: pass RCX_IN_PLACE as sendbufs, "
                        "for all vectors",
                        what, i);
    if (!rcx_is_on_host(&a->comm->context->gpu, p))
        return rcx_gpu_refuse(log_of(a), what, p);
    return RCX_OK;
}

/* ---- Overlap ------------------------------------------------------------- */

static rcx_status_t check_results(const struct rcx_arguments *a,
                                  const struct rcx_mem_range results[],
                                  size_t n)
{
    for (size_t i = 1; i < n; i++) {
        const struct rcx_mem_range *last = &results[i - 1], *r = &results[i];

        if (last->at + last->bytes > r->at)
            return rcx_fail(log_of(a), RCX_ERR_ARG,
                            "recvbufs[%zu]=%p (%zu bytes) and recvbufs[%zu]=%p "
                            "(%zu bytes) overlap",
                            last->index, (const void *)last->at, last->bytes,
                            r->index, (const void *)r->at, r->bytes);
    }
    return RCX_OK;
}

static rcx_status_t check_operands(const struct rcx_arguments *a,
                                   const struct rcx_veclist *b,
                                   const struct rcx_mem_range results[])
{
    for (size_t i = 0; i < b->n; i++) {
        const struct rcx_part *p = &b->parts[i];
        const struct rcx_mem_range *r =
            rcx_mem_ranges_overlap(results, b->n, p->in, p->bytes);

        if (r)
            return rcx_fail(log_of(a), RCX_ERR_ARG,
                            "sendbufs: %zu bytes at %p and recvbufs[%zu]=%p "
                            "(%zu bytes) overlap: in place needs RCX_IN_PLACE "
                            "as sendbufs, or equal pointers in all vectors",
                            p->bytes, (const void *)p->in, r->index,
                            (const void *)r->at, r->bytes);
    }
    return RCX_OK;
}

static rcx_status_t check_overlap(const struct rcx_arguments *a,
                                  const struct rcx_veclist *b, bool in_place,
                                  struct rcx_mem_range results[])
{
    const struct rcx_vectors *v = a->vectors;
    rcx_status_t status;
    size_t n = 0;

    for (size_t i = 0; i < v->n; i++)
        if (v->counts[i] > 0) {
            results[n] =
                (struct rcx_mem_range){b->parts[n].out, b->parts[n].bytes, i};
            n++;
        }
    rcx_mem_ranges_sort(results, n);
    status = check_results(a, results, n);
    return status == RCX_OK && !in_place ? check_operands(a, b, results)
                                         : status;
}

/* ---- All of it ----------------------------------------------------------- */

/* Copy the vectors that are not empty; entries of the others are not used. */
static rcx_status_t fill(const struct rcx_arguments *a, size_t elem_bytes,
                         struct rcx_veclist *b, struct rcx_mem_range results[])
{
    const struct rcx_vectors *v = a->vectors;
    bool in_place = true;

    for (size_t i = 0; i < v->n; i++) {
        rcx_status_t status;

        if (v->counts[i] == 0)
            continue;
        status = check_pointer(a, "recvbufs", v->recvbufs[i], i);
        if (status == RCX_OK)
            status = check_pointer(a, "sendbufs", given(v, i), i);
        if (status != RCX_OK)
            return status;
        b->parts[b->n++] =
            (struct rcx_part){.in = given(v, i),
                              .out = v->recvbufs[i],
                              .bytes = v->counts[i] * elem_bytes};
        in_place &= given(v, i) == v->recvbufs[i];
    }
    return check_overlap(a, b, in_place, results);
}

static rcx_status_t no_memory(const struct rcx_arguments *a)
{
    return rcx_fail(log_of(a), RCX_ERR_NOMEM,
                    "no memory to reduce %zu vectors as one", a->vectors->n);
}

static rcx_status_t make(const struct rcx_arguments *a, size_t elem_bytes,
                         struct rcx_veclist *b)
{
    struct rcx_context *context = a->comm->context;
    const size_t bytes = a->vectors->n * sizeof(struct rcx_mem_range);
    struct rcx_mem_range *results =
        rcx_scratch_get(&context->scratch, &context->heap, bytes);
    rcx_status_t status;

    if (!results)
        return no_memory(a);
    status = fill(a, elem_bytes, b, results);
    rcx_scratch_put(&context->scratch, results, bytes);
    if (status == RCX_OK)
        rcx_veclist_finish(b);
    return status;
}

/*
 * Where the one vector is, for callers that ask how its operand and result lie:
 * they are the same where operands are packed, which is done in the result's
 * place, and apart otherwise.
 */
static void pretend(const struct rcx_veclist *b, struct rcx_arguments *one)
{
    if (b->n == 0)
        return;
    one->sendbuf = b->parts[0].in;
    one->recvbuf = b->parts[0].out;
    if (b->packs)
        one->sendbuf = one->recvbuf;
    else if (b->unpacks)
        one->recvbuf = (char *)(uintptr_t)one->sendbuf + b->bytes;
}

rcx_status_t rcx_call_merge(const struct rcx_arguments *a,
                            struct rcx_arguments *one,
                            struct rcx_veclist **bundle_p)
{
    struct rcx_context *context = a->comm->context;
    struct rcx_veclist *b;
    rcx_status_t status;
    size_t elem_bytes;

    *one = *a;
    if (rcx_comm_is_failed(a->comm))
        return RCX_OK;
    status = rcx_registry_measure(&context->registry, a->type, &elem_bytes);
    if (status == RCX_OK)
        status = check_arrays(a);
    if (status == RCX_OK)
        status = add_up(a, elem_bytes, &one->count);
    if (status != RCX_OK)
        return status;
    b = rcx_veclist_create(context, a->vectors->n);
    if (!b)
        return no_memory(a);
    status = make(a, elem_bytes, b);
    pretend(b, one);
    if (status != RCX_OK || (!b->packs && !b->unpacks))
        rcx_veclist_destroy(context, b);
    else
        *bundle_p = b;
    return status;
}

static size_t longest(const struct rcx_program *program)
{
    size_t width = 0;

    for (size_t i = 0; i < program->piece_count; i++)
        if (program->pieces[i].row.width > width)
            width = program->pieces[i].row.width;
    return width * program->combine.reducer.elem_bytes;
}

rcx_status_t rcx_call_place(const struct rcx_arguments *a,
                            struct rcx_request *r, struct rcx_veclist *b)
{
    const struct rcx_program *program = r->program;
    const unsigned window = program->method.window;

    if (!rcx_veclist_reserve(
            a->comm->context, b,
            program->segments < window ? (unsigned)program->segments : window,
            longest(program)))
        return no_memory(a);
    r->kind |= RCX_REQUEST_PLACED;
    r->veclist = b;
    return RCX_OK;
}
