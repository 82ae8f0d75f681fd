/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The parameter "posted" of algorithms whose messages do not depend on each
 * other: how many are posted at once in each direction. To post all at once
 * would overload a receiver, its memory and the network.
 */
#ifndef RCX_ALGO_PHASE_POSTED_H
#define RCX_ALGO_PHASE_POSTED_H

#include "core/sched/algo.h"

/* Parameters: [posted]; 0: post all messages at once. */
extern const struct rcx_param rcx_posted_params[];

/* Return the cost of p - 1 messages of the largest block, one after another. */
struct rcx_cost rcx_posted_cost(const struct rcx_shape *s);

/* Return how many of p - 1 messages wait for each other. */
double rcx_posted_rounds(const struct rcx_shape *s);

/* Begin a new pair of messages: see rcx_step_pair(). */
static inline void rcx_posted_pair(struct rcx_builder *b,
                                   const struct rcx_shape *s)
{
    rcx_step_pair(b, (int)s->params[0]);
}

#endif
