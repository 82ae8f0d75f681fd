/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The phases of binary blocks algorithms (Thakur, Rabenseifner, Gropp 2005,
 * 5.2). The ranks are cut into cubes of 2^e ranks, one for each binary digit
 * of p, the largest first: where the fixed tree cuts them, too.
 *
 * Up: each cube does its own recursive halving. Then, from the smallest cube
 * on, the partial results join those of the next larger cube. A rank of the
 * smaller cube has a part 2^d times as long, d the difference of the two
 * digits, so it sends 2^d messages and its peers get one each.
 *
 * Down: the same messages in the other direction, and doubling in each cube.
 * The paper doubles first, until a part of the smaller cube comes in two
 * messages. To send it at once, piece by piece, is never slower in the model:
 * the first pieces are back while the last ones are still on their way up.
 *
 * The vector is cut into blocks, at least as many as the largest cube has
 * ranks; messages are of whole blocks.
 */
#ifndef RCX_ALGO_PHASE_BINARY_BLOCKS_H
#define RCX_ALGO_PHASE_BINARY_BLOCKS_H

#include "algo/phase/halving.h"

/* The cube that a rank is in; that of rank 0 is the largest. */
struct rcx_halving rcx_binary_blocks_cube(const struct rcx_shape *s,
                                          const struct rcx_blocks *blocks,
                                          int rank);

/*
 * Every member of the largest cube ends with its part of all operands,
 * combined, in result. Others use result, of the length of their part, for what
 * is on its way. Scratch: one vector.
 */
void rcx_binary_blocks_up(struct rcx_builder *b, const struct rcx_shape *s,
                          const struct rcx_blocks *blocks,
                          struct rcx_span result);

/* The members of the largest cube have their parts of vector; all ranks end
 * with all of it. */
void rcx_binary_blocks_down(struct rcx_builder *b, const struct rcx_shape *s,
                            const struct rcx_blocks *blocks,
                            struct rcx_span vector);

/* What the ways cost; volume and combines in blocks, which are of equal
 * length, of the given number; down, one for each rank of the largest cube. */
struct rcx_cost rcx_binary_blocks_up_cost(int size, int blocks);
struct rcx_cost rcx_binary_blocks_down_cost(int size);

#endif
