/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * rcx_neighbor_alltoallv() and its nonblocking and persistent forms: an
 * alltoallv whose blocks are those of lists of neighbours, checked here.
 */
#include "core/api/collective.h"
#include "core/api/overlap.h"
#include "core/op/types.h"

/* What one direction has, before and after it is checked. */
struct direction {
    const char *list, *counts_are, *buffer; /* names of its arguments */
    size_t n;
    const int *ranks;
    const size_t *counts, *displs;
    size_t *edges; /* of struct rcx_neighbors */
    size_t count, reach;
};

static const struct rcx_log *log_of(const struct rcx_arguments *a)
{
    return &a->comm->context->log;
}

/* ---- Lists --------------------------------------------------------------- */

static rcx_status_t check_lists(const struct rcx_arguments *a,
                                const struct direction *d)
{
    if (d->n > 0 && !d->ranks)
        return rcx_missing(log_of(a), d->list);
    if (d->n > 0 && !d->counts)
        return rcx_missing(log_of(a), d->counts_are);
    for (size_t i = 0; i < d->n; i++)
        if (d->ranks[i] < 0 || d->ranks[i] >= a->comm->size)
            return rcx_fail(log_of(a), RCX_ERR_ARG, "%s[%zu]=%d: needs 0..%d",
                            d->list, i, d->ranks[i], a->comm->size - 1);
    return RCX_OK;
}

/* Write the edges. */
static rcx_status_t measure(const struct rcx_arguments *a, struct direction *d,
                            size_t elem_bytes)
{
    bool fits = true;

    for (size_t i = 0; i < d->n && fits; i++) {
        size_t *const edge = &d->edges[i * RCX_EDGE_NUMBERS];
        const size_t at = d->displs ? d->displs[i] : d->count;
        size_t end;

        edge[RCX_EDGE_RANK] = (size_t)d->ranks[i];
        edge[RCX_EDGE_START] = at;
        edge[RCX_EDGE_COUNT] = d->counts[i];
        fits = !__builtin_add_overflow(d->count, d->counts[i], &d->count) &&
               !__builtin_add_overflow(at, d->counts[i], &end) &&
               rcx_fits_memory(end, elem_bytes);
        if (d->counts[i] == 0)
            edge[RCX_EDGE_START] = 0;
        else if (fits && end > d->reach)
            d->reach = end;
    }
    return fits && rcx_fits_memory(d->count, elem_bytes)
               ? RCX_OK
               : rcx_fail(log_of(a), RCX_ERR_ARG,
                          "%s: their sum, or the end of a block (displacement "
                          "plus count), times the size of datatype %d "
                          "overflows size_t",
                          d->counts_are, a->type);
}

/* The next edge of this rank to itself, from i on; d->n: none. */
static size_t next_own(const struct direction *d, size_t i, int rank)
{
    while (i < d->n && d->ranks[i] != rank)
        i++;
    return i;
}

/* What this rank sends to itself it must receive. */
static rcx_status_t check_own(const struct rcx_arguments *a,
                              const struct direction *in,
                              const struct direction *out)
{
    const int rank = a->comm->rank;
    size_t i = next_own(in, 0, rank), k = next_own(out, 0, rank);

    while (i < in->n && k < out->n && in->counts[i] == out->counts[k]) {
        i = next_own(in, i + 1, rank);
        k = next_own(out, k + 1, rank);
    }
    if (i == in->n && k == out->n)
        return RCX_OK;
    if (i == in->n || k == out->n)
        return rcx_fail(log_of(a), RCX_ERR_ARG,
                        "this rank, %d, is not as often in dests as in sources",
                        rank);
    return rcx_fail(log_of(a), RCX_ERR_ARG,
                    "sendcounts[%zu]=%zu, recvcounts[%zu]=%zu: must be equal, "
                    "as this rank sends this block to itself",
                    i, in->counts[i], k, out->counts[k]);
}

/* ---- Buffers ------------------------------------------------------------- */

