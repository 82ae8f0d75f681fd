/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Rendezvous of long messages within a node.
 */
#include "transport/shm/rndv.h"

#include "transport/shm/mapped.h"
#include "transport/shm/way.h"

#include <sys/uio.h>

/* Bytes that are read in one progress call. */
enum { PIECE = 256 << 10 };

/* ---- Sending ------------------------------------------------------------- */

/* Of a long message, which is longer. */
static size_t first_part(const struct rcx_shm_lane *lane)
{
    return lane->eager - lane->eager % RCX_PART_BYTES;
}

/* Send the first part or a request to send. */
bool rcx_rndv_send_start(struct rcx_shm_channel *p, struct rcx_message *m)
{
    const struct rcx_rndv_header beginning = {
        .bytes = rcx_shm_msg(m)->room,
        .number = p->number,
        .address = (uintptr_t)rcx_shm_msg(m)->buffer};
    struct rcx_region *region =
        rcx_region_of(p->lane, rcx_shm_msg(m)->buffer, rcx_shm_msg(m)->room);
    const bool is_read = region || rcx_way_is_read(p, rcx_shm_msg(m)->room);
    const size_t part = is_read ? 0 : first_part(p->lane);
    bool has_begun = !region || rcx_region_announce(p, region);

    if (has_begun)
        has_begun = is_read
                        ? rcx_shm_put_control(p, rcx_shm_msg(m)->key,
                                              RCX_SLOT_RTS, &beginning)
                        : rcx_shm_put(p, rcx_shm_msg(m)->key, RCX_SLOT_FIRST,
                                      rcx_shm_msg(m)->buffer, part, &beginning);
    if (!has_begun)
        return false;
    rcx_shm_msg(m)->at = part;
    rcx_shm_msg(m)->key = p->number++;
    rcx_shm_msg(m)->may_go_on = false;
    m->next = p->streaming;
    p->streaming = m;
    return true;
}

/* The receiver has asked for a message that has been cancelled. False: no room
 * yet. */
static bool refuse(struct rcx_shm_channel *p, struct rcx_message *m,
                   unsigned *events)
{
    if (!rcx_shm_put_control(p, rcx_shm_msg(m)->key, RCX_SLOT_VOID, NULL))
        return false;
    rcx_shm_msg(m)->at = rcx_shm_msg(m)->room;
    ++*events;
    return true;
}

/* Send as much as there is room for. True: that is all. */
static bool stream(struct rcx_shm_channel *p, struct rcx_message *m,
                   unsigned *events)
{
    while (rcx_shm_msg(m)->may_go_on &&
           rcx_shm_msg(m)->at < rcx_shm_msg(m)->room) {
        const size_t left = rcx_shm_msg(m)->room - rcx_shm_msg(m)->at;
        const size_t chunk = p->lane->settings.chunk;
        const size_t part = left < chunk ? left : chunk;

        if (!rcx_shm_msg(m)->buffer)
            return refuse(p, m, events);
        if (!rcx_shm_put(p, rcx_shm_msg(m)->key, RCX_SLOT_REST,
                         rcx_shm_msg(m)->buffer + rcx_shm_msg(m)->at, part,
                         NULL))
            return false;
        rcx_shm_msg(m)->at += part;
        ++*events;
    }
    return rcx_shm_msg(m)->at == rcx_shm_msg(m)->room;
}

unsigned rcx_rndv_send_progress(struct rcx_shm_channel *p)
{
    struct rcx_message **link = &p->streaming;
    unsigned events = 0;

    while (*link) {
        struct rcx_message *m = *link;

        if (stream(p, m, &events)) {
            *link = m->next;
            rcx_shm_complete(p, m, RCX_OK);
        } else {
            link = &m->next;
        }
    }
    return events;
}

void rcx_rndv_send_answered(struct rcx_shm_channel *p, uint64_t number,
                            bool is_consumed)
{
    struct rcx_message *m = p->streaming;

    while (m && rcx_shm_msg(m)->key != number)
        m = m->next;
    if (!m) /* the peer has ended, and so has the message */
        return;
    rcx_shm_msg(m)->may_go_on = true;
    if (is_consumed)
        rcx_shm_msg(m)->at = rcx_shm_msg(m)->room;
}

/* ---- Receiving ----------------------------------------------------------- */

void rcx_rndv_recv_start(struct rcx_shm_channel *p, struct rcx_message *m,
                         const struct rcx_shm_header *a)
{
    rcx_shm_msg(m)->key = a->number;
    rcx_shm_msg(m)->channel = p;
    rcx_shm_msg(m)->address = a->address;
    rcx_shm_msg(m)->is_request = a->kind == RCX_SLOT_RTS;
    m->next = p->begun;
    p->begun = m;
    rcx_shm_msg(m)->may_go_on =
        !a->address &&
        rcx_shm_put_control(p, rcx_shm_msg(m)->key, RCX_SLOT_RTR, NULL);
    p->answers_due += !rcx_shm_msg(m)->may_go_on;
}

