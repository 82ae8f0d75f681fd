/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Folding p = 2^k + r ranks to 2^k: ranks 0..2r-1 form pairs, in which the even
 * rank folds into the odd one. The odd rank sends the result back in the end.
 * Rank order is kept. There is one round of the whole vector at each end.
 *
 * Or in halves (Thakur, Rabenseifner, Gropp 2005, 5.1), into the even ranks:
 * each rank of a pair combines one half of the vector, then the even one gets
 * the other half. This takes a round more, with the same volume and half the
 * combines.
 */
#ifndef RCX_ALGO_PHASE_FOLD_H
#define RCX_ALGO_PHASE_FOLD_H

#include "core/sched/algo.h"

/* Return the member that rank is, or folds into. */
int rcx_fold_member(const struct rcx_shape *s, int rank);
/* Return the first rank that is member i or folds into it; p for the member
 * after the last. */
int rcx_fold_first(const struct rcx_shape *s, int i);

/*
 * Combine pairs; scratch is for the received operand. Returns the group of 2^k
 * ranks that continues. On its members, *mine_p becomes the operand: still the
 * rank's own, or the pair's sum in result.
 */
struct rcx_group rcx_fold_in(struct rcx_builder *b, const struct rcx_shape *s,
                             struct rcx_span result, struct rcx_span scratch,
                             struct rcx_span *mine_p);
void rcx_fold_out(struct rcx_builder *b, const struct rcx_shape *s,
                  struct rcx_span result);

/*
 * Fold in halves. If root is in a pair, it stays; -1: the even ranks of pairs
 * stay. A rank of a pair that stays gets the sum in result.
 */
struct rcx_group rcx_fold_halves_in(struct rcx_builder *b,
                                    const struct rcx_shape *s, int root,
                                    struct rcx_span result,
                                    struct rcx_span *mine_p);
/* Send result from the even ranks of pairs to the odd ones. */
void rcx_fold_halves_out(struct rcx_builder *b, const struct rcx_shape *s,
                         struct rcx_span result);

/* Return the costs, which are 0 if p = 2^k. The cost of folding out is that of
 * either way back. */
struct rcx_cost rcx_fold_in_cost(const struct rcx_shape *s);
struct rcx_cost rcx_fold_halves_in_cost(const struct rcx_shape *s);
/* The cost of what the ranks that remain after folding do, without the others
 * of their pairs. */
struct rcx_cost rcx_fold_core_cost(const struct rcx_shape *s,
                                   struct rcx_cost core);
struct rcx_cost rcx_fold_out_cost(const struct rcx_shape *s);

/* Return the order level of an algorithm that combines neighbouring members of
 * the folded group as if they were 2^k ranks: CANONICAL if p is 1..10..0 in
 * binary, else UNIFORM. */
rcx_order_t rcx_fold_order(const struct rcx_shape *s);

#endif
