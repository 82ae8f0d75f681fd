/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Bruck's exchange of blocks, equal or not, among all ranks: far ranks first,
 * in pieces.
 *
 * What a rank g behind gave for r, r + 1, .. in a row is piece g of rank r; at
 * first there is piece 0, all of the operand. For each weight, the largest
 * power of radix first, and each digit, blocks from far = digit * weight on,
 * weight of them at most, of every piece go to the rank that far ahead, where
 * piece g becomes piece g + far; the first weight blocks stay. All ranks have
 * pieces of the same form. In the end each piece has one block, which is the
 * rank's own.
 */
#ifndef RCX_ALGO_PHASE_PIECES_H
#define RCX_ALGO_PHASE_PIECES_H

#include "core/sched/algo.h"

/* What is wanted, or what comes to the same for so few ranks. */
int rcx_pieces_radix(const struct rcx_shape *s, int64_t wanted);

/* Messages of a rank, one after another. */
int rcx_pieces_rounds(int size, int radix);

/*
 * Blocks in them: all that come to a rank, those that go on among them. In this
 * order: by weight, from the largest down, by digit, and by how far they go in
 * all.
 */
size_t rcx_pieces_count(int size, int radix);

/*
 * Scratch begins with what comes, in that order. Blocks above limit elements do
 * not come that way, and this leaves them out; the own one is copied all the
 * same. Lengths of what comes are the shape's passing, or there is no limit.
 */
void rcx_pieces_exchange(struct rcx_builder *b, const struct rcx_shape *s,
                         int radix, size_t limit);

#endif
