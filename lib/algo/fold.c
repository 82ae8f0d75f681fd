/* SPDX-License-Identifier: BSD-3-Clause */
#include "algo/fold.h"

static int folded(const struct rcx_shape *s)
{
    return s->size - rcx_pow2_floor(s->size);
}

struct rcx_group rcx_fold_in(struct rcx_builder *b, const struct rcx_shape *s,
                             struct rcx_span result, struct rcx_span scratch,
                             struct rcx_span *mine_p)
{
    const int r = folded(s), me = s->rank;

    if (me < 2 * r && me % 2 == 0) {
        rcx_step_send(b, me + 1, *mine_p);
    } else if (me < 2 * r) {
        rcx_step_recv(b, me - 1, scratch);
        rcx_step_reduce(b, result, scratch, *mine_p);
        *mine_p = result;
    }
    return rcx_group_folded(s, r);
}

void rcx_fold_out(struct rcx_builder *b, const struct rcx_shape *s,
                  struct rcx_span result)
{
    const int r = folded(s), me = s->rank;

    if (me >= 2 * r)
        return;
    if (me % 2 == 0)
        rcx_step_recv(b, me + 1, result);
    else
        rcx_step_send(b, me - 1, result);
}
