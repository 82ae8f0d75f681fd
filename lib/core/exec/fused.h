/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Fused reductions in the executor: REDUCE steps that run as one with the last
 * of them. Receives that only such a reduction reads may leave their data with
 * the transport until then.
 */
#ifndef RCX_CORE_EXEC_FUSED_H
#define RCX_CORE_EXEC_FUSED_H

#include "core/exec/exec.h"

/* Kinds of messages in addition to those of steps: a fused reduction, at its
 * last step; and its other steps, which do nothing. */
enum { RCX_EXEC_FUSED = RCX_STEP_KINDS, RCX_EXEC_DEFERRED };

/* Whether each reduction of x has all operands, more than two. */
static inline bool rcx_exec_combines_at_once(const struct rcx_exec *x)
{
    return x->reducer->rows && x->plan->part_count > 0;
}

/* Set what depends on whether the step of m, which belongs to a fused
 * reduction, runs as a part of it. */
void rcx_fused_set(const struct rcx_exec *x, struct rcx_message *m);

/* Make the reduction that ends with m, unless x has failed, and release its
 * operands. */
rcx_status_t rcx_fused_run(struct rcx_exec *x, const struct rcx_message *m);

/* Release all data that the transport holds for x. */
void rcx_fused_release(struct rcx_exec *x);

#endif
