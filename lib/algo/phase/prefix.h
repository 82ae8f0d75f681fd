/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Scans, inclusive and exclusive: the sum of the operands up to a rank, or
 * before it. Both send the same messages, so one function does either.
 */
#ifndef RCX_ALGO_PHASE_PREFIX_H
#define RCX_ALGO_PHASE_PREFIX_H

#include "core/sched/algo.h"

/* Scan along the dimensions of a cube, for any number of ranks, by the fixed
 * tree. Scratch: three vectors. */
void rcx_prefix_doubling(struct rcx_builder *b, const struct rcx_shape *s,
                         bool exclusive);
struct rcx_cost rcx_prefix_doubling_cost(const struct rcx_shape *s,
                                         bool exclusive);

/*
 * Scan up and down a binary tree in the order of ranks. A rank receives the sum
 * of the lower ranks of its subtree from its left child. From its parent it
 * receives the sum of all ranks before its subtree. Scratch: up to three
 * vectors; exclusive and in place, four.
 */
void rcx_prefix_tree(struct rcx_builder *b, const struct rcx_shape *s,
                     bool exclusive);
struct rcx_cost rcx_prefix_tree_cost(const struct rcx_shape *s, bool exclusive);

#endif
