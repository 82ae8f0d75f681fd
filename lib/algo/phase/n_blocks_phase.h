/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Broadcast from a member of a group, and reduction to it, of a vector that is
 * cut into blocks, by the schedules of n_blocks.h: (blocks - 1 + ceil(lg p))
 * rounds of one block. Few blocks are few messages, many keep all ranks busy.
 */
#ifndef RCX_ALGO_PHASE_N_BLOCKS_PHASE_H
#define RCX_ALGO_PHASE_N_BLOCKS_PHASE_H

#include "algo/phase/n_blocks.h"

/* Of an algorithm with such phases: [blocks]. */
extern const struct rcx_param rcx_n_blocks_params[];
/* Those that the parameter asks for, but none is empty. */
int rcx_n_blocks_of(const struct rcx_shape *s);

/* vector of the root goes to all. */
void rcx_n_blocks_bcast(struct rcx_builder *b, const struct rcx_group *g,
                        int root, int blocks, struct rcx_span vector);
/*
 * Combine the operands of all members into result on the root. Elsewhere
 * partial results lie there; where it is empty, in scratch. Scratch: two
 * blocks, and for those partial results up to 2 ceil(lg p). Order SAME.
 */
void rcx_n_blocks_reduce(struct rcx_builder *b, const struct rcx_group *g,
                         int root, int blocks, struct rcx_span operand,
                         struct rcx_span result);

/* What they cost; exact if blocks are equal, else an upper bound. */
struct rcx_cost rcx_n_blocks_bcast_cost(const struct rcx_shape *s);
struct rcx_cost rcx_n_blocks_reduce_cost(const struct rcx_shape *s);

#endif
