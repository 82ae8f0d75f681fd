/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Bruck's exchange of blocks, equal or not, among all ranks, in pieces: distant
 * ranks exchange first.
 *
 * Piece g of rank r has blocks that rank r - g sends to ranks r, r + 1, .... At
 * first there is piece 0, the whole operand. The weights are the powers of
 * radix, the largest first. For each weight and digit let far = digit * weight.
 * Of every piece, blocks far to far + weight - 1, or as many as there are, go
 * to the rank far ahead, where piece g becomes piece g + far. The first weight
 * blocks stay. All ranks have pieces of the same form. In the end each piece
 * has one block, which is for the rank itself.
 */
#ifndef RCX_ALGO_PHASE_PIECES_H
#define RCX_ALGO_PHASE_PIECES_H

#include "core/sched/algo.h"

/* Return the radix that is wanted, or p if that is less, which has the same
 * effect. */
int rcx_pieces_radix(const struct rcx_shape *s, int64_t wanted);

/* Return how many messages a rank sends, one after another. */
int rcx_pieces_rounds(int size, int radix);

/*
 * Return how many blocks a rank receives in these messages, including blocks in
 * transit. They are in the order of weights, from the largest down, then of
 * digits, then of the distance that they go in all.
 */
size_t rcx_pieces_count(int size, int radix);

/*
 * Exchange blocks. Scratch begins with the received blocks, in that order.
 * Blocks above limit elements are left out, but the own block is always copied.
 * The shape's passing has the lengths of received blocks; without passing there
 * is no limit.
 */
void rcx_pieces_exchange(struct rcx_builder *b, const struct rcx_shape *s,
                         int radix, size_t limit);

#endif