void rcx_rndv_recv_part(struct rcx_shm_channel *p,
                        const struct rcx_shm_header *a)
{
    struct rcx_message **link = &p->begun, *m;

    while (*link && rcx_shm_msg(*link)->key != a->number)
        link = &(*link)->next;
    m = *link;
    if (!m) /* the peer has ended, and so has the message */
        return;
    if (a->kind == RCX_SLOT_REST)
        rcx_message_store(m, a->data, a->part);
    if (a->kind == RCX_SLOT_REST && rcx_shm_msg(m)->at < m->bytes)
        return;
    *link = m->next;
    rcx_way_note_message(p, m);
    rcx_shm_complete(p, m,
                     a->kind == RCX_SLOT_VOID ? RCX_ERR_COMM_FAILED
                                              : rcx_message_recv_status(m));
}

/* What the kernel reads for a sink goes through the receive's buffer. */
static bool read_by_kernel(const struct rcx_shm_channel *p,
                           struct rcx_message *m, size_t piece)
{
    const struct iovec here = {rcx_shm_msg(m)->buffer + rcx_shm_msg(m)->at,
                               piece};
    const struct iovec there = {
        (void *)(rcx_shm_msg(m)->address + rcx_shm_msg(m)->at), piece};

    if (process_vm_readv(p->pid, &here, 1, &there, 1, 0) != (ssize_t)piece ||
        rcx_shm_may_have_changed(p, rcx_shm_msg(m)->key))
        return false;
    if (m->is_consumed)
        rcx_message_feed_sink(
            m, (unsigned char *)rcx_shm_msg(m)->buffer + rcx_shm_msg(m)->at,
            piece);
    return true;
}

/* Read a piece of a message. What is passed to a sink in vain is not passed
 * again: it was right, or the message fails. */
static bool read_piece(const struct rcx_shm_channel *p, struct rcx_message *m,
                       size_t piece)
{
    const unsigned char *mapped = rcx_mapping_find(
        p, rcx_shm_msg(m)->address + rcx_shm_msg(m)->at, piece);

    if (!mapped)
        return read_by_kernel(p, m, piece);
    rcx_shm_msg(m)->begun_at = 0; /* another way */
    rcx_message_copy(m, mapped, piece);
    return !rcx_shm_may_have_changed(p, rcx_shm_msg(m)->key);
}

/* If it cannot be read, ask its sender to send it. */
static void read_next(const struct rcx_shm_channel *p, struct rcx_message *m)
{
    const size_t most =
        m->bytes < rcx_shm_msg(m)->room ? m->bytes : rcx_shm_msg(m)->room;
    const size_t left =
        rcx_shm_msg(m)->at < most ? most - rcx_shm_msg(m)->at : 0;
    const size_t piece = left < PIECE ? left : PIECE;

    if (piece > 0 && !read_piece(p, m, piece))
        rcx_shm_msg(m)->address = rcx_shm_msg(m)->at = 0;
    else
        rcx_shm_msg(m)->at =
            piece < left ? rcx_shm_msg(m)->at + piece : m->bytes;
}

/* Read pieces of messages, and send the answers that are due. */
unsigned rcx_rndv_recv_progress(struct rcx_shm_channel *p)
{
    struct rcx_message **link = &p->begun;
    unsigned events = 0;

    while (*link && p->answers_due > 0) {
        struct rcx_message *m = *link;
        const bool is_read =
            rcx_shm_msg(m)->address && rcx_shm_msg(m)->at < m->bytes;

        if (is_read)
            read_next(p, m);
        events += is_read;
        if (!rcx_shm_msg(m)->may_go_on &&
            (!rcx_shm_msg(m)->address || rcx_shm_msg(m)->at == m->bytes) &&
            rcx_shm_put_control(
                p, rcx_shm_msg(m)->key,
                rcx_shm_msg(m)->address ? RCX_SLOT_ATS : RCX_SLOT_RTR, NULL)) {
            rcx_shm_msg(m)->may_go_on = true;
            p->answers_due--;
            events++;
        }
        if (rcx_shm_msg(m)->address && rcx_shm_msg(m)->may_go_on) {
            *link = m->next;
            rcx_way_note_message(p, m);
            rcx_shm_complete(p, m, rcx_message_recv_status(m));
        } else {
            link = &m->next;
        }
    }
    return events;
}
