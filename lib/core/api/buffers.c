/* SPDX-License-Identifier: BSD-3-Clause */
/* Where the buffers of a collective are relative to each other: in place,
 * apart, or overlapping. */
#include "core/api/overlap.h"
#include "core/api/sizing.h"

static const struct rcx_log *log_of(const struct rcx_arguments *a)
{
    return &a->comm->context->log;
}

/* Blocks that have places are checked one by one, as other data may be between
 * them. */
static size_t parts_of(const struct rcx_arguments *a,
                       const struct rcx_side *side, bool has_blocks)
{
    return has_blocks && side->displs ? (size_t)a->comm->size : 1;
}

/* Part k of a side, in its buffer. */
static struct rcx_mem_range part_of(const struct rcx_side *side,
                                    const char *buffer, size_t parts, size_t k,
                                    size_t elem_bytes)
{
    return (struct rcx_mem_range){
        .at = buffer + (parts == 1 ? 0 : side->displs[k] * elem_bytes),
        .bytes = (parts == 1 ? side->reach : side->counts[k]) * elem_bytes};
}

/* The parts that are not empty, sorted. If some overlap, which a plan rejects,
 * each reaches as far as any before it. */
static size_t sort_parts(const struct rcx_side *side, const char *buffer,
                         size_t parts, size_t elem_bytes,
                         struct rcx_mem_range regions[])
{
    size_t n = 0;

    for (size_t k = 0; k < parts; k++) {
        regions[n] = part_of(side, buffer, parts, k, elem_bytes);
        n += regions[n].bytes > 0;
    }
    rcx_mem_ranges_sort(regions, n);
    for (size_t i = 1; i < n; i++) {
        const char *end = regions[i - 1].at + regions[i - 1].bytes;

        if (regions[i].at + regions[i].bytes < end)
            regions[i].bytes = (size_t)(end - regions[i].at);
    }
    return n;
}

static rcx_status_t find_overlap(const struct rcx_arguments *a,
                                 const struct rcx_sizing *z,
                                 const struct rcx_buffers *b, bool *found_p)
{
    struct rcx_context *context = a->comm->context;
    const size_t e = z->elem_bytes;
    const size_t ins = parts_of(a, &z->in, rcx_coll_in_is_blocks(a->coll));
    const size_t outs = parts_of(a, &z->out, rcx_coll_out_is_blocks(a->coll));
    const size_t bytes = outs * sizeof(struct rcx_mem_range);
    struct rcx_mem_range *regions;
    size_t n;

    *found_p = rcx_overlap(b->in, z->in.reach * e, b->out, z->out.reach * e);
    if (!*found_p || (ins == 1 && outs == 1))
        return RCX_OK;
    regions = rcx_scratch_get(&context->scratch, &context->heap, bytes);
    if (!regions)
        return rcx_fail(log_of(a), RCX_ERR_NOMEM,
                        "no memory to check blocks for overlap");
    n = sort_parts(&z->out, b->out, outs, e, regions);
    *found_p = false;
    for (size_t i = 0; i < ins && !*found_p; i++) {
        const struct rcx_mem_range in = part_of(&z->in, b->in, ins, i, e);

        *found_p =
            in.bytes > 0 && rcx_mem_ranges_overlap(regions, n, in.at, in.bytes);
    }
    rcx_scratch_put(&context->scratch, regions, bytes);
    return RCX_OK;
}

/* Whether RCX_IN_PLACE stands for the buffer that is part of the other one. */
static bool is_placed_by_recvbuf(enum rcx_coll coll)
{
    return rcx_coll_allows(coll, RCX_ALIAS_BLOCK) &&
           !rcx_coll_allows(coll, RCX_ALIAS_SAME);
}

/* RCX_IN_PLACE where it is not allowed. */
static rcx_status_t check_in_place(const struct rcx_arguments *a, bool gives,
                                   bool gets)
{
    const bool by_recvbuf = is_placed_by_recvbuf(a->coll);
    const char *name = by_recvbuf ? "recvbuf" : "sendbuf";

    if (a->coll == RCX_COLL_BCAST && a->sendbuf == RCX_IN_PLACE)
        return rcx_fail(log_of(a), RCX_ERR_ARG,
                        "buf=RCX_IN_PLACE: bcast has one buffer, which holds "
                        "the vector, and needs its address");
    if (rcx_coll_is_rooted(a->coll) && !(gives && gets) &&
        (by_recvbuf ? a->recvbuf : a->sendbuf) == RCX_IN_PLACE)
        return rcx_fail(log_of(a), RCX_ERR_ARG,
                        "%s=RCX_IN_PLACE: valid only at the root (%d); on "
                        "other ranks %s holds the %s",
                        name, a->root, name, by_recvbuf ? "result" : "operand");
    if ((by_recvbuf && gives && a->sendbuf == RCX_IN_PLACE) ||
        (!by_recvbuf && gets && a->recvbuf == RCX_IN_PLACE))
        return rcx_fail(log_of(a), RCX_ERR_ARG,
                        "%s=RCX_IN_PLACE: only %s may be RCX_IN_PLACE",
                        by_recvbuf ? "sendbuf" : "recvbuf", name);
    return RCX_OK;
}

