/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Scans, inclusive and exclusive: what is up to a rank, or before it, combined.
 * Both give the same messages, so a phase does either.
 */
#ifndef RCX_ALGO_PHASE_PREFIX_H
#define RCX_ALGO_PHASE_PREFIX_H

#include "core/sched/algo.h"

/* Along the dimensions of a cube, for any number of ranks; by the fixed tree.
 * Scratch: three vectors. */
void rcx_prefix_doubling(struct rcx_builder *b, const struct rcx_shape *s,
                         bool exclusive);
struct rcx_cost rcx_prefix_doubling_cost(const struct rcx_shape *s,
                                         bool exclusive);

/*
 * Up and down a binary tree in the order of ranks: what is below a rank comes
 * from its left child; what is before all of its subtree, from its
 * parent. Scratch: up to three vectors; exclusive and in place, four.
 */
void rcx_prefix_tree(struct rcx_builder *b, const struct rcx_shape *s,
                     bool exclusive);
struct rcx_cost rcx_prefix_tree_cost(const struct rcx_shape *s, bool exclusive);

#endif
