/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Runs fused reductions. fuse.c finds them, reducer.c has the pass over memory.
 */
#include "core/exec/fused.h"

/*
 * Longer vectors are reduced step by step, as their data arrives: the pass over
 * all operands would begin only when the last one is complete. Ops that combine
 * rows have no steps.
 */
enum { BYTES_MOST = 128 << 10 };

void rcx_fused_set(const struct rcx_exec *x, struct rcx_message *m)
{
    const struct rcx_step *step = m->step;
    const struct rcx_fused_part *part = &x->plan->parts[step->fused - 1];

    m->may_hold = step->kind == RCX_STEP_RECV && m->due <= BYTES_MOST;
    if (step->kind != RCX_STEP_REDUCE ||
        (m->due > BYTES_MOST && !x->reducer->rows))
        return;
    while (!part->is_last)
        part++;
    m->kind =
        &x->messages[part->step] == m ? RCX_EXEC_FUSED : RCX_EXEC_DEFERRED;
}

static const char *operand_of(const struct rcx_exec *x, uint32_t from,
                              unsigned buffer, size_t at)
{
    return from > 0 && x->messages[from - 1].held ? x->messages[from - 1].held
                                                  : rcx_exec_at(x, buffer, at);
}

static struct rcx_reduction reduction_of(const struct rcx_exec *x,
                                         const struct rcx_fused_part *part)
{
    const struct rcx_message *m = &x->messages[part->step];

    return (struct rcx_reduction){
        .dst = rcx_exec_at(x, m->dst, m->dst_at),
        .left = operand_of(x, part->left_from, m->left, m->left_at),
        .right = operand_of(x, part->right_from, m->right, m->right_at),
        .dst_stays = part->dst_stays,
        .left_stays = part->left_stays,
        .right_stays = part->right_stays};
}

/* The end of a hold may tell that the data was no message any more. */
static rcx_status_t release(struct rcx_exec *x, uint32_t from)
{
    struct rcx_message *m = from > 0 ? &x->messages[from - 1] : NULL;

    if (m && m->held)
        x->transport->ops->release(x->transport, m);
    return m ? m->status : RCX_OK;
}

rcx_status_t rcx_fused_run(struct rcx_exec *x, const struct rcx_message *m)
{
    const struct rcx_fused_part *part = &x->plan->parts[m->step->fused - 1];
    struct rcx_reduction list[RCX_AT_ONCE_PARTS];
    unsigned n = 0;
    rcx_status_t status = RCX_OK;

    do
        list[n++] = reduction_of(x, part);
    while (!part++->is_last);
    if (x->status == RCX_OK)
        status = rcx_reducer_apply_many(x->reducer, list, n, m->step->count,
                                        m->step->is_final);
    for (part -= n; n > 0; n--, part++) {
        const rcx_status_t left = release(x, part->left_from);
        const rcx_status_t right = release(x, part->right_from);

        if (status == RCX_OK)
            status = left != RCX_OK ? left : right;
    }
    return status;
}

void rcx_fused_release(struct rcx_exec *x)
{
    for (uint32_t i = 0; i < x->plan->part_count; i++) {
        release(x, x->plan->parts[i].left_from);
        release(x, x->plan->parts[i].right_from);
    }
}
