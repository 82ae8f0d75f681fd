/* SPDX-License-Identifier: BSD-3-Clause */
#include "collectives.h"

#include <string.h>

/* A collective's three functions: arguments as they take them, of a. */
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
CALLS(reduce, a->sendbuf, a->recvbuf, a->count, a->type, a->op, a->root,
      a->comm)
CALLS(reduce_scatter, a->sendbuf, a->recvbuf, a->blocks, a->type, a->op,
      a->comm)
CALLS(reduce_scatter_block, a->sendbuf, a->recvbuf, a->count, a->type, a->op,
      a->comm)

/* ---- Definitions --------------------------------------------------------- */

/* All ranks' vectors. */
static struct part all(const struct view *v, int k)
{
    (void)k;
    return (struct part){.lo = 0, .hi = v->size};
}

/* The own block of all ranks' vectors. */
static struct part all_at_own(const struct view *v, int k)
{
    (void)k;
    return (struct part){
        .lo = 0, .hi = v->size, .index = view_first(v, v->rank)};
}

enum {
    VECTOR_PLACES = 1 << SEPARATE | 1 << IN_PLACE | 1 << SAME_POINTER,
    BLOCK_PLACES = VECTOR_PLACES | 1 << OWN_BLOCK
};

/* clang-format off */
const struct collective_row collectives[COLLECTIVES] = {
    [ALLREDUCE] = {
        .name = "allreduce", .call = call_allreduce, .reduces = true,
        .gives = EXTENT_VECTOR, .gets = EXTENT_VECTOR, .part = all,
        .places = VECTOR_PLACES},
    [REDUCE] = {
        .name = "reduce", .call = call_reduce, .reduces = true,
        .gives = EXTENT_VECTOR, .gets = EXTENT_VECTOR, .root_gets = true,
        .part = all, .places = VECTOR_PLACES},
    [REDUCE_SCATTER] = {
        .name = "reduce_scatter", .call = call_reduce_scatter, .reduces = true,
        .gives = EXTENT_BLOCKS, .gets = EXTENT_BLOCK, .irregular = true,
        .part = all_at_own, .places = BLOCK_PLACES},
    [REDUCE_SCATTER_BLOCK] = {
        .name = "reduce_scatter_block", .call = call_reduce_scatter_block,
        .reduces = true, .gives = EXTENT_BLOCKS, .gets = EXTENT_BLOCK,
        .part = all_at_own, .places = BLOCK_PLACES},
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

/* ---- What a rank gives and gets ------------------------------------------ */

size_t view_first(const struct view *v, int rank)
{
    size_t first = 0;

    for (int i = 0; i < rank; i++)
        first += v->blocks[i];
    return first;
}

static size_t measure(const struct view *v, enum extent extent, bool root_only)
{
    if (extent == EXTENT_NONE || (root_only && v->rank != v->root))
        return 0;
    return extent == EXTENT_BLOCK ? v->blocks[v->rank] : v->count;
}

size_t view_given(const struct view *v, enum collective coll)
{
    return measure(v, collectives[coll].gives, collectives[coll].root_gives);
}

size_t view_gotten(const struct view *v, enum collective coll)
{
    return measure(v, collectives[coll].gets, collectives[coll].root_gets);
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
        part.count = v->blocks[k];
    return part;
}
