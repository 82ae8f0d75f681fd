/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Completion acknowledgements: empty messages from receiver to sender at the
 * end of a schedule, one for each peer. A transport completes a send before the
 * data has arrived, and a receive before its own reply has been sent. The
 * acknowledgement of a peer tells a rank that the peer has received everything,
 * and that no message needs the rank's progress any more.
 *
 * Both sides know whether there is an acknowledgement, since both know the
 * length of each message.
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
