/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Long messages of a channel. Either the sender puts the first part into the
 * ring and continues when the receiver has a buffer (RTR), or it sends a
 * request (RTS), and the receiver reads the message where it is and
 * acknowledges it (ATS). If the kernel does not allow the read, or the sender
 * has cancelled a message, the receiver asks for the message (RTR). Parts of a
 * cancelled message are never sent: the answer is VOID.
 */
#ifndef RCX_TRANSPORT_SHM_RNDV_H
#define RCX_TRANSPORT_SHM_RNDV_H

#include "core/base/stream.h"
#include "transport/shm/fifo.h"

/* Begin to send m. False: no room yet. */
bool rcx_rndv_send_start(struct rcx_shm_channel *p, struct rcx_message *m);
/* Send parts of long messages as far as there is room. Returns the number of
 * events. */
unsigned rcx_rndv_send_progress(struct rcx_shm_channel *p);
/* The receiver has answered: RTR, or ATS if is_consumed. */
void rcx_rndv_send_answered(struct rcx_shm_channel *p, uint64_t number,
                            bool is_consumed);

/* Begin to receive a long message into m, and receive a further part. */
void rcx_rndv_recv_start(struct rcx_shm_channel *p, struct rcx_message *m,
                         const struct rcx_shm_header *a);
void rcx_rndv_recv_part(struct rcx_shm_channel *p,
                        const struct rcx_shm_header *a);
/* Read pieces of messages, and send answers. Returns the number of events. */
unsigned rcx_rndv_recv_progress(struct rcx_shm_channel *p);

/* Pass bytes of m to its sink, except those that it has. */
static inline void rcx_message_feed_sink(struct rcx_message *m,
                                         const unsigned char *data, size_t part)
{
    const size_t again = rcx_shm_msg(m)->taken > rcx_shm_msg(m)->at
                             ? rcx_shm_msg(m)->taken - rcx_shm_msg(m)->at
                             : 0;

    if (again >= part)
        return;
    m->sink->take(m, rcx_shm_msg(m)->at + again, data + again, part - again);
    rcx_shm_msg(m)->taken = rcx_shm_msg(m)->at + part;
}

/* Store bytes, for which there is room. */
static inline void rcx_message_copy(struct rcx_message *m,
                                    const unsigned char *data, size_t bytes)
{
    if (m->is_consumed)
        rcx_message_feed_sink(m, data, bytes);
    else if (__builtin_expect(m->streams, 0))
        rcx_stream_copy(rcx_shm_msg(m)->buffer + rcx_shm_msg(m)->at, data,
                        bytes);
    else
        rcx_copy_short(rcx_shm_msg(m)->buffer + rcx_shm_msg(m)->at, data,
                       bytes);
}

/* Store a part, as far as the buffer goes. */
static inline void rcx_message_store(struct rcx_message *m,
                                     const unsigned char *data, size_t part)
{
    const size_t room = rcx_shm_msg(m)->room > rcx_shm_msg(m)->at
                            ? rcx_shm_msg(m)->room - rcx_shm_msg(m)->at
                            : 0;

    rcx_message_copy(m, data, part < room ? part : room);
    rcx_shm_msg(m)->at += part;
}

static inline rcx_status_t rcx_message_recv_status(const struct rcx_message *m)
{
    return m->bytes > rcx_shm_msg(m)->room ? RCX_ERR_MISMATCH : RCX_OK;
}

#endif
