/* SPDX-License-Identifier: BSD-3-Clause */
/* All-to-all exchanges of blocks, equal or not, among all ranks. */
#ifndef RCX_ALGO_EXCHANGE_H
#define RCX_ALGO_EXCHANGE_H

#include "algo/phase/posted.h"

/*
 * Every block straight to whom it is for; empty ones are no messages. Scratch:
 * none; in place the operand. Parameters: rcx_posted_params.
 */
void rcx_exchange_linear(struct rcx_builder *b, const struct rcx_shape *s);

#endif
