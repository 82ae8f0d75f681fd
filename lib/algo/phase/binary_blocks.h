/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The phases of binary blocks algorithms (Thakur, Rabenseifner, Gropp 2005,
 * 5.2). The ranks are divided into cubes of 2^e ranks, one for each binary
 * digit 1 of p, the largest first. The fixed tree divides them at the same
 * ranks.
 *
 * Up: each cube does its own recursive halving. Then, from the smallest cube
 * on, partial results are combined with those of the next larger cube. Let d be
 * the difference of the two exponents e. A rank of the smaller cube has a part
 * 2^d times as long, so it sends 2^d messages, and its peers receive one each.
 *
 * Down: the same messages in the other direction, then doubling in each cube.
 * The paper doubles first, until a part of the smaller cube arrives in two
 * messages. To send it at once, piece by piece, is never slower in the model:
 * the first pieces are back while the last ones are still on their way up.
 *
 * The vector is divided into blocks, at least as many as the largest cube has
 * ranks; messages are of whole blocks.
 */
#ifndef RCX_ALGO_PHASE_BINARY_BLOCKS_H
#define RCX_ALGO_PHASE_BINARY_BLOCKS_H

#include "algo/phase/halving.h"

/* Return the cube of a rank; that of rank 0 is the largest. */
struct rcx_halving rcx_binary_blocks_cube(const struct rcx_shape *s,
                                          const struct rcx_blocks *blocks,
                                          int rank);

/*
 * Combine all operands: every member of the largest cube gets its part in
 * result. Other ranks keep partial results in result, which is as long as their
 * part. Scratch: one vector.
 */
void rcx_binary_blocks_up(struct rcx_builder *b, const struct rcx_shape *s,
                          const struct rcx_blocks *blocks,
                          struct rcx_span result);

/* Send the result to all ranks: the members of the largest cube have their
 * parts of vector, and all end with the whole vector. */
void rcx_binary_blocks_down(struct rcx_builder *b, const struct rcx_shape *s,
                            const struct rcx_blocks *blocks,
                            struct rcx_span vector);

/* Return the costs, volume and combines in blocks of equal length. Up: of the
 * given number of blocks; down: of one for each rank of the largest cube. */
struct rcx_cost rcx_binary_blocks_up_cost(int size, int blocks);
struct rcx_cost rcx_binary_blocks_down_cost(int size);

#endif
