/* SPDX-License-Identifier: BSD-3-Clause */
/* All-to-all exchanges of blocks, of equal or different lengths, among all
 * ranks. */
#ifndef RCX_ALGO_PHASE_EXCHANGE_H
#define RCX_ALGO_PHASE_EXCHANGE_H

#include "algo/phase/posted.h"

/*
 * Send every block directly to its receiver; an empty block takes no message.
 * Scratch: none; in place a copy of the operand. Parameters: rcx_posted_params.
 */
void rcx_exchange_linear(struct rcx_builder *b, const struct rcx_shape *s);

/*
 * Send every block to its neighbour, and receive those of the neighbours, all
 * at once: a limit could let ranks wait for each other, as each has an order of
 * its own. Scratch: none.
 */
void rcx_exchange_neighbors(struct rcx_builder *b, const struct rcx_shape *s);

/*
 * The same in steps: in each, a rank sends to one peer and receives from one.
 * Scratch: none. In place, a copy of a block for each posted message; for
 * shift, where the two peers differ, a copy of the operand.
 */
void rcx_exchange_pairwise(struct rcx_builder *b, const struct rcx_shape *s);

/* Parameters of the pairwise exchange: [posted, pairing]. */
extern const struct rcx_param rcx_exchange_pairwise_params[];
#define RCX_EXCHANGE_PAIRWISE_NEEDS "a power of two of ranks for pairing=xor"
bool rcx_exchange_pairwise_fits(const struct rcx_shape *s);
/* Return the number of steps, one message after another. */
int rcx_exchange_pairwise_rounds(const struct rcx_shape *s);

/* Copy n equal blocks of the operand to dst: first, first + 1, ..., cyclic. */
void rcx_exchange_pack(struct rcx_builder *b, const struct rcx_shape *s,
                       int first, int n, struct rcx_span dst);

#endif
