/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Allgather by the broadcasts of all members of a group at once, by the
 * schedules of n_blocks.h, and in reverse reduce-scatter, for any counts
 * (Traeff 2022; schedules: 2024, arXiv 2407.18004).
 *
 * Each member's block is cut into parts, which follow the schedule of a
 * broadcast. All broadcasts take the same rounds: parts - 1 + ceil(lg p). A
 * message has one part of every member's block but its receiver's, so that its
 * length hardly depends on how counts are spread. Both ends know which part
 * from the distance to its owner.
 *
 * With one part each, a message is a run of blocks, and no lists are needed.
 * That is the schedule of "Optimal, Non-pipelined Reduce-scatter and Allreduce
 * Algorithms" (Traeff 2024, arXiv 2410.14234; Kolmakov, Zhang 2020, 7), see
 * circulant.h.
 */
#ifndef RCX_ALGO_PHASE_N_BLOCKS_ALL_H
#define RCX_ALGO_PHASE_N_BLOCKS_ALL_H

#include "algo/phase/n_blocks_phase.h"

/* Return the number of parts that the parameter of rcx_n_blocks_params asks
 * for, or less, so that no part of the longest block is empty. */
int rcx_n_blocks_parts_of(const struct rcx_shape *s);

/*
 * Allgather: member i has block i of vector, and all end with the whole vector.
 * Scratch: all messages that are not contiguous: less than two vectors if
 * counts are equal.
 */
void rcx_n_blocks_allgather(struct rcx_builder *b, const struct rcx_group *g,
                            const struct rcx_blocks *blocks, int parts,
                            struct rcx_span vector);
/*
 * Combine block i of all operands into result on member i. result may overlap
 * the operand only if it is this very block. With one part it may overlap other
 * blocks as well, but not a piece of this block. Scratch: as above, and all
 * that is received; with one part at most 7/4 of the vector. Order SAME.
 */
void rcx_n_blocks_reduce_scatter(struct rcx_builder *b,
                                 const struct rcx_group *g,
                                 const struct rcx_blocks *blocks, int parts,
                                 struct rcx_span operand,
                                 struct rcx_span result);

/* Return the costs: exact if blocks are equal, else an upper bound. */
struct rcx_cost rcx_n_blocks_allgather_cost(const struct rcx_blocks *blocks,
                                            int parts);
struct rcx_cost
rcx_n_blocks_reduce_scatter_cost(const struct rcx_blocks *blocks, int parts);

#endif
