/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The table of collectives for tests: the three functions of each, the extent
 * of operand and result, and the definition of the result. Written from rcx.h;
 * nothing of the library's own table is used.
 */
#include "collectives.h"

#include <string.h>

/* ---- Vector lists of allreduce_many -------------------------------------- */

/* A vector is passed as three: its last two thirds, an empty one, its first
 * third. So the parts are not contiguous in list order. A vector of a
 * user-defined type is not divided, as its size is not known here. Neither is a
 * vector of CUT_MOST elements or more, which no memory holds. */
enum { PIECES = 3, CUT_MOST = 1 << 30 };

static size_t front_of(const struct arguments *a)
{
    const bool is_known = a->type > 0 && a->type < SERIAL_TYPES;

    return is_known && a->count < CUT_MOST ? a->count / 3 : 0;
}

static char *back_of(const struct arguments *a, const void *vector)
{
    const size_t front = front_of(a);

    const size_t bytes =
        front ? front * serial_bytes(&(struct kind){.type = a->type}) : 0;

    return (char *)((uintptr_t)vector + bytes); /* vector may be NULL */
}

static const void *const *operands(const struct arguments *a,
                                   const void *list[PIECES])
{
    if (a->sendbuf == RCX_IN_PLACE)
        return RCX_IN_PLACE;
    list[0] = back_of(a, a->sendbuf);
    list[2] = a->sendbuf;
    return list;
}

static void *const *results(const struct arguments *a, void *list[PIECES])
{
    list[0] = back_of(a, a->recvbuf);
    list[2] = a->recvbuf;
    return list;
}

static const size_t *counts(const struct arguments *a, size_t list[PIECES])
{
    list[0] = a->count - front_of(a);
    list[2] = front_of(a);
    return list;
}

/* ---- Calls --------------------------------------------------------------- */

/* Define call_name(), which calls the blocking, nonblocking or persistent
 * function. The remaining arguments are those of the function, taken from a. */
#define CALLS(name, ...)                                                       \
    static rcx_status_t call_##name(const struct arguments *a, enum form form, \
                                    rcx_request_t **request_p)                 \
    {                                                                          \
        if (form == BLOCKING)                                                  \
            return rcx_##name(__VA_ARGS__);                                    \
        if (form == NONBLOCKING)                                               \
            return rcx_i##name(__VA_ARGS__, request_p);                        \
        return rcx_##name##_init(__VA_ARGS__, request_p);                      \
    }
CALLS(allreduce, a->sendbuf, a->recvbuf, a->count, a->type, a->op, a->comm)
CALLS(allreduce_many, PIECES, operands(a, (const void *[PIECES]){NULL}),
      results(a, (void *[PIECES]){NULL}), counts(a, (size_t[PIECES]){0}),
      a->type, a->op, a->comm)
CALLS(reduce, a->sendbuf, a->recvbuf, a->count, a->type, a->op, a->root,
      a->comm)
CALLS(reduce_scatter, a->sendbuf, a->recvbuf, a->blocks, a->type, a->op,
      a->comm)
CALLS(reduce_scatter_block, a->sendbuf, a->recvbuf, a->count, a->type, a->op,
      a->comm)

CALLS(bcast, a->recvbuf ? a->recvbuf : (void *)a->sendbuf, a->count, a->type,
      a->root, a->comm)
CALLS(gather, a->sendbuf, a->recvbuf, a->count, a->type, a->root, a->comm)
CALLS(gatherv, a->sendbuf, a->recvbuf, a->blocks, a->displs, a->type, a->root,
      a->comm)
CALLS(scatter, a->sendbuf, a->recvbuf, a->count, a->type, a->root, a->comm)
CALLS(scatterv, a->sendbuf, a->recvbuf, a->blocks, a->displs, a->type, a->root,
      a->comm)
CALLS(allgather, a->sendbuf, a->recvbuf, a->count, a->type, a->comm)
CALLS(allgatherv, a->sendbuf, a->recvbuf, a->blocks, a->displs, a->type,
      a->comm)
CALLS(alltoall, a->sendbuf, a->recvbuf, a->count, a->type, a->comm)
CALLS(alltoallv, a->sendbuf, a->sendcounts, a->senddispls, a->recvbuf,
      a->blocks, a->displs, a->type, a->comm)
CALLS(scan, a->sendbuf, a->recvbuf, a->count, a->type, a->op, a->comm)
CALLS(exscan, a->sendbuf, a->recvbuf, a->count, a->type, a->op, a->comm)

static rcx_status_t call_barrier(const struct arguments *a, enum form form,
                                 rcx_request_t **request_p)
{
    if (form == BLOCKING)
        return rcx_barrier(a->comm);
    return form == NONBLOCKING ? rcx_ibarrier(a->comm, request_p)
                               : rcx_barrier_init(a->comm, request_p);
}

