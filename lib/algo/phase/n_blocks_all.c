/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Allgather and reduce-scatter by n-block schedules of all members at once,
 * with their costs, as phases: which parts a message has, and where they lie.
 * n_blocks_all.h describes the messages.
 */
#include "algo/phase/n_blocks_all.h"

#include "algo/phase/circulant.h"
#include "algo/phase/run.h"

enum { NONE = RCX_N_BLOCKS_NONE, CYCLE = RCX_N_BLOCKS_CYCLE };

int rcx_n_blocks_parts_of(const struct rcx_shape *s)
{
    const struct rcx_blocks blocks = rcx_blocks_of(s);
    const size_t largest = rcx_blocks_largest(&blocks);
    const int parts = rcx_n_blocks_of(s);

    return largest < (size_t)parts ? (largest > 0 ? (int)largest : 1) : parts;
}

/* ---- Parts of messages --------------------------------------------------- */

struct exchange {
    struct rcx_builder *b;
    const struct rcx_group *g;
    const struct rcx_blocks *blocks;
    struct rcx_n_blocks owner; /* schedule of a broadcast, seen from its root */
    /* in the builder's work memory: */
    struct rcx_span *places; /* where parts lie, in the order of owners */
    size_t *message;         /* parts of a message, as indices of places */
    int8_t *lists; /* block received in round k of a cycle, by distance */
};

/* Begin an exchange. vector: where all parts lie at first. False: no memory. */
static bool begin(struct exchange *e, int parts, struct rcx_span vector)
{
    const size_t p = (size_t)e->g->size, n = p * (size_t)parts;
    int list[CYCLE];
    char *work;

    rcx_n_blocks_begin(&e->owner, e->g->size, 0, parts);
    work =
        rcx_builder_work(e->b, n * sizeof *e->places + p * sizeof *e->message +
                                   p * (size_t)e->owner.cycle);
    if (!work) {
        rcx_builder_fail(e->b, RCX_ERR_NOMEM);
        return false;
    }
    e->places = (void *)work;
    e->message = (void *)(e->places + n);
    e->lists = (void *)(e->message + p);
    for (int d = 1; d < e->g->size; d++) {
        rcx_n_blocks_received(&e->owner, d, list);
        for (int k = 0; k < e->owner.cycle; k++)
            e->lists[(size_t)k * p + (size_t)d] = (int8_t)list[k];
    }
    for (size_t i = 0; i < n; i++)
        e->places[i] = rcx_span_part(
            rcx_block(e->blocks, vector, (int)(i / (size_t)parts)), parts,
            (int)(i % (size_t)parts));
    return true;
}

static int at_distance(const struct exchange *e, int64_t distance)
{
    return (int)((e->g->rank + distance) % e->g->size);
}

/* Store the parts that member receiver gets in round i in e->message. Returns
 * how many. */
static size_t message_to(struct exchange *e, int receiver, int i)
{
    const int p = e->g->size;
    const int8_t *list =
        e->lists + (size_t)rcx_n_blocks_entry(&e->owner, i) * (size_t)p;
    size_t n = 0;

    for (int owner = 0; owner < p; owner++) {
        const int distance = receiver - owner + (owner > receiver ? p : 0);
        const int part = distance == 0
                             ? NONE
                             : rcx_n_blocks_block(&e->owner, list[distance], i);
        const size_t at = (size_t)owner * (size_t)e->owner.blocks +
                          (size_t)(part == NONE ? 0 : part);

        if (part != NONE && e->places[at].count > 0)
            e->message[n++] = at;
    }
    return n;
}

/* Return a span for the n parts of the message: where they lie, if that is one
 * piece, else fresh scratch. */
static struct rcx_span in_one_piece(const struct exchange *e, size_t n)
{
    struct rcx_span whole = {.buffer = RCX_BUFFER_TMP};
    bool apart = n == 0;

    for (size_t i = 0; i < n; i++) {
        const struct rcx_span part = e->places[e->message[i]];

        if (i == 0)
            whole = rcx_span_sub(part, 0, 0);
        apart = apart || part.buffer != whole.buffer ||
                part.offset != whole.offset + whole.count;
        whole.count += part.count;
    }
    return apart ? rcx_span_scratch(e->b, whole.count) : whole;
}

/* Copy the parts of the message to whole. A part that lies there takes no
 * step. */
static void pack(const struct exchange *e, size_t n, struct rcx_span whole)
{
    size_t at = 0;

    for (size_t i = 0; i < n; i++) {
        const struct rcx_span part = e->places[e->message[i]];

        rcx_step_copy(e->b, rcx_span_sub(whole, at, part.count), part);
        at += part.count;
    }
}

static void unpack(const struct exchange *e, size_t n, struct rcx_span whole)
{
    size_t at = 0;

    for (size_t i = 0; i < n; i++) {
        const struct rcx_span part = e->places[e->message[i]];

        rcx_step_copy(e->b, part, rcx_span_sub(whole, at, part.count));
        at += part.count;
    }
}

/* Combine the received parts with this member's. Sums stay in whole, but those
 * of the own block go to result. */
static void combine(struct exchange *e, size_t n, struct rcx_span whole,
                    struct rcx_span result)
{
    const size_t parts = (size_t)e->owner.blocks;
    size_t at = 0;

    for (size_t i = 0; i < n; i++) {
        struct rcx_span *part = &e->places[e->message[i]];
        const struct rcx_span theirs = rcx_span_sub(whole, at, part->count);
        const bool is_own = e->message[i] / parts == (size_t)e->g->rank;
        const struct rcx_span sum =
            is_own ? rcx_span_part(result, e->owner.blocks,
                                   (int)(e->message[i] % parts))
                   : theirs;

        rcx_step_reduce(e->b, sum, *part, theirs);
        at += part->count;
        *part = sum;
    }
}

