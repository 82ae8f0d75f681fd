/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Messages that the receiver holds where they are. Later messages are received
 * meanwhile, and nothing waits for the end of a hold. Short messages, in slots,
 * are copied. Used within shm only.
 *
 * In the ring of bytes: the slot is returned; only the return of bytes waits.
 * Where the sender might lack room, the oldest message is copied to its
 * receive's buffer, and its hold ends.
 *
 * In the sender's copy buffer: the count of copies that have been read stops
 * before the oldest held one. A sender that finds no room there sends its
 * messages otherwise, so these holds may last.
 *
 * In the sender's mapped memory: the sender waits until it is told that the
 * message has been read. What is awaited here may depend on that, so these
 * holds end after some polls, and before this rank sleeps.
 */
#ifndef RCX_TRANSPORT_SHM_HOLD_H
#define RCX_TRANSPORT_SHM_HOLD_H

#include "transport/shm/fifo.h"

/* The part of the ring that may be held: half of it. So the sender always has
 * room for the longest part, a quarter, wherever the ring ends. */
enum { RCX_RING_HELD = 2 };

/* Hold the next message of the FIFO for m, before it is consumed. False: it
 * must be copied. */
bool rcx_shm_hold(struct rcx_shm_channel *p, struct rcx_message *m,
                  const struct rcx_shm_header *a);
/* Hold a message that its sender requests to be read. */
bool rcx_shm_hold_mapped(struct rcx_shm_channel *p, struct rcx_message *m,
                         const struct rcx_shm_header *a);
/* Tell senders of messages in mapped memory that these have been read. Holds
 * end after some calls, or now if all is set, as the senders wait. Returns the
 * number of events. */
unsigned rcx_shm_mapped_progress(struct rcx_shm_channel *p, bool all);
/* Copy the oldest held message of the ring to its buffer. */
void rcx_shm_end_hold(struct rcx_shm_channel *p);

/* How many bytes of the ring, or copies, may be returned. */
static inline uint64_t rcx_shm_free_end(const struct rcx_shm_channel *p,
                                        enum rcx_shm_hold place)
{
    const struct rcx_message *m = p->holds[place].first;

    if (m)
        return rcx_shm_msg(m)->held_at;
    return place == RCX_HELD_RING ? p->ring_in.at : p->cico_taken;
}

#endif
