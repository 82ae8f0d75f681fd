/* SPDX-License-Identifier: BSD-3-Clause */
/* All-to-all exchanges of blocks, equal or not, among all ranks. */
#ifndef RCX_ALGO_PHASE_EXCHANGE_H
#define RCX_ALGO_PHASE_EXCHANGE_H

#include "algo/phase/posted.h"

/*
 * Every block goes straight to its receiver; empty ones are no messages.
 * Scratch: none; in place the operand. Parameters: rcx_posted_params.
 */
void rcx_exchange_linear(struct rcx_builder *b, const struct rcx_shape *s);

/*
 * The same in steps, in each of which a rank has one peer to send to and one to
 * receive from. Scratch: none; in place a block for each message posted, and
 * the operand where the two peers differ (shift).
 */
void rcx_exchange_pairwise(struct rcx_builder *b, const struct rcx_shape *s);

/* [posted, pairing] */
extern const struct rcx_param rcx_exchange_pairwise_params[];
#define RCX_EXCHANGE_PAIRWISE_NEEDS "a power of two of ranks for pairing=xor"
bool rcx_exchange_pairwise_fits(const struct rcx_shape *s);
/* Messages one after another. */
int rcx_exchange_pairwise_rounds(const struct rcx_shape *s);

/* Copy n equal blocks of the operand to dst: first, first + 1, .., cyclic. */
void rcx_exchange_pack(struct rcx_builder *b, const struct rcx_shape *s,
                       int first, int n, struct rcx_span dst);

#endif
