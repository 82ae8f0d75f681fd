/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Holds messages in the ring of a channel until a reduction reads them. Their
 * slots are returned, and later messages are received; only the return of bytes
 * waits. Where the sender might lack room, the oldest message is copied to its
 * receive's buffer, and its hold ends. Short messages, in slots, are copied.
 */
#include "transport/shm/hold.h"

bool rcx_shm_hold(struct rcx_shm_channel *p, struct rcx_message *m,
                  const struct rcx_shm_header *a)
{
    struct rcx_shm_message *state = rcx_shm_msg(m);

    if (!m->may_hold || a->kind != RCX_SLOT_WHOLE || a->part != state->room)
        return false;
    state->channel = p;
    state->held_at = p->ring_in.at;
    state->next_held = NULL;
    *p->held_end = m;
    p->held_end = &state->next_held;
    m->held = a->data;
    m->bytes = a->bytes;
    if (state->tells_tag)
        m->tag = a->tag;
    m->is_consumed = false;
    return true;
}

/* Remove m, which link points to. */
static void unlink_held(struct rcx_shm_channel *p, struct rcx_message **link)
{
    struct rcx_message *m = *link;

    *link = rcx_shm_msg(m)->next_held;
    if (p->held_end == &rcx_shm_msg(m)->next_held)
        p->held_end = link;
    m->held = NULL;
}

void rcx_shm_end_hold(struct rcx_shm_channel *p)
{
    struct rcx_message *m = p->held;

    memcpy(rcx_shm_msg(m)->buffer, m->held, m->bytes);
    unlink_held(p, &p->held);
}

void rcx_shm_release(struct rcx_message *m)
{
    struct rcx_shm_channel *p = rcx_shm_msg(m)->channel;
    struct rcx_message **link = &p->held;

    while (*link != m)
        link = &rcx_shm_msg(*link)->next_held;
    unlink_held(p, link);
    rcx_shm_return_bytes(p);
}
