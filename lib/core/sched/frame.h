/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Frames: an algorithm writes its steps for a shape of its own, whose ranks are
 * members of a group and whose IN and OUT are spans, of the outer schedule.
 * Each step goes out through the verbs of outside, so that what holds there is
 * checked there; hazards, numbers of messages and plans know of no frame.
 */
#ifndef RCX_CORE_SCHED_FRAME_H
#define RCX_CORE_SCHED_FRAME_H

#include "core/sched/algo.h"

struct rcx_frame {
    const struct rcx_group *group;
    struct rcx_span in, out;
    /* Where blocks lie in in, if not side by side; none is shorter there. */
    const struct rcx_blocks *places;
    /* Of outside, while algo builds: */
    const struct rcx_frame *outer;
    const struct rcx_shape *shape;
};

/* Let algo build for s in the frame; s->alias becomes what the spans say. */
void rcx_frame_build(struct rcx_builder *b, const struct rcx_algo *algo,
                     struct rcx_shape *s, struct rcx_frame *f);

/* Write a step of inside b->frame outside of it. */
void rcx_frame_step(struct rcx_builder *b, const struct rcx_step *step);

#endif
