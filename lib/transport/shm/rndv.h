/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Long messages of a pair. Either the sender puts the first part into the ring
 * and goes on when the receiver has a place for the rest, or it offers the
 * message, and the receiver reads it where it is; where the kernel does not let
 * it, it has it sent.
 */
#ifndef RCX_TRANSPORT_SHM_RNDV_H
#define RCX_TRANSPORT_SHM_RNDV_H

#include "transport/shm/fifo.h"

/* Begin to send m; false: there is no room yet. */
bool rcx_long_start(struct rcx_pair *p, struct rcx_message *m);
/* As much of all as there is room for; so many events. */
unsigned rcx_long_stream(struct rcx_pair *p);
/* What the receiver says of that one. */
void rcx_long_hear(struct rcx_pair *p, uint64_t number, bool is_consumed);

/* m is to receive what has come, or the rest of it. */
void rcx_long_begin(struct rcx_pair *p, struct rcx_message *m,
                    const struct rcx_arrival *a);
void rcx_long_continue(struct rcx_pair *p, const struct rcx_arrival *a);
/* Read what is read, and answer who waits for that; so many events. */
unsigned rcx_long_pay(struct rcx_pair *p);

/* Bytes of m from at on; not those again that a taker has. */
static inline void rcx_message_hand_over(struct rcx_message *m,
                                         const unsigned char *data, size_t part)
{
    const size_t again = m->taken > m->at ? m->taken - m->at : 0;

    if (again >= part)
        return;
    m->sink->take(m, m->at + again, data + again, part - again);
    m->taken = m->at + part;
}

/* So many bytes, for which there is room. */
static inline void rcx_message_copy(struct rcx_message *m,
                                    const unsigned char *data, size_t bytes)
{
    if (m->is_consumed)
        rcx_message_hand_over(m, data, bytes);
    else
        rcx_copy_short(m->buffer + m->at, data, bytes);
}

/* A part of it, as far as its buffer goes. */
static inline void rcx_message_store(struct rcx_message *m,
                                     const unsigned char *data, size_t part)
{
    const size_t room = m->room > m->at ? m->room - m->at : 0;

    rcx_message_copy(m, data, part < room ? part : room);
    m->at += part;
}

static inline rcx_status_t rcx_message_verdict(const struct rcx_message *m)
{
    return m->bytes > m->room ? RCX_ERR_MISMATCH : RCX_OK;
}

#endif
