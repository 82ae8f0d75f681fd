/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Parallel aggregated trees (Jeaugey 2025, PAT, arXiv 2506.20252): along which
 * tree each block moves, as numbers, for allgather and reduce-scatter.
 *
 * The block of rank r goes to the ranks ahead of it, up to distance p - 1. A
 * distance is tree * width + place, place < width, and so names a place in one
 * of several trees. In allgather, blocks first get to place 0 of every tree, in
 * ceil(lg trees) rounds that double the number of trees with a block, the most
 * distant ones first. Then all trees grow at once, by one place a round: a
 * message has one block of every tree. Place l follows l without its lowest
 * bit, which is the distance of the message. Reduce-scatter is the reverse.
 *
 * With one tree a message has one block, and there are p - 1 rounds. With p
 * trees of one place there are ceil(lg p), and a message has up to p / 2
 * blocks. In the paper p and the number of trees are powers of two, and surplus
 * ranks are left out; here trees are as wide as p asks for.
 */
#ifndef RCX_ALGO_PHASE_PAT_H
#define RCX_ALGO_PHASE_PAT_H

#include "core/sched/algo.h"

struct rcx_pat {
    const struct rcx_shape *s;
    struct rcx_blocks blocks;
    int trees, width;
};

/* Parameters: [aggregation]. */
extern const struct rcx_param rcx_pat_params[];

struct rcx_pat rcx_pat_of(const struct rcx_shape *s);
/* Return the number of trees that have a place. These are the first ones. */
int rcx_pat_trees(const struct rcx_pat *pat, int place);
/* Return the number of trees that get a block in the round in which they are at
 * odd multiples of dist from those that have one. */
int rcx_pat_odd(const struct rcx_pat *pat, int dist);
/* Return the block of the rank that is so far behind, of a vector at span. */
struct rcx_span rcx_pat_block(const struct rcx_pat *pat, struct rcx_span span,
                              int distance);
/* Return the rank that is so far ahead; behind, if distance is negative. */
int rcx_pat_rank(const struct rcx_pat *pat, int distance);
/* Return the elements of the longest message, at most; of a block of every
 * tree. */
size_t rcx_pat_longest(const struct rcx_pat *pat);
size_t rcx_pat_row(const struct rcx_pat *pat);

/* Return the cost of either collective, without combines. */
struct rcx_cost rcx_pat_cost(const struct rcx_shape *s);

#endif
