/* SPDX-License-Identifier: BSD-3-Clause */
#include "transport/shm/rndv.h"

#include "transport/shm/mapped.h"

#include <sys/uio.h>

/* Of a message that is read where it is, in a turn. */
enum { PIECE = 256 << 10 };

/* ---- Sending ----------------------------------------------------------------- */

/* It has begun, and goes on when the receiver says so. */
bool rcx_long_start(struct rcx_pair *p, struct rcx_message *m)
{
    const struct rcx_beginning beginning = {
        .bytes = m->room, .number = p->number, .address = (uintptr_t)m->buffer};
    struct rcx_region *region = rcx_region_of(p->lane, m->buffer, m->room);
    const bool is_read = region || m->room >= p->lane->read_from;
    const size_t part = is_read ? 0 : rcx_pair_chunk(p);
    bool has_begun = !region || rcx_region_tell(p, region);

    if (has_begun)
        has_begun = is_read
                        ? rcx_pair_say(p, m->key, RCX_SLOT_OFFER, &beginning)
                        : rcx_pair_put(p, m->key, RCX_SLOT_FIRST, m->buffer,
                                       part, &beginning);
    if (!has_begun)
        return false;
    m->at = part;
    m->key = p->number++;
    m->may_go_on = false;
    m->next = p->streaming;
    p->streaming = m;
    return true;
}

/* As much of it as there is room for; true: that is all. */
static bool stream(struct rcx_pair *p, struct rcx_message *m, unsigned *events)
{
    while (m->may_go_on && m->at < m->room) {
        const size_t left = m->room - m->at;
        const size_t part = left < rcx_pair_chunk(p) ? left : rcx_pair_chunk(p);

        if (!rcx_pair_put(p, m->key, RCX_SLOT_REST,
                          m->buffer ? m->buffer + m->at : NULL, part, NULL))
            return false;
        m->at += part;
        ++*events;
    }
    return m->at == m->room;
}

unsigned rcx_long_stream(struct rcx_pair *p)
{
    struct rcx_message **link = &p->streaming;
    unsigned events = 0;

    while (*link) {
        struct rcx_message *m = *link;

        if (stream(p, m, &events)) {
            *link = m->next;
            rcx_pair_complete(p, m, RCX_OK);
        } else {
            link = &m->next;
        }
    }
    return events;
}

void rcx_long_hear(struct rcx_pair *p, uint64_t number, bool is_consumed)
{
    struct rcx_message *m = p->streaming;

    while (m->key != number)
        m = m->next;
    m->may_go_on = true;
    if (is_consumed)
        m->at = m->room;
}

/* ---- Receiving --------------------------------------------------------------- */

void rcx_long_begin(struct rcx_pair *p, struct rcx_message *m,
                    const struct rcx_arrival *a)
{
    m->key = a->number;
    m->pair = p;
    m->address = a->address;
    m->next = p->begun;
    p->begun = m;
    m->may_go_on = !a->address && rcx_pair_say(p, m->key, RCX_SLOT_GO_ON, NULL);
    p->owed += !m->may_go_on;
}

void rcx_long_continue(struct rcx_pair *p, const struct rcx_arrival *a)
{
    struct rcx_message **link = &p->begun, *m;

    while ((*link)->key != a->number)
        link = &(*link)->next;
    m = *link;
    rcx_message_store(m, a->data, a->part);
    if (m->at < m->bytes)
        return;
    *link = m->next;
    rcx_pair_complete(p, m, rcx_message_verdict(m));
}

/* What the kernel reads for a taker is stored in its buffer first. */
static bool read_by_kernel(const struct rcx_pair *p, struct rcx_message *m,
                           size_t piece)
{
    const struct iovec here = {m->buffer + m->at, piece};
    const struct iovec there = {(void *)(m->address + m->at), piece};

    if (process_vm_readv(p->pid, &here, 1, &there, 1, 0) != (ssize_t)piece)
        return false;
    if (m->is_consumed)
        rcx_message_hand_over(m, (unsigned char *)m->buffer + m->at, piece);
    return true;
}

/* A piece of a message that is read where it is. */
static bool read_piece(const struct rcx_pair *p, struct rcx_message *m,
                       size_t piece)
{
    const unsigned char *mapped =
        rcx_mapping_find(p, m->address + m->at, piece);

    if (!mapped)
        return read_by_kernel(p, m, piece);
    rcx_message_copy(m, mapped, piece);
    return true;
}

/* Where it cannot be read its sender is to send it. */
static void read_on(const struct rcx_pair *p, struct rcx_message *m)
{
    const size_t most = m->bytes < m->room ? m->bytes : m->room;
    const size_t left = m->at < most ? most - m->at : 0;
    const size_t piece = left < PIECE ? left : PIECE;

    if (piece > 0 && !read_piece(p, m, piece))
        m->address = m->at = 0;
    else
        m->at = piece < left ? m->at + piece : m->bytes;
}

/* Read what is read, and answer who waits for that. */
unsigned rcx_long_pay(struct rcx_pair *p)
{
    struct rcx_message **link = &p->begun;
    unsigned events = 0;

    while (*link && p->owed > 0) {
        struct rcx_message *m = *link;
        const bool is_read = m->address && m->at < m->bytes;

        if (is_read)
            read_on(p, m);
        events += is_read;
        if (!m->may_go_on && (!m->address || m->at == m->bytes) &&
            rcx_pair_say(p, m->key,
                         m->address ? RCX_SLOT_TAKEN : RCX_SLOT_GO_ON, NULL)) {
            m->may_go_on = true;
            p->owed--;
            events++;
        }
        if (m->address && m->may_go_on) {
            *link = m->next;
            rcx_pair_complete(p, m, rcx_message_verdict(m));
        } else {
            link = &m->next;
        }
    }
    return events;
}
