/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Messages that the receiver holds where they are, in the ring of bytes. Used
 * within shm only.
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
/* Copy the oldest held message to its buffer. */
void rcx_shm_end_hold(struct rcx_shm_channel *p);

/* How far bytes may be returned. */
static inline uint64_t rcx_shm_free_end(const struct rcx_shm_channel *p)
{
    return p->held ? rcx_shm_msg(p->held)->held_at : p->ring_in.at;
}

#endif
