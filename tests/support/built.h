/* SPDX-License-Identifier: BSD-3-Clause */
/* A builder with its heap and a log that prints nothing, for tests that write
 * schedules themselves. */
#ifndef RCX_TESTS_SUPPORT_BUILT_H
#define RCX_TESTS_SUPPORT_BUILT_H

#include "core/sched/algo.h"

struct built {
    struct rcx_heap heap;
    struct rcx_log log;
    struct rcx_builder builder;
};

/* Begin a schedule for shape; NULL: none yet. */
void built_open(struct built *t, const struct rcx_shape *shape);
/* Returns 0, or -1 if memory is left: what a teardown returns. */
int built_close(struct built *t);
/* Write the schedule of algo for shape, and require that it succeeds. */
void built_write(struct built *t, const struct rcx_algo *algo,
                 const struct rcx_shape *shape);
/* Finish the schedule. The caller frees the plan through the heap. */
struct rcx_plan *built_finish(struct built *t);

#endif
