/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Completion acknowledgements: empty messages from receiver to sender at the
 * end of a schedule, one for each peer. A send is complete to its transport
 * before it has arrived, and a receive before the transport's own answer has
 * been sent. A rank that has the acknowledgement of a peer knows that the peer
 * has received everything, and that none of its messages needs further
 * progress.
 *
 * Both sides know of an acknowledgement, since both know how long each message
 * is.
 */
#include <string.h>

#include "core/sched/schedule.h"

enum { SENT_TO = 1, RECEIVED_FROM = 2 };

void rcx_sched_completion_ack(struct rcx_builder *b, size_t least)
{
    const size_t size = (size_t)b->shape->size;
    unsigned char *talk = rcx_builder_work(b, size);

    if (b->status != RCX_OK)
        return;
    if (!talk) {
        rcx_builder_fail(b, RCX_ERR_NOMEM);
        return;
    }
    memset(talk, 0, size);
    for (uint32_t i = 0; i < b->step_count; i++) {
        const struct rcx_step *step = &b->steps[i];

        if (rcx_step_is_message(step->kind) && step->count >= least)
            talk[step->peer] |=
                step->kind == RCX_STEP_SEND ? SENT_TO : RECEIVED_FROM;
    }
    for (int peer = 0; peer < b->shape->size; peer++) {
        if (talk[peer] & RECEIVED_FROM)
            rcx_step_ack(b, RCX_STEP_SEND, peer);
        if (talk[peer] & SENT_TO)
            rcx_step_ack(b, RCX_STEP_RECV, peer);
    }
}
