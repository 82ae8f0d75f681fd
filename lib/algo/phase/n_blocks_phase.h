/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Broadcast from a member of a group, and reduction to it, of a vector that is
 * cut into blocks, by the schedules of n_blocks.h: (blocks - 1 + ceil(lg p))
 * rounds of one block. Few blocks mean few messages; many blocks keep all ranks
 * busy.
 */
#ifndef RCX_ALGO_PHASE_N_BLOCKS_PHASE_H
#define RCX_ALGO_PHASE_N_BLOCKS_PHASE_H

#include "algo/phase/n_blocks.h"

/* Parameters of an algorithm with these phases: [blocks]. */
extern const struct rcx_param rcx_n_blocks_params[];
/* Return how many blocks the parameter asks for, or less, so that none is
 * empty. */
int rcx_n_blocks_of(const struct rcx_shape *s);

/* Broadcast the root's vector to all members. */
void rcx_n_blocks_bcast(struct rcx_builder *b, const struct rcx_group *g,
                        int root, int blocks, struct rcx_span vector);
/*
 * Combine the operands of all members into result on the root. Other members
 * keep partial results in result, or in scratch if it is empty. Scratch: two
 * blocks, and up to 2 ceil(lg p) blocks for such partial results. Order SAME.
 */
void rcx_n_blocks_reduce(struct rcx_builder *b, const struct rcx_group *g,
                         int root, int blocks, struct rcx_span operand,
                         struct rcx_span result);

/* Return the costs: exact if blocks are equal, else an upper bound. */
struct rcx_cost rcx_n_blocks_bcast_cost(const struct rcx_shape *s);
struct rcx_cost rcx_n_blocks_reduce_cost(const struct rcx_shape *s);

#endif
