/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Allgather by recursive doubling (Thakur, Rabenseifner, Gropp 2005, 4.1.1).
 *
 *   scratch  none
 *
 * In each round a rank that has 2^k adjacent blocks exchanges them with a rank
 * that has the 2^k blocks beside them. Each message is one span of the vector.
 */
#include "algo/phase/halving.h"

static bool fits(const struct rcx_shape *s)
{
    return s->size == rcx_pow2_floor(s->size);
}

static struct rcx_cost cost(const struct rcx_shape *s)
{
    const struct rcx_blocks blocks = rcx_blocks_of(s);

    return (struct rcx_cost){.rounds = rcx_log2_floor(s->size),
                             .volume = (s->size - 1) *
                                       (double)rcx_blocks_largest(&blocks)};
}

static void build(struct rcx_builder *b, const struct rcx_shape *s)
{
    const struct rcx_halving h = {.group = rcx_group_all(s),
                                  .blocks = rcx_blocks_of(s)};
    const struct rcx_span out = rcx_span_out(s);

    rcx_step_copy(b, rcx_halving_own(&h, out), rcx_span_in(s));
    rcx_halving_allgather(b, &h, out);
}

const struct rcx_algo rcx_allgather_recursive_doubling = {
    .name = "recursive_doubling",
    .coll = RCX_COLL_ALLGATHER,
    .formula = "lg p a + n (p-1)/p b; the largest block where n/p is irregular",
    .needs = "a power of two of ranks",
    .known_as = "MPICH: recursive_doubling, recexch; Open MPI: "
                "recursive_doubling, two_proc; UCC: knomial",
    .source = "Thakur, Rabenseifner, Gropp 2005, 4.1.1",
    .level = RCX_ORDER_CANONICAL,
    .fits = fits,
    .cost = cost,
    .build = build,
};
