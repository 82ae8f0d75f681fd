/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Orphaned executions: cancelled, with messages that UCX has not completed.
 */
#include "core/run/request/orphan.h"

#include "core/run/object/context.h"
#include "core/run/plan/compile.h"

static void destroy(struct rcx_exec *x)
{
    rcx_piece_of(x)->program->pins--;
    rcx_exec_destroy(x);
}

void rcx_orphan_add(struct rcx_context *context, struct rcx_exec *x)
{
    rcx_piece_of(x)->program->pins++;
    context->orphans.receives += rcx_exec_under_way(x, RCX_STEP_RECV);
    rcx_exec_detach(x);
    if (x->steps_left == 0) {
        destroy(x);
        return;
    }
    x->next = context->orphans.first;
    context->orphans.first = x;
}

void rcx_orphan_message(struct rcx_context *context, struct rcx_exec *x,
                        const struct rcx_message *m)
{
    struct rcx_exec **link = &context->orphans.first;

    if (m->step->kind == RCX_STEP_RECV)
        context->orphans.receives--;
    if (--x->steps_left > 0)
        return;
    while (*link != x)
        link = &(*link)->next;
    *link = x->next;
    destroy(x);
}

bool rcx_orphans_have(const struct rcx_context *context, uint64_t tag)
{
    const uint64_t mask = rcx_tag_base(&context->layout, UINT64_MAX, 0);
    const struct rcx_exec *x = context->orphans.first;

    while (x && ((x->tag_base ^ tag) & mask) != 0)
        x = x->next;
    return x;
}

void rcx_orphans_close(struct rcx_context *context)
{
    while (context->orphans.first) {
        struct rcx_exec *x = context->orphans.first;

        context->orphans.first = x->next;
        destroy(x);
    }
}
