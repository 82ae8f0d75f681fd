/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Builders of tests: opens one, and checks that it leaves no memory.
 */
#include "built.h"

#include "lines.h"
#include "test.h"

void built_open(struct built *t, const struct rcx_shape *shape)
{
    t->heap = RCX_HEAP_INIT;
    rcx_log_init(&t->log);
    t->log.fn = lines_discard;
    rcx_builder_init(&t->builder, &t->heap, &t->log);
    if (shape)
        rcx_builder_begin(&t->builder, shape);
}

int built_close(struct built *t)
{
    rcx_builder_free(&t->builder);
    return t->heap.live == 0 ? 0 : -1;
}

void built_write(struct built *t, const struct rcx_algo *algo,
                 const struct rcx_shape *shape)
{
    rcx_builder_begin(&t->builder, shape);
    algo->build(&t->builder, shape);
    require_ok(t->builder.status);
}

struct rcx_plan *built_finish(struct built *t)
{
    struct rcx_plan *plan;

    require_ok(rcx_sched_finish(&t->builder, 1024, &plan));
    return plan;
}
