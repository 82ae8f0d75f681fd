/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Allgather by the broadcasts of all members of a group at once, by the
 * schedules of n_blocks.h, and backwards reduce-scatter, for any counts (Traeff
 * 2022; schedules: 2024, arXiv 2407.18004).
 *
 * Each member's block is cut into parts, and each part goes by the schedule of
 * a broadcast, in the same rounds: parts - 1 + ceil(lg p). A message has one
 * part of every member's block but its receiver's, so that its length hardly
 * depends on how counts are spread. Both ends know which part from the distance
 * to its owner.
 *
 * With one part each what a message has is a run of blocks, and no lists are
 * needed: that is the schedule of "Optimal, Non-pipelined Reduce-scatter and
 * Allreduce Algorithms" (Traeff 2024, arXiv 2410.14234; Kolmakov, Zhang 2020,
 * 7), see circulant.h.
 */
#ifndef RCX_ALGO_PHASE_N_BLOCKS_ALL_H
#define RCX_ALGO_PHASE_N_BLOCKS_ALL_H

#include "algo/phase/n_blocks_phase.h"

/* As many parts as the parameter of rcx_n_blocks_params asks for, but none of
 * the longest block's is empty. */
int rcx_n_blocks_parts_of(const struct rcx_shape *s);

/*
 * Member i has block i of vector; all end with all of it. Scratch: all that
 * comes and goes, where it does not lie in one piece: less than two vectors if
 * counts are equal.
 */
void rcx_n_blocks_allgather(struct rcx_builder *b, const struct rcx_group *g,
                            const struct rcx_blocks *blocks, int parts,
                            struct rcx_span vector);
/*
 * Member i ends with block i, combined, in result, which lies over nothing of
 * the operand but this very block; with one part, over any but a piece of it.
 * Scratch: as above; with one part at most 7/4 of the vector. Order SAME.
 */
void rcx_n_blocks_reduce_scatter(struct rcx_builder *b,
                                 const struct rcx_group *g,
                                 const struct rcx_blocks *blocks, int parts,
                                 struct rcx_span operand,
                                 struct rcx_span result);

/* What they cost; exact if blocks are equal, else an upper bound. */
struct rcx_cost rcx_n_blocks_allgather_cost(const struct rcx_blocks *blocks,
                                            int parts);
struct rcx_cost
rcx_n_blocks_reduce_scatter_cost(const struct rcx_blocks *blocks, int parts);

#endif