/* ---- Definitions --------------------------------------------------------- */

/* The vectors of all ranks. */
static struct part all(const struct view *v, int k)
{
    (void)k;
    return (struct part){.lo = 0, .hi = v->size};
}

/* This rank's block of the vectors of all ranks. */
static struct part all_at_own(const struct view *v, int k)
{
    (void)k;
    return (struct part){
        .lo = 0, .hi = v->size, .index = view_first(v, v->rank)};
}

static struct part of_root(const struct view *v, int k)
{
    (void)k;
    return (struct part){.lo = v->root, .hi = v->root + 1};
}

static struct part own_of_root(const struct view *v, int k)
{
    (void)k;
    return (struct part){
        .lo = v->root, .hi = v->root + 1, .index = view_first(v, v->rank)};
}

/* All that rank k gives. */
static struct part of_rank(const struct view *v, int k)
{
    (void)v;
    return (struct part){.lo = k, .hi = k + 1};
}

/* The part of rank k's operand that is for this rank. */
static struct part own_of_rank(const struct view *v, int k)
{
    return (struct part){.lo = k, .hi = k + 1, .index = view_first(v, v->rank)};
}

static struct part own_of_rank_local(const struct view *v, int k)
{
    struct part part = {.lo = k, .hi = k + 1};

    for (int i = 0; i < v->rank; i++)
        part.index += view_local(v, k, i);
    return part;
}

static struct part up_to_own(const struct view *v, int k)
{
    (void)k;
    return (struct part){.lo = 0, .hi = v->rank + 1};
}

static struct part before_own(const struct view *v, int k)
{
    (void)k;
    return (struct part){.lo = 0, .hi = v->rank};
}

enum {
    VECTOR_PLACES = 1 << SEPARATE | 1 << IN_PLACE | 1 << SAME_POINTER,
    BLOCK_PLACES = VECTOR_PLACES | 1 << OWN_BLOCK,
    MOVED_PLACES = 1 << SEPARATE | 1 << IN_PLACE | 1 << OWN_BLOCK
};

/* clang-format off */
const struct collective_row collectives[COLLECTIVES] = {
    [ALLREDUCE] = {
        .name = "allreduce", .variable = "RCX_ALLREDUCE",
        .call = call_allreduce, .reduces = true,
        .gives = EXTENT_VECTOR, .gets = EXTENT_VECTOR, .part = all,
        .places = VECTOR_PLACES},
    [REDUCE] = {
        .name = "reduce", .variable = "RCX_REDUCE",
        .call = call_reduce, .reduces = true,
        .gives = EXTENT_VECTOR, .gets = EXTENT_VECTOR, .getter = ROOT_ALONE,
        .part = all, .places = VECTOR_PLACES},
    [REDUCE_SCATTER] = {
        .name = "reduce_scatter", .variable = "RCX_REDUCE_SCATTER",
        .call = call_reduce_scatter, .reduces = true,
        .gives = EXTENT_BLOCKS, .gets = EXTENT_BLOCK, .irregular = true,
        .part = all_at_own, .places = BLOCK_PLACES},
    [REDUCE_SCATTER_BLOCK] = {
        .name = "reduce_scatter_block", .variable = "RCX_REDUCE_SCATTER",
        .call = call_reduce_scatter_block, .reduces = true,
        .gives = EXTENT_BLOCKS, .gets = EXTENT_BLOCK,
        .part = all_at_own, .places = BLOCK_PLACES},
    [BARRIER] = {
        .name = "barrier", .variable = "RCX_BARRIER",
        .call = call_barrier, .part = all,
        .places = 1 << SEPARATE},
    [BCAST] = {
        .name = "bcast", .variable = "RCX_BCAST",
        .call = call_bcast,
        .gives = EXTENT_VECTOR, .gets = EXTENT_VECTOR, .giver = ROOT_ALONE,
        .getter = ALL_BUT_ROOT, .part = of_root, .places = 1 << SAME_POINTER},
    [GATHER] = {
        .name = "gather", .variable = "RCX_GATHER",
        .call = call_gather,
        .gives = EXTENT_BLOCK, .gets = EXTENT_BLOCKS, .getter = ROOT_ALONE,
        .part = of_rank, .places = MOVED_PLACES},
    [GATHERV] = {
        .name = "gatherv", .variable = "RCX_GATHER",
        .call = call_gatherv,
        .gives = EXTENT_BLOCK, .gets = EXTENT_BLOCKS, .getter = ROOT_ALONE,
        .irregular = true, .has_displs = true, .part = of_rank,
        .places = MOVED_PLACES},
    [SCATTER] = {
        .name = "scatter", .variable = "RCX_SCATTER",
        .call = call_scatter,
        .gives = EXTENT_BLOCKS, .gets = EXTENT_BLOCK, .giver = ROOT_ALONE,
        .part = own_of_root, .places = MOVED_PLACES},
    [SCATTERV] = {
        .name = "scatterv", .variable = "RCX_SCATTER",
        .call = call_scatterv,
        .gives = EXTENT_BLOCKS, .gets = EXTENT_BLOCK, .giver = ROOT_ALONE,
        .irregular = true, .has_displs = true, .part = own_of_root,
        .places = MOVED_PLACES},
    [ALLGATHER] = {
        .name = "allgather", .variable = "RCX_ALLGATHER",
        .call = call_allgather,
        .gives = EXTENT_BLOCK, .gets = EXTENT_BLOCKS,
        .part = of_rank, .places = MOVED_PLACES},
    [ALLGATHERV] = {
        .name = "allgatherv", .variable = "RCX_ALLGATHER",
        .call = call_allgatherv,
        .gives = EXTENT_BLOCK, .gets = EXTENT_BLOCKS,
        .irregular = true, .has_displs = true, .part = of_rank,
        .places = MOVED_PLACES},
    [ALLTOALL] = {
        .name = "alltoall", .variable = "RCX_ALLTOALL",
        .call = call_alltoall,
        .gives = EXTENT_BLOCKS, .gets = EXTENT_BLOCKS,
        .part = own_of_rank, .places = VECTOR_PLACES},
    [ALLTOALLV] = {
        .name = "alltoallv", .variable = "RCX_ALLTOALLV",
        .call = call_alltoallv,
        .gives = EXTENT_BLOCKS, .gets = EXTENT_BLOCKS, .irregular = true,
        .has_displs = true, .is_local = true, .part = own_of_rank_local,
        .places = VECTOR_PLACES},
    [SCAN] = {
        .name = "scan", .variable = "RCX_SCAN",
        .call = call_scan, .reduces = true, .is_prefix = true,
        .gives = EXTENT_VECTOR, .gets = EXTENT_VECTOR, .part = up_to_own,
        .places = VECTOR_PLACES},
    [EXSCAN] = {
        .name = "exscan", .variable = "RCX_EXSCAN",
        .call = call_exscan, .reduces = true, .is_prefix = true,
        .gives = EXTENT_VECTOR, .gets = EXTENT_VECTOR, .getter = ALL_BUT_FIRST,
        .part = before_own, .places = VECTOR_PLACES},
    [ALLREDUCE_MANY] = {
        .name = "allreduce_many", .variable = "RCX_ALLREDUCE",
        .call = call_allreduce_many, .reduces = true,
        .gives = EXTENT_VECTOR, .gets = EXTENT_VECTOR, .part = all,
        .places = VECTOR_PLACES},
};

