/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Allgather by Bruck's concatenation over a group, and an allreduce with it, as
 * phases of allgather, bcast and allreduce algorithms. bruck.h describes the
 * rounds.
 */
#include "algo/phase/bruck.h"

#include "algo/phase/run.h"
#include "algo/phase/tree.h"

enum { NONE = -1 };

/* Return how many messages a weight has: one for each digit 1, 2, ... */
static int digits_of(int p, int64_t weight, int radix)
{
    const int most = (int)((p - 1) / weight);

    return radix - 1 < most ? radix - 1 : most;
}

/* Return the blocks in the message of a digit. */
static int blocks_of(int p, int64_t weight, int digit)
{
    const int left = p - digit * (int)weight;

    return weight < left ? (int)weight : left;
}

/* Allgather by concatenation. Member full, which may be NONE, receives
 * nothing. */
static void concatenate(struct rcx_builder *b, const struct rcx_group *g,
                        const struct rcx_blocks *blocks, int radix,
                        struct rcx_span vector, int full)
{
    const int me = g->rank, p = g->size;

    for (int64_t weight = 1; weight < p; weight *= radix) {
        for (int digit = 1; digit <= digits_of(p, weight, radix); digit++) {
            const int d = digit * (int)weight;
            const int above = (me + d) % p, below = (me + p - d) % p;
            struct rcx_run run = {.blocks = blocks, .vector = vector};

            run.n = blocks_of(p, weight, digit);
            run.first = above;
            if (me != full)
                rcx_run_recv(b, rcx_group_member(g, above), &run);
            run.first = me;
            if (below != full)
                rcx_run_send(b, rcx_group_member(g, below), &run);
        }
    }
}

void rcx_bruck_allgather(struct rcx_builder *b, const struct rcx_group *g,
                         const struct rcx_blocks *blocks, int radix,
                         struct rcx_span vector)
{
    concatenate(b, g, blocks, radix, vector, NONE);
}

void rcx_bruck_allgather_others(struct rcx_builder *b,
                                const struct rcx_group *g,
                                const struct rcx_blocks *blocks,
                                struct rcx_span vector, int full)
{
    concatenate(b, g, blocks, 2, vector, full);
}

/* In scratch, each member's own vector comes first, then those of the next
 * members, cyclic. So no message has to be packed. */
void rcx_bruck_allreduce(struct rcx_builder *b, const struct rcx_group *g,
                         struct rcx_span operand, struct rcx_span result)
{
    const int me = g->rank, p = g->size;
    const size_t m = result.count;
    const struct rcx_span all = rcx_span_scratch(b, (size_t)p * m);
    struct rcx_combiner combiner;

    rcx_step_copy(b, rcx_span_sub(all, 0, m), operand);
    for (int d = 1; d < p; d *= 2) {
        const size_t n = (size_t)(d < p - d ? d : p - d) * m;

        rcx_step_recv(b, rcx_group_member(g, (me + d) % p),
                      rcx_span_sub(all, (size_t)d * m, n));
        rcx_step_send(b, rcx_group_member(g, (me + p - d) % p),
                      rcx_span_sub(all, 0, n));
    }
    rcx_combiner_init(&combiner, b, p, result);
    for (int i = 0; i < p; i++)
        rcx_combiner_add(&combiner, i,
                         rcx_span_sub(all, (size_t)((i - me + p) % p) * m, m));
}

/* ---- Costs --------------------------------------------------------------- */

/* No message is longer than the vector. */
struct rcx_cost rcx_bruck_allgather_cost(const struct rcx_blocks *blocks,
                                         int radix)
{
    const int p = blocks->n;
    const double all = (double)blocks->count;
    const double largest = (double)rcx_blocks_largest(blocks);
    struct rcx_cost cost = {0};

    for (int64_t weight = 1; weight < p; weight *= radix) {
        const int digits = digits_of(p, weight, radix);

        cost.saved.rounds += digits - 1;
        for (int digit = 1; digit <= digits; digit++) {
            const double most = blocks_of(p, weight, digit) * largest;

            cost.rounds++;
            cost.volume += most < all ? most : all;
        }
    }
    return cost;
}

struct rcx_cost rcx_bruck_allreduce_cost(int size, double count)
{
    const double others = (size - 1) * count;

    return (struct rcx_cost){
        .rounds = rcx_log2_ceil(size), .volume = others, .combines = others};
}
