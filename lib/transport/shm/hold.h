/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Messages that the receiver holds where they are, in the ring of bytes or in
 * the sender's mapped memory. Used within shm only.
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

/* How far bytes may be returned. */
static inline uint64_t rcx_shm_free_end(const struct rcx_shm_channel *p)
{
    return p->held ? rcx_shm_msg(p->held)->held_at : p->ring_in.at;
}

#endif