static rcx_status_t check_buffer(const struct rcx_arguments *a,
                                 const struct direction *d, const void *buffer)
{
    if (buffer == RCX_IN_PLACE)
        return rcx_fail(log_of(a), RCX_ERR_ARG,
                        "%s=RCX_IN_PLACE: both buffers are needed, and may be "
                        "the same where no block that is received is sent",
                        d->buffer);
    if (!buffer && d->reach > 0)
        return rcx_fail(log_of(a), RCX_ERR_ARG,
                        "%s=NULL: NULL is fine only where no block has "
                        "elements",
                        d->buffer);
    if (d->reach > 0 && !rcx_is_on_host(&a->comm->context->gpu, buffer))
        return rcx_gpu_refuse(log_of(a), d->buffer, buffer);
    return RCX_OK;
}

static struct rcx_mem_range range_of(const struct direction *d, size_t i,
                                     const void *buffer, size_t elem_bytes)
{
    const size_t *const edge = &d->edges[i * RCX_EDGE_NUMBERS];

    return (struct rcx_mem_range){.at = (const char *)buffer +
                                        edge[RCX_EDGE_START] * elem_bytes,
                                  .bytes = edge[RCX_EDGE_COUNT] * elem_bytes,
                                  .index = i};
}

/* No block that is received may overlap another one, or one that is sent. */
static rcx_status_t check_overlap(const struct rcx_arguments *a,
                                  const struct direction *in,
                                  const struct direction *out,
                                  size_t elem_bytes,
                                  struct rcx_mem_range ranges[])
{
    size_t n = 0;

    for (size_t i = 0; i < out->n; i++) {
        ranges[n] = range_of(out, i, a->recvbuf, elem_bytes);
        n += ranges[n].bytes > 0;
    }
    rcx_mem_ranges_sort(ranges, n);
    for (size_t i = 1; i < n; i++)
        if (ranges[i - 1].at + ranges[i - 1].bytes > ranges[i].at)
            return rcx_fail(log_of(a), RCX_ERR_ARG,
                            "recvdispls: blocks %zu and %zu of recvbuf overlap",
                            ranges[i - 1].index, ranges[i].index);
    for (size_t i = 0; i < in->n; i++) {
        const struct rcx_mem_range sent =
            range_of(in, i, a->sendbuf, elem_bytes);
        const struct rcx_mem_range *const r =
            sent.bytes > 0
                ? rcx_mem_ranges_overlap(ranges, n, sent.at, sent.bytes)
                : NULL;

        if (r)
            return rcx_fail(log_of(a), RCX_ERR_ARG,
                            "block %zu of sendbuf and block %zu of recvbuf "
                            "overlap",
                            i, r->index);
    }
    return RCX_OK;
}

/* ---- All of it ----------------------------------------------------------- */

static rcx_status_t look_up(const struct rcx_arguments *a, struct direction *in,
                            struct direction *out,
                            struct rcx_mem_range ranges[],
                            struct rcx_program **program_p)
{
    size_t elem_bytes;
    rcx_status_t status =
        rcx_registry_measure(&a->comm->context->registry, a->type, &elem_bytes);

    if (status == RCX_OK)
        status = measure(a, in, elem_bytes);
    if (status == RCX_OK)
        status = measure(a, out, elem_bytes);
    if (status == RCX_OK)
        status = check_own(a, in, out);
    if (status == RCX_OK)
        status = check_buffer(a, in, a->sendbuf);
    if (status == RCX_OK)
        status = check_buffer(a, out, a->recvbuf);
    if (status == RCX_OK)
        status = check_overlap(a, in, out, elem_bytes, ranges);
    if (status != RCX_OK)
        return status;
    return rcx_program_get(
        a->comm,
        &(struct rcx_call){
            .coll = (uint8_t)a->coll,
            .type = a->type,
            .op = a->op,
            .alias = RCX_ALIAS_NONE,
            .irregular = true,
            .count = in->count,
            .to = in->n * RCX_EDGE_NUMBERS,
            .from = out->n * RCX_EDGE_NUMBERS,
            .lists = {[RCX_CALL_TO] = in->edges, [RCX_CALL_FROM] = out->edges}},
        program_p);
}

