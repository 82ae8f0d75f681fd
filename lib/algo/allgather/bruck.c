/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Allgather by Bruck's concatenation (Bruck et al. 1997; Thakur, Rabenseifner,
 * Gropp 2005, 4.1.2), for any counts.
 *
 *   scratch  less than two vectors, for messages that wrap around the vector's
 *            end
 *
 * With a larger radix, more messages have the same weight and do not depend on
 * each other: for networks that carry several at once.
 */
#include "algo/phase/bruck.h"

#include <limits.h>

static const int64_t radixes_proved[] = {2, 3, 5, RCX_PARAM_END};

static int64_t radix_candidate(const struct rcx_shape *s, int i)
{
    return i < 3 || 1 << i < s->size ? 2 << i : RCX_PARAM_END;
}

static const struct rcx_param params[] = {
    {.name = "radix",
     .doc = "factor by which the number of blocks of a rank grows; each time "
            "takes up to radix-1 messages",
     .least = 2,
     .most = INT_MAX,
     .usual = 2,
     .proved = radixes_proved,
     .candidate = radix_candidate},
    {.name = NULL}};

static struct rcx_cost cost(const struct rcx_shape *s)
{
    const struct rcx_blocks blocks = rcx_blocks_of(s);

    return rcx_bruck_allgather_cost(&blocks, (int)s->params[0]);
}

static void build(struct rcx_builder *b, const struct rcx_shape *s)
{
    const struct rcx_group all = rcx_group_all(s);
    const struct rcx_blocks blocks = rcx_blocks_of(s);
    const struct rcx_span out = rcx_span_out(s);

    rcx_step_copy(b, rcx_block(&blocks, out, s->rank), rcx_span_in(s));
    rcx_bruck_allgather(b, &all, &blocks, (int)s->params[0], out);
}

const struct rcx_algo rcx_allgather_bruck = {
    .name = "bruck",
    .coll = RCX_COLL_ALLGATHER,
    .formula = "(k (radix-1) + ceil(p / radix^k) - 1) a + n (p-1)/p b, k = "
               "floor(lg p / lg radix); the largest block where n/p is "
               "irregular, but n in a message at most",
    .known_as = "MPICH: brucks, k_brucks; Open MPI: bruck, bruck-k-fanout; "
                "UCC: bruck",
    .source = "Bruck et al. 1997; Thakur, Rabenseifner, Gropp 2005, 4.1.2",
    .params = params,
    .level = RCX_ORDER_CANONICAL,
    .cost = cost,
    .build = build,
};
