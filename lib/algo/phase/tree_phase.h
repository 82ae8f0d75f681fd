/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Reduction to the root of a topology over a group's members, and broadcast
 * from it. If the topology has two trees, each carries a half of the vector.
 */
#ifndef RCX_ALGO_PHASE_TREE_PHASE_H
#define RCX_ALGO_PHASE_TREE_PHASE_H

#include "algo/phase/topology.h"

/*
 * Combine the operands of all members, in their order, into result on the root.
 * Other members keep partial results in result, or in scratch if it is empty.
 * Scratch: up to two vectors, and one for partial results.
 */
void rcx_tree_phase_reduce(struct rcx_builder *b, const struct rcx_group *g,
                           const struct rcx_topology *t,
                           struct rcx_span operand, struct rcx_span result);
struct rcx_cost rcx_tree_phase_reduce_cost(const struct rcx_topology *t,
                                           size_t count);

/* Broadcast the root's vector to all members. */
void rcx_tree_phase_bcast(struct rcx_builder *b, const struct rcx_group *g,
                          const struct rcx_topology *t, struct rcx_span vector);
struct rcx_cost rcx_tree_phase_bcast_cost(const struct rcx_topology *t,
                                          size_t count);

#endif