/* ---- Allgather ----------------------------------------------------------- */

/* Allgather of whole blocks. In round k, the members at distances skips[k] to
 * skips[k + 1] - 1 from an owner receive its block. */
static void pass_runs(struct rcx_builder *b, const struct rcx_group *g,
                      const struct rcx_blocks *blocks, struct rcx_span vector)
{
    struct exchange e = {.b = b, .g = g, .blocks = blocks};
    struct rcx_run run = {.blocks = blocks, .vector = vector};

    rcx_n_blocks_begin(&e.owner, g->size, 0, 1);
    for (int k = 0; k < e.owner.cycle; k++) {
        const int skip = e.owner.skips[k], next = e.owner.skips[k + 1];
        const int p = g->size;

        run.n = next - skip;
        run.first = at_distance(&e, (int64_t)p - next + 1);
        rcx_run_recv(b, rcx_group_member(g, at_distance(&e, p - skip)), &run);
        run.first = at_distance(&e, (int64_t)p - run.n + 1);
        rcx_run_send(b, rcx_group_member(g, at_distance(&e, skip)), &run);
    }
}

void rcx_n_blocks_allgather(struct rcx_builder *b, const struct rcx_group *g,
                            const struct rcx_blocks *blocks, int parts,
                            struct rcx_span vector)
{
    struct exchange e = {.b = b, .g = g, .blocks = blocks};

    if (parts == 1) {
        pass_runs(b, g, blocks, vector);
        return;
    }
    if (!begin(&e, parts, vector))
        return;
    for (int i = 0; i < rcx_n_blocks_rounds(g->size, parts); i++) {
        const struct rcx_n_blocks_round at = rcx_n_blocks_round(&e.owner, i);
        const int above = at_distance(&e, at.to);
        const int below = at_distance(&e, at.from);
        const size_t gone = message_to(&e, above, i);
        const struct rcx_span going = in_one_piece(&e, gone);
        struct rcx_span coming;
        size_t come;

        pack(&e, gone, going);
        come = message_to(&e, g->rank, i);
        coming = in_one_piece(&e, come);
        rcx_step_recv(b, rcx_group_member(g, below), coming);
        rcx_step_send(b, rcx_group_member(g, above), going);
        unpack(&e, come, coming);
    }
}

/* ---- Reduce-scatter ------------------------------------------------------ */

static size_t length_of(const struct exchange *e, size_t n)
{
    size_t count = 0;

    for (size_t i = 0; i < n; i++)
        count += e->places[e->message[i]].count;
    return count;
}

/* The rounds of the allgather in reverse: a member sends the parts that it
 * would receive, to the member from which it would receive them. */
void rcx_n_blocks_reduce_scatter(struct rcx_builder *b,
                                 const struct rcx_group *g,
                                 const struct rcx_blocks *blocks, int parts,
                                 struct rcx_span operand,
                                 struct rcx_span result)
{
    struct exchange e = {.b = b, .g = g, .blocks = blocks};

    if (parts == 1 || g->size == 1) {
        rcx_circulant_reduce_scatter(b, g, blocks, operand, 0, result);
        return;
    }
    if (!begin(&e, parts, operand))
        return;
    for (int i = rcx_n_blocks_rounds(g->size, parts) - 1; i >= 0; i--) {
        const struct rcx_n_blocks_round at = rcx_n_blocks_round(&e.owner, i);
        const int above = at_distance(&e, at.to);
        const int below = at_distance(&e, at.from);
        const size_t gone = message_to(&e, g->rank, i);
        const struct rcx_span going = in_one_piece(&e, gone);
        struct rcx_span coming;
        size_t come;

        pack(&e, gone, going);
        come = message_to(&e, above, i);
        coming = rcx_span_scratch(b, length_of(&e, come));
        rcx_step_recv(b, rcx_group_member(g, above), coming);
        rcx_step_send(b, rcx_group_member(g, below), going);
        combine(&e, come, coming, result);
    }
}

/* ---- Costs --------------------------------------------------------------- */

/* Return the elements of a message that has the longest part of every block. */
static double longest_message(const struct rcx_blocks *blocks, int parts)
{
    const struct rcx_span vector = {.count = blocks->count};
    double count = 0;

    for (int i = 0; i < blocks->n; i++)
        count +=
            (double)rcx_span_part(rcx_block(blocks, vector, i), parts, 0).count;
    return count;
}

/* Return the lower one of two bounds. No member receives more than the others'
 * blocks. A message has a part of each block, which may be the lower bound if
 * blocks are of different lengths. */
static double volume_of(const struct rcx_blocks *blocks, int parts)
{
    const double rounds = rcx_n_blocks_rounds(blocks->n, parts);
    const double even = (blocks->n - 1) * (double)rcx_blocks_largest(blocks);
    const double any =
        blocks->displs ? rounds * longest_message(blocks, parts) : even;

    return any < even ? any : even;
}

struct rcx_cost rcx_n_blocks_allgather_cost(const struct rcx_blocks *blocks,
                                            int parts)
{
    if (parts == 1)
        return rcx_circulant_allgather_cost(blocks, 0);
    return (struct rcx_cost){.rounds = rcx_n_blocks_rounds(blocks->n, parts),
                             .volume = volume_of(blocks, parts)};
}

struct rcx_cost
rcx_n_blocks_reduce_scatter_cost(const struct rcx_blocks *blocks, int parts)
{
    struct rcx_cost cost = rcx_n_blocks_allgather_cost(blocks, parts);

    if (parts == 1)
        return rcx_circulant_reduce_scatter_cost(blocks, 0);
    cost.combines = cost.volume;
    return cost;
}
