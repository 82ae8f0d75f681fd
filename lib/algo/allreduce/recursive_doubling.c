/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Allreduce by recursive doubling (Thakur, Rabenseifner, Gropp 2005, 4.5).
 *
 *   scratch  2 n
 *   order    UNIFORM; CANONICAL when p is 1..10..0 in binary
 *
 * Let p = 2^k + r. Ranks 0..2r-1 first fold in pairs, even into odd. The odd
 * ranks and the rest exchange vectors along the dimensions of a cube of 2^k
 * ranks. In the end odd ranks send the result to even ones. There are two
 * receive buffers, so that the next round's receive can be posted early.
 */
#include "algo/phase/fold.h"

static struct rcx_cost cost(const struct rcx_shape *s)
{
    const double k = rcx_log2_floor(s->size), n = (double)s->count;
    const struct rcx_cost exchange = {
        .rounds = k, .volume = k * n, .combines = k * n};
    const struct rcx_cost core = rcx_fold_core_cost(s, exchange);

    return rcx_cost_sum(rcx_cost_sum(rcx_fold_in_cost(s), core),
                        rcx_fold_out_cost(s));
}

static void build(struct rcx_builder *b, const struct rcx_shape *s)
{
    const struct rcx_span out = rcx_span_out(s);
    struct rcx_span mine = rcx_span_in(s);
    struct rcx_span theirs = rcx_span_scratch(b, s->count);
    struct rcx_span next = rcx_span_scratch(b, s->count);
    const struct rcx_group g = rcx_fold_in(b, s, out, next, &mine);

    for (int dist = 1; g.rank >= 0 && dist < g.size; dist *= 2) {
        const int peer = rcx_group_member(&g, g.rank ^ dist);
        const struct rcx_span free = theirs;

        rcx_step_recv(b, peer, theirs);
        rcx_step_send(b, peer, mine);
        if (peer < s->rank)
            rcx_step_reduce(b, out, theirs, mine);
        else
            rcx_step_reduce(b, out, mine, theirs);
        mine = out;
        theirs = next;
        next = free;
    }
    if (s->size == 1)
        rcx_step_copy(b, out, mine);
    rcx_fold_out(b, s, out);
}

const struct rcx_algo rcx_allreduce_recursive_doubling = {
    .name = "recursive_doubling",
    .coll = RCX_COLL_ALLREDUCE,
    .formula = "k (a + n b + n g) + [p > 2^k] (2 a + 2 n b + n g), k = "
               "floor(lg p)",
    .known_as = "MPICH, Open MPI: the same; UCC: knomial of radix 2",
    .source = "Thakur, Rabenseifner, Gropp 2005, 4.5",
    .order = rcx_fold_order,
    .cost = cost,
    .build = build,
};
