/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Allgather by a ring, among neighbours only (Thakur, Rabenseifner, Gropp 2005,
 * 4.1); in chunks, for any counts (Traeff et al. 2008).
 *
 *   scratch  none
 *
 * With chunks, unequal blocks flow like equal ones: no link waits for the whole
 * of a long block. Let there be C chunks in all, c of them in the shortest
 * block. It takes at most C - c + p - 2 messages one after another; C - c is
 * the minimum.
 */
#include "algo/phase/ring.h"

static const int64_t chunks_proved[] = {0, 1, 100, RCX_PARAM_END};

static const struct rcx_param params[] = {
    {.name = "chunk",
     .doc = "bytes of a message; 0: a whole block",
     .most = INT64_MAX,
     .proved = chunks_proved},
    {.name = NULL}};

/* Return the elements of a chunk; 0: a whole block. */
static size_t chunk_of(const struct rcx_shape *s)
{
    const size_t bytes = (size_t)s->params[0];

    return bytes && bytes < s->elem_bytes ? 1 : bytes / s->elem_bytes;
}

static struct rcx_cost cost(const struct rcx_shape *s)
{
    const struct rcx_blocks blocks = rcx_blocks_of(s);

    return rcx_ring_allgather_cost(&blocks, chunk_of(s));
}

static void build(struct rcx_builder *b, const struct rcx_shape *s)
{
    const struct rcx_group all = rcx_group_all(s);
    const struct rcx_blocks blocks = rcx_blocks_of(s);
    const struct rcx_span out = rcx_span_out(s);

    rcx_step_copy(b, rcx_block(&blocks, out, s->rank), rcx_span_in(s));
    rcx_ring_allgather(b, &all, &blocks, chunk_of(s), out);
}

const struct rcx_algo rcx_allgather_ring = {
    .name = "ring",
    .coll = RCX_COLL_ALLGATHER,
    .formula = "chunk = 0: (p-1) (a + n/p b); the largest block where n/p is "
               "irregular; with chunks at most (C - c + p-2) (a + chunk b), C "
               "chunks in all, c of the shortest block; c (p-1) a where blocks "
               "are equal",
    .known_as = "MPICH, Open MPI, UCC: ring",
    .source = "Thakur, Rabenseifner, Gropp 2005, 4.1; Traeff et al. 2008",
    .params = params,
    .level = RCX_ORDER_CANONICAL,
    .cost = cost,
    .build = build,
};
