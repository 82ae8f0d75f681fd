/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The two phases of ring algorithms, neighbours only, over the members of a
 * group. Each takes p - 1 rounds of one block; the second may go in chunks.
 */
#ifndef RCX_ALGO_PHASE_RING_H
#define RCX_ALGO_PHASE_RING_H

#include "core/sched/algo.h"

/*
 * Member i ends with block i of the group's operands, combined, in result.
 * Scratch: two blocks. Order SAME: block i is combined in the order i + 1,
 * i + 2, ..., i, cyclic.
 */
void rcx_ring_reduce_scatter(struct rcx_builder *b, const struct rcx_group *g,
                             const struct rcx_blocks *blocks,
                             struct rcx_span operand, struct rcx_span result);

struct rcx_cost rcx_ring_reduce_scatter_cost(const struct rcx_blocks *blocks);

/*
 * Member i has block i of vector; all end with all of it. Blocks go in chunks
 * of up to as many elements, one behind the other; 0: whole.
 */
void rcx_ring_allgather(struct rcx_builder *b, const struct rcx_group *g,
                        const struct rcx_blocks *blocks, size_t chunk,
                        struct rcx_span vector);
/* Whole; member full has all of it at first, and gets nothing. */
void rcx_ring_allgather_others(struct rcx_builder *b, const struct rcx_group *g,
                               const struct rcx_blocks *blocks,
                               struct rcx_span vector, int full);
struct rcx_cost rcx_ring_allgather_cost(const struct rcx_blocks *blocks,
                                        size_t chunk);

#endif
