/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Finds data that is final where it is stored: the caller's buffer has it, and
 * no other step reads it, nor writes there again. Long data that a RECV or COPY
 * stores need not stay in the caches; what bypasses them after a reduction
 * costs as much as it saves. An average divides what a REDUCE stores, while it
 * is there, if all of the result is stored in this way.
 */
#include "core/sched/algo.h"

/* Whether step reads some of stored, or writes there. */
static bool touches(const struct rcx_shape *s, const struct rcx_step *step,
                    struct rcx_span stored)
{
    return (step->kind != RCX_STEP_RECV &&
            rcx_span_meets(rcx_shape_resolve(s, rcx_step_left(step)),
                           stored)) ||
           (step->kind == RCX_STEP_REDUCE &&
            rcx_span_meets(rcx_shape_resolve(s, rcx_step_right(step)),
                           stored)) ||
           (step->kind != RCX_STEP_SEND &&
            rcx_span_meets(rcx_shape_resolve(s, rcx_step_dst(step)), stored));
}

/* All steps that touch later what a step stores are among its successors. */
static bool is_final(const struct rcx_shape *s, const struct rcx_step *steps,
                     const struct rcx_step *step, const uint32_t *successors)
{
    const uint32_t *const mine = successors + step->first_successor;
    struct rcx_span stored;

    if (step->kind == RCX_STEP_SEND || step->dst == RCX_BUFFER_TMP)
        return false;
    stored = rcx_shape_resolve(s, rcx_step_dst(step));
    for (uint32_t k = 0; k < step->successor_count; k++)
        if (touches(s, &steps[mine[k]], stored))
            return false;
    return true;
}

size_t rcx_final_steps_find(const struct rcx_shape *s, struct rcx_step *steps,
                            uint32_t count, const uint32_t *successors)
{
    size_t combined = 0;

    for (uint32_t i = 0; i < count; i++) {
        steps[i].is_final = is_final(s, steps, &steps[i], successors);
        if (steps[i].is_final && steps[i].kind == RCX_STEP_REDUCE)
            combined += steps[i].count;
    }
    return combined;
}
