/* SPDX-License-Identifier: BSD-3-Clause */
#include "algo/binary_blocks.h"

#include "algo/cube.h"

/* Ranks first .. first + 2^log - 1. */
struct cube {
    int first, log;
};

static struct cube cube_of(int size, int rank)
{
    struct cube c = {0, rcx_log2_floor(size)};

    while (rank - c.first >= 1 << c.log) {
        c.first += 1 << c.log;
        c.log = rcx_log2_floor(size - c.first);
    }
    return c;
}

static struct rcx_group members(const struct rcx_shape *s, struct cube c)
{
    return rcx_group_strided(s, c.first, 1, 1 << c.log);
}

struct rcx_group rcx_binary_blocks_largest(const struct rcx_shape *s)
{
    return members(s, cube_of(s->size, 0));
}

/* What a member of a cube has after the halving. */
static struct rcx_span segment_of(const struct rcx_blocks *blocks,
                                  struct rcx_span vector,
                                  const struct rcx_group *cube)
{
    const int log = rcx_log2_floor(cube->size);

    return rcx_cube_segment(blocks, vector, log,
                            rcx_cube_reverse(cube->rank, log));
}

/* Between a rank and one of the next larger cube. */
struct link {
    int peer;
    struct rcx_span piece;
};

/* Pieces that a rank's segment has in the next larger cube. */
static int piece_count(struct cube mine, struct cube above)
{
    return mine.first > 0 ? 1 << (above.log - mine.log) : 0;
}

/* The pieces in the order of elements. */
static struct link link_above(const struct rcx_shape *s,
                              const struct rcx_blocks *blocks,
                              struct rcx_span vector, struct cube mine,
                              struct cube above, int i)
{
    const int me = s->rank - mine.first, fewer = above.log - mine.log;
    const int segment = rcx_cube_reverse(me, mine.log) << fewer | i;

    return (struct link){
        .peer = above.first + rcx_cube_reverse(segment, above.log),
        .piece = rcx_cube_segment(blocks, vector, above.log, segment)};
}

/* The rank of the next smaller cube whose segment holds this rank's; -1: mine
 * is the smallest. */
static int peer_below(const struct rcx_shape *s, struct cube mine)
{
    const int first = mine.first + (1 << mine.log);

    if (first == s->size)
        return -1;
    return first +
           (s->rank - mine.first) % (1 << cube_of(s->size, first).log);
}

struct rcx_span rcx_binary_blocks_up(struct rcx_builder *b,
                                     const struct rcx_shape *s,
                                     const struct rcx_blocks *blocks,
                                     struct rcx_span work)
{
    const struct cube mine = cube_of(s->size, s->rank);
    const struct cube above = cube_of(s->size, mine.first - 1);
    const struct rcx_group g = members(s, mine);
    const int below = peer_below(s, mine);
    const struct rcx_span partial =
        rcx_cube_halve(b, &g, blocks, rcx_span_in(s), work);

    if (below >= 0) {
        const struct rcx_span sum = segment_of(blocks, partial, &g);
        const struct rcx_span theirs = rcx_span_scratch(b, sum.count);

        rcx_step_recv(b, below, theirs);
        rcx_step_reduce(b, sum, sum, theirs);
    }
    for (int i = 0; i < piece_count(mine, above); i++) {
        const struct link up = link_above(s, blocks, partial, mine, above, i);

        rcx_step_send(b, up.peer, up.piece);
    }
    return partial;
}

void rcx_binary_blocks_down(struct rcx_builder *b, const struct rcx_shape *s,
                            const struct rcx_blocks *blocks,
                            struct rcx_span vector)
{
    const struct cube mine = cube_of(s->size, s->rank);
    const struct cube above = cube_of(s->size, mine.first - 1);
    const struct rcx_group g = members(s, mine);
    const int below = peer_below(s, mine);

    for (int i = 0; i < piece_count(mine, above); i++) {
        const struct link up = link_above(s, blocks, vector, mine, above, i);

        rcx_step_recv(b, up.peer, up.piece);
    }
    if (below >= 0)
        rcx_step_send(b, below, segment_of(blocks, vector, &g));
    rcx_cube_double(b, &g, blocks, vector);
}

/* ---- Costs --------------------------------------------------------------- */

static double larger(double a, double b)
{
    return a > b ? a : b;
}

/* Segments are of the same length, or some have one block more: among them
 * always the last, and the last one of each of its parts. */
static double segment_length(int blocks, int depth, int64_t i)
{
    return (double)(((i + 1) * blocks >> depth) - (i * blocks >> depth));
}

static double largest_segment(int blocks, int depth)
{
    return segment_length(blocks, depth, (INT64_C(1) << depth) - 1);
}

/*
 * When a rank can receive again after the halving of 2^log ranks: the one that
 * has, after the first few rounds, the last segment and then always the first
 * of its parts. In each round it waits for the longer one of two messages, in
 * the last one only for its own.
 */
static double halving(int blocks, int rounds, int log)
{
    int64_t segment = 0;
    double sum = 0;

    for (int k = 1; k <= log; k++) {
        double own, other;

        segment = 2 * segment + (k <= rounds);
        own = segment_length(blocks, k, segment);
        other = segment_length(blocks, k, segment ^ 1);
        sum += k < log ? larger(own, other) : own;
    }
    return sum;
}

/*
 * From the smallest cube on, each ends when the last message from the one
 * below has been served. What the last rank of it sends starts when itself is
 * done, or when the first of its pieces finds a receiver. The last rank of
 * each cube has the longest segments all along and is served last.
 */
struct rcx_cost rcx_binary_blocks_up_cost(int size, int blocks)
{
    const int smallest = __builtin_ctz((unsigned)size);
    int below = smallest;
    struct rcx_cost at = {.rounds = smallest,
                          .volume = halving(blocks, smallest, smallest),
                          .combines = halving(blocks, smallest, smallest)};

    for (int log = smallest + 1; log <= rcx_log2_floor(size); log++) {
        if (!(size >> log & 1))
            continue;
        at.rounds = larger(at.rounds, log) + (double)(1 << (log - below));
        at.volume = larger(at.volume, halving(blocks, below, log)) +
                    largest_segment(blocks, below);
        at.combines = larger(at.combines, halving(blocks, log, log)) +
                      largest_segment(blocks, log);
        below = log;
    }
    return at;
}
