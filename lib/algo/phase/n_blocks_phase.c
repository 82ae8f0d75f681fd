/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Broadcast and reduction by n-block schedules, with their parameter and costs,
 * as phases of the circulant algorithms of bcast, reduce and allreduce.
 * n_blocks_phase.h has the contracts.
 */
#include "algo/phase/n_blocks_phase.h"

enum { NONE = RCX_N_BLOCKS_NONE };

/* ---- The parameter ------------------------------------------------------- */

enum { MOST = 1 << 20, LEAST_BYTES = 2 << 10 /* of a block, if auto */ };

/* Candidates: 1, 2, 3, 4, then four between each power of two and the next one.
 * The best number is about sqrt((q - 1) n b / a), and numbers near it are as
 * good. */
static int64_t candidate(const struct rcx_shape *s, int i)
{
    const int64_t value = i < 4 ? i + 1 : (int64_t)(i % 4 + 5) << (i / 4 - 1);
    const double bytes = (double)s->count * (double)s->elem_bytes;

    return i > 0 && (value > MOST || bytes < (double)value * LEAST_BYTES)
               ? RCX_PARAM_END
               : value;
}

static const int64_t proved[] = {1, 2, 3, 5, 16, RCX_PARAM_AUTO, RCX_PARAM_END};
const struct rcx_param rcx_n_blocks_params[] = {
    {.name = "blocks",
     .doc = "number of blocks that the vector is cut into; auto: none shorter "
            "than 2 KB",
     .least = 1,
     .most = MOST,
     .usual = RCX_PARAM_AUTO,
     .proved = proved,
     .candidate = candidate},
    {.name = NULL}};

int rcx_n_blocks_of(const struct rcx_shape *s)
{
    const int64_t blocks = s->params[0];

    if (blocks > 0 && (uint64_t)blocks > s->count)
        return s->count > 0 ? (int)s->count : 1;
    return blocks > 0 ? (int)blocks : 1;
}

/* ---- The phases ---------------------------------------------------------- */

static void begin(struct rcx_n_blocks *n, const struct rcx_group *g, int root,
                  int blocks)
{
    const int rank = g->rank - root;

    rcx_n_blocks_begin(n, g->size, rank < 0 ? rank + g->size : rank, blocks);
}

static int member(const struct rcx_group *g, int root, int rank)
{
    return rcx_group_member(g, rank < g->size - root ? rank + root
                                                     : rank - (g->size - root));
}

void rcx_n_blocks_bcast(struct rcx_builder *b, const struct rcx_group *g,
                        int root, int blocks, struct rcx_span vector)
{
    struct rcx_n_blocks n;

    begin(&n, g, root, blocks);
    for (int i = 0; i < rcx_n_blocks_rounds(g->size, blocks); i++) {
        const struct rcx_n_blocks_round at = rcx_n_blocks_round(&n, i);

        if (at.recv != NONE)
            rcx_step_recv(b, member(g, root, at.from),
                          rcx_span_part(vector, blocks, at.recv));
        if (at.send != NONE)
            rcx_step_send(b, member(g, root, at.to),
                          rcx_span_part(vector, blocks, at.send));
    }
}

/* Where a rank has partial results of a reduction. */
struct partials {
    const struct rcx_n_blocks *n;
    struct rcx_span operand;
    struct rcx_span result;
    /* Used if result is empty. A block is at work for two cycles at most, so
     * the block two cycles behind it can take its place. */
    struct rcx_span window;
    int width;
};

static struct partials partials_of(struct rcx_builder *b,
                                   const struct rcx_n_blocks *n,
                                   struct rcx_span operand,
                                   struct rcx_span result)
{
    const size_t largest = rcx_span_part(operand, n->blocks, 0).count;
    struct partials p = {.n = n, .operand = operand, .result = result};

    p.width = n->blocks < 2 * n->cycle ? n->blocks : 2 * n->cycle;
    if (result.count == 0)
        p.window = rcx_span_scratch(b, (size_t)p.width * largest);
    return p;
}

static struct rcx_span place_of(const struct partials *p, int block)
{
    if (p->result.count > 0)
        return rcx_span_part(p->result, p->n->blocks, block);
    return rcx_span_sub(rcx_span_part(p->window, p->width, block % p->width), 0,
                        rcx_span_part(p->operand, p->n->blocks, block).count);
}

/* Return the partial result of a block before round i: the operand, unless a
 * round with a higher number has combined it. Rounds count down. */
static struct rcx_span partial_of(const struct partials *p, int block, int i)
{
    return rcx_n_blocks_sends_later(p->n, block, i)
               ? place_of(p, block)
               : rcx_span_part(p->operand, p->n->blocks, block);
}

/* The rounds of the broadcast in reverse. */
void rcx_n_blocks_reduce(struct rcx_builder *b, const struct rcx_group *g,
                         int root, int blocks, struct rcx_span operand,
                         struct rcx_span result)
{
    const size_t largest = rcx_span_part(operand, blocks, 0).count;
    const struct rcx_span scratch[] = {rcx_span_scratch(b, largest),
                                       rcx_span_scratch(b, largest)};
    struct rcx_n_blocks n;
    struct partials p;

    begin(&n, g, root, blocks);
    p = partials_of(b, &n, operand, result);
    if (g->size == 1)
        rcx_step_copy(b, result, operand);
    for (int i = rcx_n_blocks_rounds(g->size, blocks) - 1; i >= 0; i--) {
        const struct rcx_n_blocks_round at = rcx_n_blocks_round(&n, i);
        struct rcx_span mine = operand, theirs = operand;

        if (at.send != NONE) {
            mine = partial_of(&p, at.send, i);
            theirs = rcx_span_sub(scratch[i % 2], 0, mine.count);
            rcx_step_recv(b, member(g, root, at.to), theirs);
        }
        if (at.recv != NONE)
            rcx_step_send(b, member(g, root, at.from),
                          partial_of(&p, at.recv, i));
        if (at.send != NONE)
            rcx_step_reduce(b, place_of(&p, at.send), mine, theirs);
    }
}

/* ---- Costs --------------------------------------------------------------- */

struct rcx_cost rcx_n_blocks_reduce_cost(const struct rcx_shape *s)
{
    const int blocks = rcx_n_blocks_of(s);
    const struct rcx_span vector = {.count = s->count};
    const double rounds = rcx_n_blocks_rounds(s->size, blocks);
    const double elements =
        rounds * (double)rcx_span_part(vector, blocks, 0).count;

    return (struct rcx_cost){.rounds = rounds,
                             .volume = elements,
                             .combines = elements,
                             .idle =
                                 rounds - blocks * (s->size - 1.0) / s->size};
}

struct rcx_cost rcx_n_blocks_bcast_cost(const struct rcx_shape *s)
{
    struct rcx_cost cost = rcx_n_blocks_reduce_cost(s);

    cost.combines = 0;
    return cost;
}
