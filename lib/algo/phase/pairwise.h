/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Reduce-scatter by pairwise exchange over the members of a group, own block
 * combined by the fixed tree. p - 1 rounds of one block.
 *
 * In step t each member sends the operand of the one t above it there and gets
 * its own from the one t below. Operands thus arrive in descending order from
 * the own one on, cyclic, so few wait for their sibling in the tree.
 */
#ifndef RCX_ALGO_PHASE_PAIRWISE_H
#define RCX_ALGO_PHASE_PAIRWISE_H

#include "core/sched/algo.h"

/*
 * Member i ends with block i of the group's operands, combined, in result.
 * Scratch: O(log p) own blocks. Order CANONICAL.
 */
void rcx_pairwise_reduce_scatter(struct rcx_builder *b,
                                 const struct rcx_group *g,
                                 const struct rcx_blocks *blocks,
                                 struct rcx_span operand,
                                 struct rcx_span result);
struct rcx_cost
rcx_pairwise_reduce_scatter_cost(const struct rcx_blocks *blocks);

#endif
