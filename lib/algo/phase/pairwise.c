/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Reduce-scatter and allreduce by pairwise exchange over a group, as phases of
 * reduce-scatter, reduce, allreduce and factorized algorithms. The combiner of
 * tree.h combines the operands; pairwise.h describes the steps.
 */
#include "algo/phase/pairwise.h"

#include "algo/phase/tree.h"

void rcx_pairwise_reduce_scatter(struct rcx_builder *b,
                                 const struct rcx_group *g,
                                 const struct rcx_blocks *blocks,
                                 struct rcx_span operand,
                                 struct rcx_span result)
{
    const int me = g->rank, p = g->size;
    struct rcx_combiner combiner;

    rcx_combiner_init(&combiner, b, p, result);
    rcx_combiner_add(&combiner, me, rcx_block(blocks, operand, me));
    for (int t = 1; t < p; t++) {
        const int above = (me + t) % p, below = (me + p - t) % p;
        const struct rcx_span theirs = rcx_combiner_slot(&combiner);

        rcx_step_recv(b, rcx_group_member(g, below), theirs);
        rcx_step_send(b, rcx_group_member(g, above),
                      rcx_block(blocks, operand, above));
        rcx_combiner_add(&combiner, below, theirs);
    }
}

/* The slowest member has the largest block, and receives it in every step. */
struct rcx_cost
rcx_pairwise_reduce_scatter_cost(const struct rcx_blocks *blocks)
{
    const double steps = blocks->n - 1;
    const double elements = steps * (double)rcx_blocks_largest(blocks);

    return (struct rcx_cost){.rounds = steps,
                             .volume = elements,
                             .combines = elements,
                             .saved.rounds = blocks->n > 1 ? steps - 1 : 0};
}

void rcx_pairwise_allreduce(struct rcx_builder *b, const struct rcx_group *g,
                            struct rcx_span operand, struct rcx_span result)
{
    const int me = g->rank, p = g->size;
    struct rcx_combiner combiner;

    rcx_combiner_init(&combiner, b, p, result);
    rcx_combiner_add(&combiner, me, operand);
    for (int t = 1; t < p; t++) {
        const int above = (me + t) % p, below = (me + p - t) % p;
        const struct rcx_span theirs = rcx_span_scratch(b, result.count);

        rcx_step_recv(b, rcx_group_member(g, below), theirs);
        rcx_step_send(b, rcx_group_member(g, above), operand);
        rcx_combiner_add(&combiner, below, theirs);
    }
}

struct rcx_cost rcx_pairwise_allreduce_cost(int size, double count)
{
    const double others = size - 1;
    const double again = others > 0 ? others - 1 : 0; /* of the same vector */

    return (struct rcx_cost){.rounds = others,
                             .volume = others * count,
                             .combines = others * count,
                             .saved = {again, 0.5 * again * count}};
}
