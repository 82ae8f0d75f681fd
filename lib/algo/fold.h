/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Folding p = 2^k + r ranks to 2^k: ranks 0..2r-1 pair up, even into odd, and
 * the odd ones hand the result back in the end. Rank order is kept. One round
 * of the whole vector at each end.
 */
#ifndef RCX_ALGO_FOLD_H
#define RCX_ALGO_FOLD_H

#include "core/algo.h"

/*
 * Combine pairs. Returns the power-of-two group that goes on; where this rank
 * is in it, *mine_p becomes its operand: still its own, or a pair's in result.
 */
struct rcx_group rcx_fold_in(struct rcx_builder *b, const struct rcx_shape *s,
                             struct rcx_span result, struct rcx_span scratch,
                             struct rcx_span *mine_p);
void rcx_fold_out(struct rcx_builder *b, const struct rcx_shape *s,
                  struct rcx_span result);

#endif
