/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Finds data that is final where it is stored: the caller's buffer has it, and
 * no other step reads it. Long data need not stay in the caches.
 */
#include "core/sched/algo.h"

/* Whether step reads some of written. */
static bool reads(const struct rcx_shape *s, const struct rcx_step *step,
                  struct rcx_span written)
{
    return (step->kind != RCX_STEP_RECV &&
            rcx_span_meets(rcx_shape_resolve(s, rcx_step_left(step)),
                           written)) ||
           (step->kind == RCX_STEP_REDUCE &&
            rcx_span_meets(rcx_shape_resolve(s, rcx_step_right(step)),
                           written));
}

/* All steps that read what a step stores are among its successors. Results of
 * reductions do not count: what bypasses the caches there costs as much as it
 * saves. */
static bool is_final(const struct rcx_shape *s, const struct rcx_step *steps,
                     const struct rcx_step *step, const uint32_t *successors)
{
    const bool stores =
        step->kind == RCX_STEP_RECV || step->kind == RCX_STEP_COPY;
    const uint32_t *const mine = successors + step->first_successor;
    struct rcx_span written;

    if (!stores || step->dst == RCX_BUFFER_TMP)
        return false;
    written = rcx_shape_resolve(s, rcx_step_dst(step));
    for (uint32_t k = 0; k < step->successor_count; k++)
        if (reads(s, &steps[mine[k]], written))
            return false;
    return true;
}

void rcx_final_steps_find(const struct rcx_shape *s, struct rcx_step *steps,
                          uint32_t count, const uint32_t *successors)
{
    for (uint32_t i = 0; i < count; i++)
        steps[i].is_final = is_final(s, steps, &steps[i], successors);
}
