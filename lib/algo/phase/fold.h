/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Folding p = 2^k + r ranks to 2^k: ranks 0..2r-1 pair up, even into odd, and
 * the odd ones hand the result back in the end. Rank order is kept. One round
 * of the whole vector at each end.
 *
 * Or in halves (Thakur, Rabenseifner, Gropp 2005, 5.1), into the even ranks:
 * each of a pair combines one half of the vector, then the even one gets the
 * other half. A round more, but the volume is the same and the combining half.
 */
#ifndef RCX_ALGO_PHASE_FOLD_H
#define RCX_ALGO_PHASE_FOLD_H

#include "core/sched/algo.h"

/* Which of the 2^k members rank is, or folds into. */
int rcx_fold_member(const struct rcx_shape *s, int rank);
/* The first rank that is member i or folds into it; p for the one past the
 * last. */
int rcx_fold_first(const struct rcx_shape *s, int i);

/*
 * Combine pairs. Returns the power-of-two group that goes on; where this rank
 * is in it, *mine_p becomes its operand: still its own, or a pair's in result.
 */
struct rcx_group rcx_fold_in(struct rcx_builder *b, const struct rcx_shape *s,
                             struct rcx_span result, struct rcx_span scratch,
                             struct rcx_span *mine_p);
void rcx_fold_out(struct rcx_builder *b, const struct rcx_shape *s,
                  struct rcx_span result);

/*
 * In halves. In a pair of root's, root stays; -1 is in no pair. result is
 * written where this rank stays.
 */
struct rcx_group rcx_fold_halves_in(struct rcx_builder *b,
                                    const struct rcx_shape *s, int root,
                                    struct rcx_span result,
                                    struct rcx_span *mine_p);
/* Even ranks have result, odd ones that left get it. */
void rcx_fold_halves_out(struct rcx_builder *b, const struct rcx_shape *s,
                         struct rcx_span result);

/* What that costs: nothing if p = 2^k. Both ways back cost the same. */
struct rcx_cost rcx_fold_in_cost(const struct rcx_shape *s);
struct rcx_cost rcx_fold_halves_in_cost(const struct rcx_shape *s);
struct rcx_cost rcx_fold_out_cost(const struct rcx_shape *s);

/* The order of what combines neighbouring pairs of the folded group's members
 * as if they were 2^k ranks: the fixed tree if p = 1..10..0 in binary. */
rcx_order_t rcx_fold_order(const struct rcx_shape *s);

#endif
