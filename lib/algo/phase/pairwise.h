/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Reduce-scatter and allreduce by pairwise exchange over the members of a
 * group. Each member combines its own block, or the vector, by the fixed tree.
 * p - 1 rounds of that.
 *
 * In step t a member sends its operand of block i to member i, which is t
 * above. It receives its own block from the member t below. Operands thus
 * arrive in descending order of members, cyclic, so few wait for their sibling
 * in the tree.
 */
#ifndef RCX_ALGO_PHASE_PAIRWISE_H
#define RCX_ALGO_PHASE_PAIRWISE_H

#include "core/sched/algo.h"

/*
 * Combine block i of all operands into result on member i. Scratch: O(log p)
 * own blocks. Order CANONICAL.
 */
void rcx_pairwise_reduce_scatter(struct rcx_builder *b,
                                 const struct rcx_group *g,
                                 const struct rcx_blocks *blocks,
                                 struct rcx_span operand,
                                 struct rcx_span result);
struct rcx_cost
rcx_pairwise_reduce_scatter_cost(const struct rcx_blocks *blocks);

/*
 * Combine the operands of all members into result on each. All vectors are
 * received at once. Scratch: p - 1 vectors. Order CANONICAL.
 */
void rcx_pairwise_allreduce(struct rcx_builder *b, const struct rcx_group *g,
                            struct rcx_span operand, struct rcx_span result);
struct rcx_cost rcx_pairwise_allreduce_cost(int size, double count);

#endif
