/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The phases of recursive halving and doubling, over the 2^k members of a
 * group: lg p rounds each, of a half, a quarter, ... of the vector, or the
 * reverse. Distances double in the halving, so that a member's partial result
 * is always that of neighbours: CANONICAL.
 *
 * After h rounds a member has one of 2^h segments of the vector: the one whose
 * number is its own lowest h bits reversed.
 */
#ifndef RCX_ALGO_CUBE_H
#define RCX_ALGO_CUBE_H

#include "core/algo.h"

/* The lowest bits of value in reverse order. */
int rcx_cube_reverse(int value, int bits);

/*
 * Segment i of 2^depth nearly equal ones, each of whole blocks; the first of
 * them; the segment that a block is in. There are at least as many blocks.
 */
static inline int rcx_cube_first_block(const struct rcx_blocks *blocks,
                                       int depth, int i)
{
    return (int)((int64_t)i * blocks->n >> depth);
}
static inline int rcx_cube_segment_with(const struct rcx_blocks *blocks,
                                        int depth, int block)
{
    return (int)(((((int64_t)block + 1) << depth) - 1) / blocks->n);
}
struct rcx_span rcx_cube_segment(const struct rcx_blocks *blocks,
                                 struct rcx_span vector, int depth, int i);

/*
 * Every member ends with its segment of the group's operands, combined.
 * Returns the vector that it lies in: work, or the operand where the group has
 * one member. Scratch: one vector.
 */
struct rcx_span rcx_cube_halve(struct rcx_builder *b, const struct rcx_group *g,
                               const struct rcx_blocks *blocks,
                               struct rcx_span operand, struct rcx_span work);

/* Every member has its segment of vector; all end with all of it. */
void rcx_cube_double(struct rcx_builder *b, const struct rcx_group *g,
                     const struct rcx_blocks *blocks, struct rcx_span vector);

/* Every member has its segment of vector; member root ends with all of it. */
void rcx_cube_gather(struct rcx_builder *b, const struct rcx_group *g,
                     const struct rcx_blocks *blocks, int root,
                     struct rcx_span vector);

#endif
