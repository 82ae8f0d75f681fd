/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Frames: an algorithm writes steps for an inner shape. Its ranks are the
 * members of a group, and its IN and OUT are spans of the outer schedule. A
 * frame maps inner spans to outer ones. The builder translates each step by it,
 * so hazards, message numbers and plans do not know frames.
 */
#ifndef RCX_CORE_SCHED_FRAME_H
#define RCX_CORE_SCHED_FRAME_H

#include "core/sched/algo.h"

struct rcx_frame {
    const struct rcx_group *group;
    struct rcx_span in, out;
    /* Whether IN, or OUT, consists of blocks: block i of the inner shape is
     * stored at the place of block i of the outer shape, which is not
     * shorter. */
    bool in_blocks, out_blocks;
    /* The outer frame and shape, while the algorithm builds: */
    const struct rcx_frame *outer;
    const struct rcx_shape *shape;
};

/* Return the outer place of the first part of span, of inner shape s, that is
 * contiguous outside. */
struct rcx_span rcx_frame_piece(const struct rcx_frame *f,
                                const struct rcx_shape *s,
                                struct rcx_span span);

/* Set s->alias to how OUT overlaps IN. False: they overlap in another way. */
bool rcx_frame_find_alias(const struct rcx_frame *f, struct rcx_shape *s);

#endif