rcx_status_t rcx_neighbors_look_up(const struct rcx_arguments *a,
                                   struct rcx_buffers *b,
                                   struct rcx_program **program_p)
{
    const struct rcx_neighbor_lists *const n = a->neighbors;
    struct rcx_context *context = a->comm->context;
    struct direction in = {.list = "dests",
                           .counts_are = "sendcounts",
                           .buffer = "sendbuf",
                           .n = n->dest_count,
                           .ranks = n->dests,
                           .counts = a->counts,
                           .displs = a->displs};
    struct direction out = {.list = "sources",
                            .counts_are = "recvcounts",
                            .buffer = "recvbuf",
                            .n = n->source_count,
                            .ranks = n->sources,
                            .counts = a->recvcounts,
                            .displs = a->recvdispls};
    const size_t edge = RCX_EDGE_NUMBERS * sizeof(size_t);
    const size_t bytes =
        (in.n + out.n + 1) * edge + out.n * sizeof(struct rcx_mem_range);
    rcx_status_t status = check_lists(a, &in);
    void *memory;

    if (status == RCX_OK)
        status = check_lists(a, &out);
    if (status != RCX_OK)
        return status;
    memory = rcx_scratch_get(&context->scratch, &context->heap, bytes);
    if (!memory)
        return rcx_fail(log_of(a), RCX_ERR_NOMEM,
                        "no memory for lists of neighbours");
    in.edges = memory;
    out.edges = in.edges + (in.n + 1) * RCX_EDGE_NUMBERS;
    b->in = a->sendbuf;
    b->out = a->recvbuf;
    b->alias = RCX_ALIAS_NONE;
    status = look_up(
        a, &in, &out,
        (struct rcx_mem_range *)(void *)(out.edges + out.n * RCX_EDGE_NUMBERS),
        program_p);
    rcx_scratch_put(&context->scratch, memory, bytes);
    return status;
}

/* ---- All forms ----------------------------------------------------------- */

#define NEIGHBOR_ALLTOALLV                                                     \
    (&(struct rcx_arguments){                                                  \
        .coll = RCX_COLL_ALLTOALLV,                                            \
        .sendbuf = sendbuf,                                                    \
        .recvbuf = recvbuf,                                                    \
        .counts = sendcounts,                                                  \
        .displs = senddispls,                                                  \
        .recvcounts = recvcounts,                                              \
        .recvdispls = recvdispls,                                              \
        .irregular = true,                                                     \
        .neighbors =                                                           \
            &(struct rcx_neighbor_lists){.dest_count = dest_count,             \
                                         .source_count = source_count,         \
                                         .dests = dests,                       \
                                         .sources = sources},                  \
        .type = datatype,                                                      \
        .op = RCX_NO_OP,                                                       \
        .comm = comm})

rcx_status_t rcx_neighbor_alltoallv(
    const void *sendbuf, size_t dest_count, const int dests[],
    const size_t sendcounts[], const size_t senddispls[], void *recvbuf,
    size_t source_count, const int sources[], const size_t recvcounts[],
    const size_t recvdispls[], rcx_datatype_t datatype, rcx_comm_t *comm)
{
    return rcx_call_blocking(NEIGHBOR_ALLTOALLV);
}

rcx_status_t rcx_ineighbor_alltoallv(
    const void *sendbuf, size_t dest_count, const int dests[],
    const size_t sendcounts[], const size_t senddispls[], void *recvbuf,
    size_t source_count, const int sources[], const size_t recvcounts[],
    const size_t recvdispls[], rcx_datatype_t datatype, rcx_comm_t *comm,
    rcx_request_t **request_p)
{
    return rcx_call_request(NEIGHBOR_ALLTOALLV, false, request_p);
}

rcx_status_t rcx_neighbor_alltoallv_init(
    const void *sendbuf, size_t dest_count, const int dests[],
    const size_t sendcounts[], const size_t senddispls[], void *recvbuf,
    size_t source_count, const int sources[], const size_t recvcounts[],
    const size_t recvdispls[], rcx_datatype_t datatype, rcx_comm_t *comm,
    rcx_request_t **request_p)
{
    return rcx_call_request(NEIGHBOR_ALLTOALLV, true, request_p);
}
