/* SPDX-License-Identifier: BSD-3-Clause */
#include "algo/phase/exchange.h"

/* The operand, where results do not replace it. */
static struct rcx_span kept(struct rcx_builder *b, const struct rcx_shape *s)
{
    const struct rcx_span in = rcx_span_in(s);
    struct rcx_span copy;

    if (s->alias == RCX_ALIAS_NONE)
        return in;
    copy = rcx_span_scratch(b, in.count);
    rcx_step_copy(b, copy, in);
    return copy;
}

void rcx_exchange_linear(struct rcx_builder *b, const struct rcx_shape *s)
{
    const struct rcx_blocks given = rcx_blocks_in(s, RCX_BUFFER_IN);
    const struct rcx_blocks gotten = rcx_blocks_in(s, RCX_BUFFER_OUT);
    const struct rcx_span out = rcx_span_out(s);
    const struct rcx_span in = kept(b, s);

    for (int t = 1; t < s->size; t++) {
        const int above = (s->rank + t) % s->size;
        const int below = (s->rank + s->size - t) % s->size;

        rcx_posted_pair(b, s);
        rcx_step_recv(b, below, rcx_block(&gotten, out, below));
        rcx_step_send(b, above, rcx_block(&given, in, above));
    }
    rcx_step_copy(b, rcx_block(&gotten, out, s->rank),
                  rcx_block(&given, rcx_span_in(s), s->rank));
}
