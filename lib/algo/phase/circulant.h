/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The two phases of circulant algorithms (Kolmakov, Zhang 2020, 7 to 9), over
 * the p members of a group: reduce-scatter and allgather. For one block each:
 * Traeff 2024, "Optimal, Non-pipelined Reduce-scatter and Allreduce
 * Algorithms".
 *
 * Member i sees the vector as slots: slot k is block i + k, cyclic. Slot h + k
 * of member i and slot k of member i + h are the same block. So a message from
 * each member to the one h above it moves a range of slots down by h. Let h =
 * floor(N / 2): then a round combines N vectors, slots 0 to N - 1, to ceil(N /
 * 2). Thus p vectors become one in ceil(lg p) rounds, which send (p - 1) / p of
 * the vector in all. The allgather is the same in reverse.
 *
 * With r of its rounds removed, the allgather starts with as many blocks per
 * member as it would have after these rounds: the width. The reduce-scatter
 * then computes the blocks of slots 0 to width - 1, as if it ran width times,
 * moved by 0 to width - 1 slots. It shares partial sums where it can.
 */
#ifndef RCX_ALGO_PHASE_CIRCULANT_H
#define RCX_ALGO_PHASE_CIRCULANT_H

#include "core/sched/algo.h"

/* Return how many of p vectors are left after some rounds. */
static inline int rcx_circulant_left(int p, int rounds)
{
    return ((p - 1) >> rounds) + 1;
}
/* Return the blocks per member between the phases, for 0 to ceil(lg p) rounds
 * removed. */
static inline int rcx_circulant_width(int p, int removed)
{
    return rcx_circulant_left(p, rcx_log2_ceil(p) - removed);
}

/*
 * Combine blocks i to i + width - 1 of all operands into result on member i;
 * all blocks, in their natural order, if width is p. No block may clash in
 * result with the same block in operand. Scratch: at most 7/4 of the vector and
 * four times width - 1 blocks; three vectors if width is p. Order SAME if width
 * is 1 or p a power of two, else LOOSE.
 */
void rcx_circulant_reduce_scatter(struct rcx_builder *b,
                                  const struct rcx_group *g,
                                  const struct rcx_blocks *blocks,
                                  struct rcx_span operand, int removed,
                                  struct rcx_span result);

/*
 * Allgather: member i has blocks i to i + width - 1 at the start of slots,
 * which is as long as the vector. All end with the whole vector in vector.
 */
void rcx_circulant_allgather(struct rcx_builder *b, const struct rcx_group *g,
                             const struct rcx_blocks *blocks, int removed,
                             struct rcx_span slots, struct rcx_span vector);

/* Return the costs: exact if blocks are equal, else an upper bound. */
struct rcx_cost
rcx_circulant_reduce_scatter_cost(const struct rcx_blocks *blocks, int removed);
struct rcx_cost rcx_circulant_allgather_cost(const struct rcx_blocks *blocks,
                                             int removed);

#endif
