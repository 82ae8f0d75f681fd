/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Holds messages where they are until a reduction reads them.
 *
 * In the ring of a channel: their slots are returned, and later messages are
 * received; only the return of bytes waits. Where the sender might lack room,
 * the oldest message is copied to its receive's buffer, and its hold ends.
 * Short messages, in slots, are copied.
 *
 * In mapped memory: the sender waits until it is told that the message has been
 * read. What is awaited here may depend on that, so these holds end after some
 * polls, and before this rank sleeps.
 */
#include "transport/shm/hold.h"

#include "transport/shm/mapped.h"

enum { MAPPED_POLLS = 64 };

/* ---- Lists --------------------------------------------------------------- */

static bool is_in_memory(const struct rcx_message *m)
{
    return rcx_shm_msg(m)->address != 0;
}

static void append(struct rcx_message ***end, struct rcx_message *m)
{
    rcx_shm_msg(m)->next_held = NULL;
    **end = m;
    *end = &rcx_shm_msg(m)->next_held;
}

/* Remove m from its list. Its hold ends. */
static void unlink_held(struct rcx_shm_channel *p, struct rcx_message *m)
{
    struct rcx_message ***end = is_in_memory(m) ? &p->mapped_end : &p->held_end;
    struct rcx_message **link = is_in_memory(m) ? &p->mapped : &p->held;

    while (*link != m)
        link = &rcx_shm_msg(*link)->next_held;
    *link = rcx_shm_msg(m)->next_held;
    if (*end == &rcx_shm_msg(m)->next_held)
        *end = link;
    m->held = NULL;
}

/* m has received a message that is at data. */
static void set_held(struct rcx_shm_channel *p, struct rcx_message *m,
                     const struct rcx_shm_header *a, const void *data)
{
    rcx_shm_msg(m)->channel = p;
    rcx_shm_msg(m)->address = a->address;
    m->held = data;
    m->bytes = a->bytes;
    m->is_consumed = false;
    if (rcx_shm_msg(m)->tells_tag)
        m->tag = a->tag;
    append(a->address ? &p->mapped_end : &p->held_end, m);
}

/* ---- In the ring --------------------------------------------------------- */

bool rcx_shm_hold(struct rcx_shm_channel *p, struct rcx_message *m,
                  const struct rcx_shm_header *a)
{
    if (!m->may_hold || a->kind != RCX_SLOT_WHOLE ||
        a->part != rcx_shm_msg(m)->room)
        return false;
    rcx_shm_msg(m)->held_at = p->ring_in.at;
    set_held(p, m, a, a->data);
    return true;
}

void rcx_shm_end_hold(struct rcx_shm_channel *p)
{
    struct rcx_message *m = p->held;

    memcpy(rcx_shm_msg(m)->buffer, m->held, m->bytes);
    unlink_held(p, m);
}

/* ---- In mapped memory ---------------------------------------------------- */

/* The number of messages whose senders have not been told is bounded, since
 * there may be no slot to tell them. When the peer ends, all holds end, and none
 * begins any more. */
bool rcx_shm_hold_mapped(struct rcx_shm_channel *p, struct rcx_message *m,
                         const struct rcx_shm_header *a)
{
    const unsigned char *data;

    if (!m->may_hold || a->kind != RCX_SLOT_RTS ||
        a->bytes != rcx_shm_msg(m)->room ||
        p->mapped_count == RCX_MAPPED_HELD || p->has_ended)
        return false;
    data = rcx_mapping_find(p, a->address, a->bytes);
    if (!data)
        return false;
    rcx_shm_msg(m)->key = a->number;
    set_held(p, m, a, data);
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

static void release_mapped(struct rcx_shm_channel *p, struct rcx_message *m)
{
    unlink_held(p, m);
    p->released[p->released_count++] = rcx_shm_msg(m)->key;
}

unsigned rcx_shm_mapped_progress(struct rcx_shm_channel *p, bool all)
{
    const bool ends = all || ++p->mapped_polls > MAPPED_POLLS;

    while (ends && p->mapped) {
        struct rcx_message *m = p->mapped;

        memcpy(rcx_shm_msg(m)->buffer, m->held, m->bytes);
        release_mapped(p, m);
    }
    return tell_senders(p);
}

void rcx_shm_release(struct rcx_message *m)
{
    struct rcx_shm_channel *p = rcx_shm_msg(m)->channel;

    if (is_in_memory(m)) {
        release_mapped(p, m);
        tell_senders(p);
    } else {
        unlink_held(p, m);
        rcx_shm_return_bytes(p);
    }
}
