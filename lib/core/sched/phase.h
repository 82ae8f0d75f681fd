/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * An algorithm that builds in a frame: as a phase of another one, which
 * algo.h has, or as a segment of a whole call.
 */
#ifndef RCX_CORE_SCHED_PHASE_H
#define RCX_CORE_SCHED_PHASE_H

#include "core/sched/frame.h"

/* Let algo build for s in the frame; s->alias becomes what the spans say. */
void rcx_phase_build(struct rcx_builder *b, const struct rcx_algo *algo,
                     struct rcx_shape *s, struct rcx_frame *f);

#endif
