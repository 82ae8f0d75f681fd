/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Frames: an algorithm writes its steps for a shape of its own, whose ranks are
 * members of a group and whose IN and OUT are spans, of the outer schedule. A
 * frame says where a span of inside lies outside; the builder takes each step
 * out by it, so that hazards, numbers of messages and plans know of no frame.
 */
#ifndef RCX_CORE_SCHED_FRAME_H
#define RCX_CORE_SCHED_FRAME_H

#include "core/sched/algo.h"

struct rcx_frame {
    const struct rcx_group *group;
    struct rcx_span in, out;
    /* Its blocks lie where those of outside do, which are no shorter. */
    bool in_blocks, out_blocks;
    /* Of outside, while algo builds: */
    const struct rcx_frame *outer;
    const struct rcx_shape *shape;
};

/* Where the first part of span, of inside s, lies that is in one place
 * outside. */
struct rcx_span rcx_frame_piece(const struct rcx_frame *f,
                                const struct rcx_shape *s,
                                struct rcx_span span);

/* Set s->alias to how OUT lies over IN. False: they overlap in another way. */
bool rcx_frame_find_alias(const struct rcx_frame *f, struct rcx_shape *s);

#endif
