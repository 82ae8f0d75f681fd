/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Build an algorithm in a frame: as a phase of another algorithm (see algo.h),
 * or as a segment of a call.
 */
#ifndef RCX_CORE_SCHED_PHASE_H
#define RCX_CORE_SCHED_PHASE_H

#include "core/sched/frame.h"

/* Append the steps of algo for shape s in frame f. Sets s->alias according to
 * the spans of f. */
void rcx_phase_build(struct rcx_builder *b, const struct rcx_algo *algo,
                     struct rcx_shape *s, struct rcx_frame *f);

#endif
