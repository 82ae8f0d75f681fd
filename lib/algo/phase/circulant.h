/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The two phases of circulant algorithms (Kolmakov, Zhang 2020, 7 to 9), over
 * the p members of a group. For one block each: Traeff 2024, "Optimal,
 * Non-pipelined Reduce-scatter and Allreduce Algorithms".
 *
 * Member i sees the vector as slots: slot k is block i + k, cyclic. Slot h + k
 * of member i and slot k of member i + h are one block, so a message from each
 * member to the one h above it moves a range of slots h down. N vectors, slots
 * 0 to N - 1, thus become ceil(N / 2) in a round, with h = floor(N / 2): p
 * become one in ceil(lg p) rounds, of (p - 1) / p of the vector in all. The
 * other phase is the same backwards.
 *
 * With r of its rounds removed that phase starts from as many blocks per
 * member, its width, as it would have by then; the first phase, moved by 0 to
 * width - 1 slots, ends with all of them and shares what it can.
 */
#ifndef RCX_ALGO_PHASE_CIRCULANT_H
#define RCX_ALGO_PHASE_CIRCULANT_H

#include "core/sched/algo.h"

/* Of p vectors so many are left after some rounds. */
static inline int rcx_circulant_left(int p, int rounds)
{
    return ((p - 1) >> rounds) + 1;
}
/* Blocks per member between the phases, removed being 0 to ceil(lg p). */
static inline int rcx_circulant_width(int p, int removed)
{
    return rcx_circulant_left(p, rcx_log2_ceil(p) - removed);
}

/*
 * Member i ends with blocks i to i + width - 1, combined, in result; with all,
 * in their natural order, if width is p. In result none of its blocks clashes
 * with itself in operand. Scratch: at most 7/4 of the vector and four times
 * width - 1 blocks; three vectors if width is p. Order SAME if width is 1 or p
 * a power of two, else LOOSE.
 */
void rcx_circulant_reduce_scatter(struct rcx_builder *b,
                                  const struct rcx_group *g,
                                  const struct rcx_blocks *blocks,
                                  struct rcx_span operand, int removed,
                                  struct rcx_span result);

/*
 * Member i has blocks i to i + width - 1 at the start of slots, which is as
 * long as the vector; all end with all of it in vector.
 */
void rcx_circulant_allgather(struct rcx_builder *b, const struct rcx_group *g,
                             const struct rcx_blocks *blocks, int removed,
                             struct rcx_span slots, struct rcx_span vector);

/* What they cost; exact if blocks are equal, else an upper bound. */
struct rcx_cost
rcx_circulant_reduce_scatter_cost(const struct rcx_blocks *blocks, int removed);
struct rcx_cost rcx_circulant_allgather_cost(const struct rcx_blocks *blocks,
                                             int removed);

#endif
