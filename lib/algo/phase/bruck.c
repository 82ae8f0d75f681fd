/* SPDX-License-Identifier: BSD-3-Clause */
#include "algo/phase/bruck.h"

#include "algo/phase/tree.h"

enum { NONE = -1 };

/* Blocks that follow each other, cyclic. */
struct run {
    struct rcx_span head;
    struct rcx_span tail; /* those from the vector's start on; may be empty */
};

static struct run run_of(const struct rcx_blocks *blocks,
                         struct rcx_span vector, int first, int n)
{
    const int p = blocks->n, over = first + n - p;

    if (over <= 0)
        return (struct run){
            .head = rcx_block_range(blocks, vector, first, first + n),
            .tail = rcx_span_sub(vector, 0, 0)};
    return (struct run){.head = rcx_block_range(blocks, vector, first, p),
                        .tail = rcx_block_range(blocks, vector, 0, over)};
}

/* Scratch in which a run that wraps around lies in one piece. */
static struct run packed(struct rcx_builder *b, const struct run *run,
                         struct rcx_span *whole_p)
{
    const size_t head = run->head.count, tail = run->tail.count;

    *whole_p = rcx_span_scratch(b, head + tail);
    return (struct run){.head = rcx_span_sub(*whole_p, 0, head),
                        .tail = rcx_span_sub(*whole_p, head, tail)};
}

static void send(struct rcx_builder *b, int peer, struct run run)
{
    struct rcx_span whole = run.head;

    if (run.tail.count > 0) {
        const struct run to = packed(b, &run, &whole);

        rcx_step_copy(b, to.head, run.head);
        rcx_step_copy(b, to.tail, run.tail);
    }
    rcx_step_send(b, peer, whole);
}

static void receive(struct rcx_builder *b, int peer, struct run run)
{
    struct rcx_span whole = run.head;
    struct run from = run;

    if (run.tail.count > 0)
        from = packed(b, &run, &whole);
    rcx_step_recv(b, peer, whole);
    if (run.tail.count > 0) {
        rcx_step_copy(b, run.head, from.head);
        rcx_step_copy(b, run.tail, from.tail);
    }
}

/* Messages of a weight: digits 1 to as many. */
static int digits_of(int p, int64_t weight, int radix)
{
    const int most = (int)((p - 1) / weight);

    return radix - 1 < most ? radix - 1 : most;
}

/* Member full, which may be NONE, gets nothing. */
static void concatenate(struct rcx_builder *b, const struct rcx_group *g,
                        const struct rcx_blocks *blocks, int radix,
                        struct rcx_span vector, int full)
{
    const int me = g->rank, p = g->size;

    for (int64_t weight = 1; weight < p; weight *= radix) {
        for (int digit = 1; digit <= digits_of(p, weight, radix); digit++) {
            const int d = digit * (int)weight;
            const int above = (me + d) % p, below = (me + p - d) % p;
            const int n = weight < p - d ? (int)weight : p - d;

            if (me != full)
                receive(b, rcx_group_member(g, above),
                        run_of(blocks, vector, above, n));
            if (below != full)
                send(b, rcx_group_member(g, below),
                     run_of(blocks, vector, me, n));
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

/* As members may place whole vectors in scratch as they like, their own comes
 * first, then the next ones', cyclic, so that no message has to be packed. */
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

struct rcx_cost rcx_bruck_allgather_cost(const struct rcx_blocks *blocks,
                                         int radix)
{
    const int p = blocks->n;
    double rounds = 0;

    for (int64_t weight = 1; weight < p; weight *= radix)
        rounds += digits_of(p, weight, radix);
    return (struct rcx_cost){.rounds = rounds,
                             .volume =
                                 (p - 1) * (double)rcx_blocks_largest(blocks)};
}

struct rcx_cost rcx_bruck_allreduce_cost(int size, double count)
{
    const double others = (size - 1) * count;

    return (struct rcx_cost){
        .rounds = rcx_log2_ceil(size), .volume = others, .combines = others};
}
