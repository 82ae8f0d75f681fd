/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Allgather by Bruck's concatenation over the members of a group (Bruck et al.
 * 1997; Thakur, Rabenseifner, Gropp 2005, 4.1.2). With radix 2, ceil(lg p)
 * rounds for every p, and p - 1 blocks in all.
 *
 * At weight w = 1, radix, radix^2, ..., member i has blocks i, i + 1, ..., i +
 * w - 1, cyclic. It sends them to the members w, 2 w, ..., (radix - 1) w below.
 * From the members as far above it receives the next blocks, or as many as are
 * missing. Blocks stay in their places in the vector; a message that wraps
 * around its end is packed into scratch.
 */
#ifndef RCX_ALGO_PHASE_BRUCK_H
#define RCX_ALGO_PHASE_BRUCK_H

#include "core/sched/algo.h"

/*
 * Allgather: member i has block i of vector, and all end with the whole vector.
 * Scratch: less than two vectors.
 */
void rcx_bruck_allgather(struct rcx_builder *b, const struct rcx_group *g,
                         const struct rcx_blocks *blocks, int radix,
                         struct rcx_span vector);
/* The same by radix 2. Member full has the whole vector at first, and receives
 * nothing. */
void rcx_bruck_allgather_others(struct rcx_builder *b,
                                const struct rcx_group *g,
                                const struct rcx_blocks *blocks,
                                struct rcx_span vector, int full);
struct rcx_cost rcx_bruck_allgather_cost(const struct rcx_blocks *blocks,
                                         int radix);

/*
 * Allreduce: all members get all vectors by Bruck's allgather, and combine them
 * by the fixed tree. Scratch: p vectors. Order CANONICAL.
 */
void rcx_bruck_allreduce(struct rcx_builder *b, const struct rcx_group *g,
                         struct rcx_span operand, struct rcx_span result);
struct rcx_cost rcx_bruck_allreduce_cost(int size, double count);

#endif
