/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Alltoall by pairwise exchange, in steps with one peer each way (OCC manual
 * 2005, pairwise; Thakur, Rabenseifner, Gropp 2005, 4.3: shift, and xor where p
 * = 2^k).
 *
 *   scratch  none; in place posted n / p for xor and sum, n for shift
 *
 * With pairing=sum, as with xor, ranks exchange in pairs, for every p. Up to
 * two ranks have no peer in a step, so that there are p steps. In place, a
 * block is copied before the peer's block overwrites it. Else the receives of
 * both ranks would wait for their sends, and the sends for the receives.
 */
#include "algo/phase/exchange.h"

static struct rcx_cost cost(const struct rcx_shape *s)
{
    const double rounds = rcx_exchange_pairwise_rounds(s);

    return (struct rcx_cost){.rounds = rounds,
                             .volume =
                                 rounds * (double)(s->count / (size_t)s->size)};
}

const struct rcx_algo rcx_alltoall_pairwise = {
    .name = "pairwise",
    .coll = RCX_COLL_ALLTOALL,
    .formula = "(p-1 + [pairing = sum, p > 2]) (a + n/p b)",
    .needs = RCX_EXCHANGE_PAIRWISE_NEEDS,
    .known_as = "OCC, MPICH, Open MPI: pairwise; MPICH: "
                "pairwise_sendrecv_replace (in place); Open MPI: two_proc",
    .source = "OCC manual 2005; Thakur, Rabenseifner, Gropp 2005, 4.3",
    .params = rcx_exchange_pairwise_params,
    .fits = rcx_exchange_pairwise_fits,
    .level = RCX_ORDER_CANONICAL,
    .cost = cost,
    .build = rcx_exchange_pairwise,
};
