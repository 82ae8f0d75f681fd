/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Alltoall by direct messages, to the next higher ranks first (OCC manual 2005,
 * linear and, with a bound on what is posted, scheduled linear; Thakur,
 * Rabenseifner, Gropp 2005, 4.3).
 *
 *   scratch  none; n in place
 */
#include "algo/phase/exchange.h"

static struct rcx_cost cost(const struct rcx_shape *s)
{
    const double n = s->size - 1;

    return (struct rcx_cost){.rounds = n,
                             .volume = n * (double)(s->count / (size_t)s->size),
                             .saved.rounds = n - rcx_posted_rounds(s)};
}

const struct rcx_algo rcx_alltoall_linear = {
    .name = "linear",
    .coll = RCX_COLL_ALLTOALL,
    .formula = "(p-1) (a + n/p b)",
    .known_as = "OCC: Linear, Scheduled Linear; MPICH: scattered, blocked, "
                "permuted_sendrecv; Open MPI: linear, linear_sync; UCC: "
                "pairwise",
    .source = "OCC manual 2005; Thakur, Rabenseifner, Gropp 2005, 4.3",
    .params = rcx_posted_params,
    .level = RCX_ORDER_CANONICAL,
    .cost = cost,
    .build = rcx_exchange_linear,
};