/* An address behind the start of a buffer, which may be NULL if it is empty. */
static char *behind(const char *buffer, size_t bytes)
{
    return (char *)((uintptr_t)buffer + bytes);
}

/* Set the address of the buffer that RCX_IN_PLACE stands for. */
static void place(const struct rcx_arguments *a, const struct rcx_sizing *z,
                  bool gets, struct rcx_buffers *b)
{
    const bool own = rcx_coll_allows(a->coll, RCX_ALIAS_OWN);

    b->in = a->sendbuf;
    b->out = gets ? a->recvbuf : (char *)a->sendbuf;
    if (gets && a->recvbuf == RCX_IN_PLACE)
        b->out = behind(b->in, z->in.own * z->elem_bytes);
    if (a->sendbuf != RCX_IN_PLACE)
        return;
    b->in = a->recvbuf;
    if (own)
        b->in = behind(b->in, z->out.own * z->elem_bytes);
    if (!gets)
        b->out = (char *)b->in;
}

static rcx_status_t find_alias(const struct rcx_arguments *a,
                               const struct rcx_sizing *z,
                               struct rcx_buffers *b)
{
    const size_t e = z->elem_bytes;
    rcx_status_t status = RCX_OK;
    bool overlap = false;

    if (b->in == b->out && rcx_coll_allows(a->coll, RCX_ALIAS_SAME))
        b->alias = RCX_ALIAS_SAME;
    else if (rcx_coll_allows(a->coll, RCX_ALIAS_BLOCK) && z->out.count > 0 &&
             b->out == behind(b->in, z->in.own * e))
        b->alias = RCX_ALIAS_BLOCK;
    else if (rcx_coll_allows(a->coll, RCX_ALIAS_OWN) && z->in.count > 0 &&
             b->in == behind(b->out, z->out.own * e))
        b->alias = RCX_ALIAS_OWN;
    else
        status = find_overlap(a, z, b, &overlap);
    if (overlap)
        return rcx_fail(log_of(a), RCX_ERR_ARG,
                        "sendbuf=%p (%zu bytes) and recvbuf=%p (%zu bytes) "
                        "overlap: in place needs RCX_IN_PLACE or equal "
                        "pointers",
                        (const void *)b->in, z->in.reach * e, (void *)b->out,
                        z->out.reach * e);
    return status;
}

static rcx_status_t on_gpu(const struct rcx_arguments *a,
                           const struct rcx_buffers *b)
{
    struct rcx_context *context = a->comm->context;
    const bool is_in = !rcx_is_on_host(&context->gpu, b->in);

    return rcx_gpu_refuse(&context->log,
                          a->coll == RCX_COLL_BCAST ? "buf"
                          : is_in                   ? "sendbuf"
                                                    : "recvbuf",
                          is_in ? b->in : b->out);
}

rcx_status_t rcx_relate_buffers(const struct rcx_arguments *a,
                                const struct rcx_sizing *z,
                                struct rcx_buffers *b)
{
    const bool gives = rcx_coll_gives(a->coll, a->comm->rank, a->root);
    const bool gets = rcx_coll_gets(a->coll, a->comm->rank, a->root);
    const rcx_status_t status = check_in_place(a, gives, gets);
    struct rcx_gpu *gpu = &a->comm->context->gpu;
    const char *missing = NULL;

    b->alias = RCX_ALIAS_NONE;
    if (status != RCX_OK)
        return status;
    place(a, z, gets, b);
    if (!b->in && z->in.reach > 0)
        missing = a->sendbuf ? "recvbuf" : "sendbuf";
    else if (!b->out && z->out.reach > 0)
        missing = "recvbuf";
    if (missing)
        return rcx_fail(log_of(a), RCX_ERR_ARG,
                        "%s=NULL: NULL is fine only where nothing is %s",
                        a->coll == RCX_COLL_BCAST ? "buf" : missing,
                        missing[0] == 'r' ? "received" : "sent");
    if ((z->in.reach > 0 && !rcx_is_on_host(gpu, b->in)) ||
        (z->out.reach > 0 && !rcx_is_on_host(gpu, b->out)))
        return on_gpu(a, b);
    return gets ? find_alias(a, z, b) : RCX_OK;
}

void *rcx_in_place(void)
{
    return RCX_IN_PLACE;
}
