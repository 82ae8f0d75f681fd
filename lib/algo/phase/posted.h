/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The parameter of algorithms whose messages depend on no others: how many of
 * them are posted at once, each way. All of them would flood a receiver, its
 * memory and the network.
 */
#ifndef RCX_ALGO_PHASE_POSTED_H
#define RCX_ALGO_PHASE_POSTED_H

#include "core/sched/algo.h"

/* [posted]; 0: all. */
extern const struct rcx_param rcx_posted_params[];

/* Of p - 1 messages of a block, one after another. */
struct rcx_cost rcx_posted_cost(const struct rcx_shape *s);

/* A new pair of messages: see rcx_step_pair(). */
static inline void rcx_posted_pair(struct rcx_builder *b,
                                   const struct rcx_shape *s)
{
    rcx_step_pair(b, (int)s->params[0]);
}

#endif