/* clang-format on */
enum collective collective_by_name(const char *name)
{
    int coll = 0;

    while (coll < COLLECTIVES && strcmp(collectives[coll].name, name) != 0)
        coll++;
    return (enum collective)coll;
}

rcx_status_t collective_call(enum collective coll, enum form form,
                             const struct arguments *a,
                             rcx_request_t **request_p)
{
    return collectives[coll].call(a, form, request_p);
}

/* ---- Operands and results of a rank -------------------------------------- */

size_t view_first(const struct view *v, int rank)
{
    size_t first = 0;

    for (int i = 0; i < rank; i++)
        first += v->blocks[i];
    return first;
}

static bool is_one_of(const struct view *v, enum rank_set set)
{
    switch (set) {
    case ROOT_ALONE: return v->rank == v->root;
    case ALL_BUT_ROOT: return v->rank != v->root;
    case ALL_BUT_FIRST: return v->rank != 0;
    default: return true;
    }
}

bool view_sends(const struct view *v, enum collective coll)
{
    return collectives[coll].gives != EXTENT_NONE &&
           is_one_of(v, collectives[coll].giver);
}

bool view_receives(const struct view *v, enum collective coll)
{
    return collectives[coll].gets != EXTENT_NONE &&
           is_one_of(v, collectives[coll].getter);
}

size_t view_given(const struct view *v, enum collective coll)
{
    if (!view_sends(v, coll))
        return 0;
    return collectives[coll].gives == EXTENT_BLOCK ? v->blocks[v->rank]
                                                   : v->count;
}

size_t view_gotten(const struct view *v, enum collective coll)
{
    if (!view_receives(v, coll))
        return 0;
    return collectives[coll].gets == EXTENT_BLOCK ? v->blocks[v->rank]
                                                  : v->count;
}

int view_parts(const struct view *v, enum collective coll)
{
    return collectives[coll].gets == EXTENT_BLOCKS ? v->size : 1;
}

struct part view_part(const struct view *v, enum collective coll, int k)
{
    struct part part = collectives[coll].part(v, k);

    part.count = view_gotten(v, coll);
    if (collectives[coll].gets == EXTENT_BLOCKS && part.count > 0)
        part.count = view_block(v, coll, k);
    return part;
}
