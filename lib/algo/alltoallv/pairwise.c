/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Alltoallv by pairwise exchange, in steps with one peer each way (OCC manual
 * 2005, pairwise; Thakur, Rabenseifner, Gropp 2005, 4.3 and 6).
 *
 *   scratch  none; in place posted blocks for xor and sum, but no more than n,
 *            n for shift
 *
 * The steps are those of alltoall/pairwise.c. An empty block takes no message,
 * and a step without messages takes no time. A rank knows only its own counts,
 * so the cost has all messages and no volume.
 */
#include "algo/phase/exchange.h"

static struct rcx_cost cost(const struct rcx_shape *s)
{
    return (struct rcx_cost){.rounds = rcx_exchange_pairwise_rounds(s)};
}

const struct rcx_algo rcx_alltoallv_pairwise = {
    .name = "pairwise",
    .coll = RCX_COLL_ALLTOALLV,
    .formula = "(p-1 + [pairing = sum, p > 2]) a; and what each sends",
    .needs = RCX_EXCHANGE_PAIRWISE_NEEDS,
    .known_as = "MPICH: pairwise_sendrecv_replace (in place); Open MPI: "
                "pairwise",
    .source = "OCC manual 2005; Thakur, Rabenseifner, Gropp 2005, 4.3",
    .params = rcx_exchange_pairwise_params,
    .fits = rcx_exchange_pairwise_fits,
    .level = RCX_ORDER_CANONICAL,
    .cost = cost,
    .build = rcx_exchange_pairwise,
};
