/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Alltoallv by direct messages, to the next higher ranks first (OCC manual
 * 2005, linear and, with a bound on what is posted, scheduled linear; Thakur,
 * Rabenseifner, Gropp 2005, 4.3).
 *
 *   scratch  none; n in place
 *
 * A rank knows only its own counts, so the cost has p - 1 messages and no
 * volume. Of ranks that have neighbours it is the only algorithm.
 */
#include "algo/phase/exchange.h"

static struct rcx_cost cost(const struct rcx_shape *s)
{
    return (struct rcx_cost){.rounds = s->size - 1};
}

static void build(struct rcx_builder *b, const struct rcx_shape *s)
{
    if (s->neighbors)
        rcx_exchange_neighbors(b, s);
    else
        rcx_exchange_linear(b, s);
}

const struct rcx_algo rcx_alltoallv_linear = {
    .name = "linear",
    .coll = RCX_COLL_ALLTOALLV,
    .formula = "(p-1) a; and what each sends",
    .known_as = "MPICH: scattered, blocked; Open MPI: basic_linear; UCC: "
                "pairwise",
    .source = "OCC manual 2005; Thakur, Rabenseifner, Gropp 2005, 4.3",
    .params = rcx_posted_params,
    .neighbors = true,
    .level = RCX_ORDER_CANONICAL,
    .cost = cost,
    .build = build,
};
