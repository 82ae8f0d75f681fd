/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Holds messages where they are until a reduction reads them, and ends holds
 * that the sender would have to wait for. hold.h says how.
 */
#include "transport/shm/hold.h"

#include "transport/shm/cico.h"
#include "transport/shm/way.h"

enum { MAPPED_POLLS = 64 };

/* ---- Lists --------------------------------------------------------------- */

/* m has received a message that is at data. */
static void set_held(struct rcx_shm_channel *p, struct rcx_message *m,
                     const struct rcx_shm_header *a, enum rcx_shm_hold place,
                     const void *data)
{
    struct rcx_shm_message *state = rcx_shm_msg(m);

    state->channel = p;
    state->held_in = place;
    state->next_held = NULL;
    *p->holds[place].end = m;
    p->holds[place].end = &state->next_held;
    m->held = data;
    m->bytes = a->bytes;
    m->is_consumed = false;
    if (state->tells_tag)
        m->tag = a->tag;
}

/* Remove m from its list. Its hold ends. */
static void unlink_held(struct rcx_shm_channel *p, struct rcx_message *m)
{
    struct rcx_shm_message *state = rcx_shm_msg(m);
    struct rcx_shm_holds *holds = &p->holds[state->held_in];
    struct rcx_message **link = &holds->first;

    while (*link != m)
        link = &rcx_shm_msg(*link)->next_held;
    *link = state->next_held;
    if (holds->end == &state->next_held)
        holds->end = link;
    m->held = NULL;
}

static void copy_held(const struct rcx_message *m)
{
    memcpy(rcx_shm_msg(m)->buffer, m->held, m->bytes);
}

/* ---- In the ring, and in copies ------------------------------------------ */

bool rcx_shm_hold(struct rcx_shm_channel *p, struct rcx_message *m,
                  const struct rcx_shm_header *a)
{
    const bool is_copy = a->kind == RCX_SLOT_CICO && a->data;

    if (!m->may_hold || (a->kind != RCX_SLOT_WHOLE && !is_copy) ||
        a->part != rcx_shm_msg(m)->room)
        return false;
    rcx_shm_msg(m)->held_at = is_copy ? p->cico_taken : p->ring_in.at;
    set_held(p, m, a, is_copy ? RCX_HELD_CICO : RCX_HELD_RING, a->data);
    if (a->spent) /* reading it will take about as long as writing it */
        rcx_way_note(p, a->bytes, RCX_WAY_RING, 2 * a->spent);
    return true;
}

void rcx_shm_end_hold(struct rcx_shm_channel *p)
{
    struct rcx_message *m = p->holds[RCX_HELD_RING].first;

    copy_held(m);
    unlink_held(p, m);
}

/* ---- In mapped memory ---------------------------------------------------- */

/* The number of messages whose senders have not been told is bounded, since
 * there may be no slot to tell them. When the peer ends, these holds end, and
 * none begins any more. */
bool rcx_shm_hold_mapped(struct rcx_shm_channel *p, struct rcx_message *m,
                         const struct rcx_shm_header *a)
{
    const unsigned char *data;

    if (!m->may_hold || a->kind != RCX_SLOT_RTS ||
        a->bytes != rcx_shm_msg(m)->room ||
        p->mapped_count == RCX_MAPPED_HELD || p->has_ended ||
        rcx_shm_may_have_changed(p, a->number))
        return false;
    data = rcx_mapping_find(p, a->address, a->bytes);
    if (!data)
        return false;
    rcx_shm_msg(m)->key = a->number;
    set_held(p, m, a, RCX_HELD_MAPPED, data);
    p->mapped_count++;
    p->answers_due++;
    p->mapped_polls = 0;
    return true;
}

/* Tell senders, as far as there are slots. Returns the number of events. */
static unsigned tell_senders(struct rcx_shm_channel *p)
{
    unsigned told = 0;

    while (told < p->released_count &&
           rcx_shm_put_control(p, p->released[told], RCX_SLOT_ATS, NULL))
        told++;
    p->released_count -= told;
    memmove(p->released, p->released + told,
            p->released_count * sizeof *p->released);
    p->mapped_count -= told;
    p->answers_due -= told;
    return told;
}

/* The message may have been cancelled while it was read. */
static void release_mapped(struct rcx_shm_channel *p, struct rcx_message *m)
{
    if (rcx_shm_may_have_changed(p, rcx_shm_msg(m)->key))
        m->status = RCX_ERR_COMM_FAILED;
    unlink_held(p, m);
    p->released[p->released_count++] = rcx_shm_msg(m)->key;
}

unsigned rcx_shm_mapped_progress(struct rcx_shm_channel *p, bool all)
{
    const bool ends = all || ++p->mapped_polls > MAPPED_POLLS;

    while (ends && p->holds[RCX_HELD_MAPPED].first) {
        struct rcx_message *m = p->holds[RCX_HELD_MAPPED].first;

        copy_held(m);
        release_mapped(p, m);
    }
    return tell_senders(p);
}

void rcx_shm_release(struct rcx_message *m)
{
    struct rcx_shm_channel *p = rcx_shm_msg(m)->channel;

    if (rcx_shm_msg(m)->held_in == RCX_HELD_MAPPED) {
        release_mapped(p, m);
        tell_senders(p);
        return;
    }
    unlink_held(p, m);
    if (rcx_shm_msg(m)->held_in == RCX_HELD_RING)
        rcx_shm_return_bytes(p);
    else
        rcx_cico_return(p);
}
