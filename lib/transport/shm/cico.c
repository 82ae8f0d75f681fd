/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Copy-in copy-out buffers: one copy of a message for several readers. Which
 * messages share a copy is decided by sched/shared.c and the executor.
 */
#include "transport/shm/cico.h"

#include "transport/shm/fifo.h"
#include "transport/shm/hold.h"

/* Unit in which a buffer is used: lines that are prefetched together. */
enum { UNIT = 4 * RCX_LINE };

/* Whether all peers have read what was put into part. */
static bool is_read(const struct rcx_shm_lane *lane, unsigned part)
{
    for (const struct rcx_shm_channel *p = lane->cico.readers; p;
         p = p->next_reader)
        if (!p->has_ended &&
            (int64_t)(atomic_load_explicit(&p->in->cico_read,
                                           memory_order_acquire) -
                      p->cico_marks[part]) < 0)
            return false;
    return true;
}

size_t rcx_cico_put(struct rcx_shm_lane *lane, const void *buffer, size_t bytes)
{
    struct rcx_cico *s = &lane->cico;
    const size_t part_bytes = s->bytes / RCX_CICO_PARTS;
    const size_t room = (bytes + UNIT - 1) & ~(size_t)(UNIT - 1);
    const unsigned next = (s->part + 1) % RCX_CICO_PARTS;
    size_t at;

    if (s->used + room > part_bytes) {
        if (!is_read(lane, next))
            return SIZE_MAX;
        s->part = next;
        s->used = 0;
    }
    at = s->part * part_bytes + s->used;
    s->used += room;
    memcpy(s->at + at, buffer, bytes);
    return at;
}

/* The first copy for a peer makes it a reader. */
static void count_for(struct rcx_shm_channel *p)
{
    struct rcx_cico *s = &p->lane->cico;

    if (p->cico_sent == 0) {
        p->next_reader = s->readers;
        s->readers = p;
    }
    p->cico_marks[s->part] = ++p->cico_sent;
}

bool rcx_cico_tell(struct rcx_shm_channel *p, uint64_t tag, size_t at,
                   size_t bytes)
{
    struct rcx_shm_slot *slot = p->starting ? NULL : rcx_shm_next_slot(p);
    const uint64_t offset = at;

    if (!slot)
        return false;
    count_for(p);
    memcpy(slot->data, &offset, sizeof offset);
    rcx_shm_publish(p, slot, tag, RCX_SLOT_CICO, bytes);
    return true;
}

/* The copy is in the segment that is mapped for messages to the peer. */
const unsigned char *rcx_cico_find(struct rcx_shm_channel *p, size_t at)
{
    if (!p->out && !p->lane->reach(p->lane, p->peer))
        return NULL;
    return p->cico_in + at;
}

void rcx_cico_return(struct rcx_shm_channel *p)
{
    if (p->out)
        atomic_store_explicit(&p->out->cico_read,
                              rcx_shm_free_end(p, RCX_HELD_CICO),
                              memory_order_release);
}

void rcx_cico_note_read(struct rcx_shm_channel *p)
{
    p->cico_taken++;
    rcx_cico_return(p);
}
