/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Allreduce by a Bruck allgather of whole vectors and a local reduction along
 * the fixed tree (the latency form of the ring of Rabenseifner, Traeff 2004,
 * 3.4, for any p).
 *
 *   scratch  p n
 *   order    CANONICAL
 *
 * It takes the minimum number of rounds, but every rank receives and combines
 * all vectors.
 */
#include "algo/phase/bruck.h"

/* Whether the scratch, p n elements, can be addressed. */
static bool fits(const struct rcx_shape *s)
{
    return s->count <= SIZE_MAX / s->elem_bytes / (size_t)s->size;
}

static struct rcx_cost cost(const struct rcx_shape *s)
{
    return rcx_bruck_allreduce_cost(s->size, (double)s->count);
}

static void build(struct rcx_builder *b, const struct rcx_shape *s)
{
    const struct rcx_group all = rcx_group_all(s);

    rcx_bruck_allreduce(b, &all, rcx_span_in(s), rcx_span_out(s));
}

const struct rcx_algo rcx_allreduce_allgather_reduce = {
    .name = "allgather_reduce",
    .coll = RCX_COLL_ALLREDUCE,
    .formula = "ceil(lg p) a + (p-1) n b + (p-1) n g",
    .needs = "p n elements of scratch can be addressed",
    .known_as = "Open MPI: allgather_reduce",
    .source = "Bruck et al. 1997 by Thakur, Rabenseifner, Gropp 2005, 4.1.2; "
              "order: design",
    .fits = fits,
    .level = RCX_ORDER_CANONICAL,
    .at_once = true,
    .cost = cost,
    .build = build,
};
