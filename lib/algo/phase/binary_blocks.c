/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Up and down phases of binary blocks algorithms (allreduce, reduce,
 * reduce-scatter), with their costs: which ranks of cubes of different sizes
 * exchange which pieces. binary_blocks.h describes the algorithm.
 */
#include "algo/phase/binary_blocks.h"

struct rcx_halving rcx_binary_blocks_cube(const struct rcx_shape *s,
                                          const struct rcx_blocks *blocks,
                                          int rank)
{
    int first = 0, size = rcx_pow2_floor(s->size);

    while (rank - first >= size) {
        first += size;
        size = rcx_pow2_floor(s->size - first);
    }
    return (struct rcx_halving){.group = rcx_group_strided(s, first, 1, size),
                                .blocks = *blocks,
                                .near_first = true};
}

/* This rank's cube, and its partners in the next larger and next smaller
 * cubes. */
struct place {
    struct rcx_halving cube;
    struct rcx_halving above; /* the next larger cube */
    int pieces; /* parts of above per part of cube; 0: cube is the largest */
    int below;  /* rank of the next smaller cube whose part holds mine;
                   -1: cube is the smallest */
};

static struct place place_of(const struct rcx_shape *s,
                             const struct rcx_blocks *blocks)
{
    struct place at = {.cube = rcx_binary_blocks_cube(s, blocks, s->rank),
                       .below = -1};
    const struct rcx_group *g = &at.cube.group;
    const int first = s->rank - g->rank, end = first + g->size;

    if (first > 0) {
        at.above = rcx_binary_blocks_cube(s, blocks, first - 1);
        at.pieces = at.above.group.size / g->size;
    }
    if (end < s->size)
        at.below = end + g->rank % rcx_pow2_floor(s->size - end);
    return at;
}

/* A piece of this rank's part, and the rank of the cube above that has this
 * piece as its part. */
struct link {
    int peer;
    struct rcx_span piece;
};

/* Return piece i of this rank's part and its peer. Pieces are in the order of
 * elements. */
static struct link link_above(const struct place *at, struct rcx_span part,
                              int i)
{
    const struct rcx_halving *above = &at->above;
    const int first =
        rcx_halving_part_of(&at->cube, at->cube.group.rank) * at->pieces;

    return (struct link){
        .peer = rcx_group_member(&above->group,
                                 rcx_halving_part_of(above, first + i)),
        .piece = rcx_halving_part(above, part, first, first + i)};
}

void rcx_binary_blocks_up(struct rcx_builder *b, const struct rcx_shape *s,
                          const struct rcx_blocks *blocks,
                          struct rcx_span result)
{
    const struct place at = place_of(s, blocks);
    const struct rcx_span in = rcx_span_in(s);
    /* a rank alone in its cube sends its operand from IN */
    const bool is_alone = at.pieces > 0 && at.cube.group.size == 1;
    const struct rcx_span part = is_alone ? in : result;

    rcx_halving_reduce_scatter(b, &at.cube, in, part);
    if (at.below >= 0) {
        const struct rcx_span theirs = rcx_span_scratch(b, part.count);

        rcx_step_recv(b, at.below, theirs);
        rcx_step_reduce(b, part, part, theirs);
    }
    for (int i = 0; i < at.pieces; i++) {
        const struct link up = link_above(&at, part, i);

        rcx_step_send(b, up.peer, up.piece);
    }
}

void rcx_binary_blocks_down(struct rcx_builder *b, const struct rcx_shape *s,
                            const struct rcx_blocks *blocks,
                            struct rcx_span vector)
{
    const struct place at = place_of(s, blocks);
    const struct rcx_span part = rcx_halving_own(&at.cube, vector);

    for (int i = 0; i < at.pieces; i++) {
        const struct link up = link_above(&at, part, i);

        rcx_step_recv(b, up.peer, up.piece);
    }
    if (at.below >= 0)
        rcx_step_send(b, at.below, part);
    rcx_halving_allgather(b, &at.cube, vector);
}

/* ---- Costs --------------------------------------------------------------- */

static double larger(double a, double b)
{
    return a > b ? a : b;
}

/* Return the blocks of part i of 2^depth. Parts are of equal length, or some
 * have one block more. Among the longer ones is the last part, and, if that is
 * split again, its last half. */
static double part_length(int blocks, int depth, int64_t i)
{
    return (double)(((i + 1) * blocks >> depth) - (i * blocks >> depth));
}

static double largest_part(int blocks, int depth)
{
    return part_length(blocks, depth, (INT64_C(1) << depth) - 1);
}

/*
 * Return when a rank can receive again after recursive halving among 2^log
 * ranks, in blocks. The rank is the one that keeps the upper half in the given
 * number of rounds, and the lower half from then on. In each round it waits for
 * the longer one of two messages, in the last round only for the one that it
 * receives.
 */
static double halving(int blocks, int rounds, int log)
{
    int64_t part = 0;
    double sum = 0;

    for (int k = 1; k <= log; k++) {
        double own, other;

        part = 2 * part + (k <= rounds);
        own = part_length(blocks, k, part);
        other = part_length(blocks, k, part ^ 1);
        sum += k < log ? larger(own, other) : own;
    }
    return sum;
}

/*
 * Return the cost from the smallest cube to the largest. A cube is done when it
 * has received the last message from the next smaller cube. The last rank of
 * that cube starts to send when it is done itself, and its first receiver is
 * ready. The last rank of each cube has the longest parts in all rounds and
 * receives last.
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
                    largest_part(blocks, below);
        at.combines = larger(at.combines, halving(blocks, log, log)) +
                      largest_part(blocks, log);
        below = log;
    }
    return at;
}

/*
 * The largest cube sends a part, then doubles. The other cubes start later but
 * have less to double. So they end no later in rounds. In volume, each cube
 * that forwards a result adds its part, as it did with its combine on the way
 * up: the volume down is what they combine.
 */
struct rcx_cost rcx_binary_blocks_down_cost(int size)
{
    const int cube = rcx_pow2_floor(size);
    const struct rcx_cost up = rcx_binary_blocks_up_cost(size, cube);

    return (struct rcx_cost){.rounds = (size > cube) + rcx_log2_floor(cube),
                             .volume = up.combines};
}
