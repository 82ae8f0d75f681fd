/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The two phases of ring algorithms over the members of a group: reduce-scatter
 * and allgather, among neighbours only. Each takes p - 1 rounds of one block;
 * the allgather may send blocks in chunks.
 */
#ifndef RCX_ALGO_PHASE_RING_H
#define RCX_ALGO_PHASE_RING_H

#include "core/sched/algo.h"

/*
 * Combine block i of all operands into result on member i. Scratch: two blocks.
 * Order SAME: block i is combined in the order of members i + 1, i + 2, ..., i,
 * cyclic.
 */
void rcx_ring_reduce_scatter(struct rcx_builder *b, const struct rcx_group *g,
                             const struct rcx_blocks *blocks,
                             struct rcx_span operand, struct rcx_span result);

struct rcx_cost rcx_ring_reduce_scatter_cost(const struct rcx_blocks *blocks);

/*
 * Allgather: member i has block i of vector, and all end with the whole vector.
 * Blocks are sent in chunks of up to so many elements; 0: whole.
 */
void rcx_ring_allgather(struct rcx_builder *b, const struct rcx_group *g,
                        const struct rcx_blocks *blocks, size_t chunk,
                        struct rcx_span vector);
/* The same with whole blocks. Member full has the whole vector at first, and
 * receives nothing. */
void rcx_ring_allgather_others(struct rcx_builder *b, const struct rcx_group *g,
                               const struct rcx_blocks *blocks,
                               struct rcx_span vector, int full);
struct rcx_cost rcx_ring_allgather_cost(const struct rcx_blocks *blocks,
                                        size_t chunk);

#endif
