/* SPDX-License-Identifier: BSD-3-Clause */
/* The FIFO of a channel: kinds of slots, and how slots and ring are written and
 * read. Used within shm only. */
#ifndef RCX_TRANSPORT_SHM_FIFO_H
#define RCX_TRANSPORT_SHM_FIFO_H

#include <string.h>

#include "core/base/relax.h"
#include "transport/shm/channel.h"

enum rcx_shm_slot_kind {
    RCX_SLOT_SHORT, /* a message, in its slot */
    RCX_SLOT_WHOLE, /* a message, in the ring */
    RCX_SLOT_CICO,  /* a message, in the sender's copy buffer (cico.h) */
    RCX_SLOT_FIRST, /* first part of a long message, with a struct
                       rcx_rndv_header */
    RCX_SLOT_REST,  /* a further part */
    RCX_SLOT_VOID,  /* instead of it: the message was cancelled */
    RCX_SLOT_RTS, /* request to send: a long message that the receiver reads */
    RCX_SLOT_ATS, /* acknowledge to send: it has been read */
    RCX_SLOT_RTR, /* ready to receive: the receiver of a long message has a
                     buffer */
    RCX_SLOT_REGION,    /* in the ring: a region of the sender, that requests to
                        send may name */
    RCX_SLOT_GONE,      /* the region at this address does not exist any more */
    RCX_SLOT_CTRL,      /* a control message, in its slot */
    RCX_SLOT_CTRL_LONG, /* a control message, in the ring */
    RCX_SLOT_KINDS
};
/* RETURNS: in how many parts of the ring, and of the slots, free room is
 * returned. */
enum { RCX_KIND_SHIFT = 28, RCX_RING_RETURNS = 4, RCX_SLOT_RETURNS = 2 };
_Static_assert(RCX_SLOT_KINDS <= 1 << (32 - RCX_KIND_SHIFT),
               "the lower half of a head has room for the kind");

struct rcx_rndv_header {
    uint64_t bytes;   /* total */
    uint64_t number;  /* among the sender's long messages */
    uint64_t address; /* in the sender */
};

/* The content of a slot. */
struct rcx_shm_header {
    enum rcx_shm_slot_kind kind;
    uint64_t tag;
    size_t part;  /* bytes that are here */
    size_t bytes; /* of the message */
    uint64_t number;
    uint64_t address;
    uint64_t spent; /* ticks, by the sender's copy of a long part */
    const unsigned char *data;
};

void rcx_shm_wake(struct rcx_shm_channel *p);
bool rcx_shm_refresh_slots(struct rcx_shm_channel *p);

static inline void rcx_shm_store(struct rcx_shm_channel *p,
                                 _Atomic uint64_t *to, uint64_t value)
{
    if (!p->sleeps) {
        atomic_store_explicit(to, value, memory_order_release);
        return;
    }
    atomic_store(to, value);
    rcx_shm_wake(p);
}

/* NULL: all slots are full. */
static inline struct rcx_shm_slot *rcx_shm_next_slot(struct rcx_shm_channel *p)
{
    if (__builtin_expect(p->sent == p->sent_room, 0) &&
        !rcx_shm_refresh_slots(p))
        return NULL;
    return &p->out->slots[p->sent % RCX_SHM_SLOTS];
}

/* Whether what has been read of a long message, where it is, may have changed
 * before: it was cancelled, or one that began later. */
static inline bool rcx_shm_may_have_changed(const struct rcx_shm_channel *p,
                                            uint64_t number)
{
    atomic_thread_fence(memory_order_acquire);
    return number < atomic_load(&p->in->valid_from);
}

/* The head of a full slot: of the slots-th message, counted from the start. */
static inline uint64_t
rcx_shm_slot_head(uint64_t slots, enum rcx_shm_slot_kind kind, size_t part)
{
    return (uint64_t)rcx_shm_lap(slots) << 32 |
           (uint64_t)kind << RCX_KIND_SHIFT | part;
}

static inline void rcx_shm_publish(struct rcx_shm_channel *p,
                                   struct rcx_shm_slot *slot, uint64_t tag,
                                   enum rcx_shm_slot_kind kind, size_t part)
{
    slot->tag = tag;
    rcx_shm_store(p, &slot->head, rcx_shm_slot_head(p->sent++, kind, part));
}

/* Longer messages are long messages. A message that fits a slot never is. */
static inline size_t rcx_shm_eager_most(const struct rcx_shm_channel *p)
{
    return p->lane->eager;
}

/* Two copies that overlap in the middle: no loop, no call. */
enum { RCX_TINY = 32 };
static inline void rcx_copy_tiny(unsigned char *to, const unsigned char *from,
                                 size_t bytes)
{
    if (bytes > 16) {
        unsigned char first[16], last[16];

        memcpy(first, from, 16);
        memcpy(last, from + bytes - 16, 16);
        memcpy(to, first, 16);
        memcpy(to + bytes - 16, last, 16);
    } else if (bytes >= 8) {
        uint64_t first, last;

        memcpy(&first, from, 8);
        memcpy(&last, from + bytes - 8, 8);
        memcpy(to, &first, 8);
        memcpy(to + bytes - 8, &last, 8);
    } else if (bytes >= 4) {
        uint32_t first, last;

        memcpy(&first, from, 4);
        memcpy(&last, from + bytes - 4, 4);
        memcpy(to, &first, 4);
        memcpy(to + bytes - 4, &last, 4);
    } else if (bytes > 0) {
        to[0] = from[0];
        to[bytes / 2] = from[bytes / 2];
        to[bytes - 1] = from[bytes - 1];
    }
}

static inline void rcx_copy_short(void *to, const void *from, size_t bytes)
{
    if (bytes <= RCX_TINY)
        rcx_copy_tiny(to, from, bytes);
    else
        memcpy(to, from, bytes);
}

/* The shortest messages, frequent in loops over scalars, are sent without a
 * call. False: use rcx_shm_send(). */
static inline bool rcx_shm_send_tiny(struct rcx_shm_channel *p,
                                     const void *buffer, size_t bytes,
                                     uint64_t tag)
{
    const uint64_t sent = p->sent;
    struct rcx_shm_slot *slot;

    if (bytes > RCX_TINY || p->starting || p->sleeps || sent == p->sent_room)
        return false;
    slot = &p->out->slots[sent % RCX_SHM_SLOTS];
    p->sent = sent + 1;
    slot->tag = tag;
    rcx_copy_tiny(slot->data, buffer, bytes);
    atomic_store_explicit(&slot->head,
                          rcx_shm_slot_head(sent, RCX_SLOT_SHORT, bytes),
                          memory_order_release);
    return true;
}

/* Put a part into the ring. False: no room yet. */
bool rcx_shm_put(struct rcx_shm_channel *p, uint64_t tag,
                 enum rcx_shm_slot_kind kind, const void *buffer, size_t part,
                 const struct rcx_rndv_header *beginning);
/* Put a slot without a part of a message. False: no slot is free. */
bool rcx_shm_put_control(struct rcx_shm_channel *p, uint64_t tag,
                         enum rcx_shm_slot_kind kind,
                         const struct rcx_rndv_header *beginning);
/* Return consumed slots to the sender. */
void rcx_shm_return_slots(struct rcx_shm_channel *p);
/* Return bytes, if they are enough, up to the oldest held message. Holds that
 * would keep too many bytes end. */
void rcx_shm_return_bytes(struct rcx_shm_channel *p);
static inline void rcx_shm_consume(struct rcx_shm_channel *p)
{
    const bool is_due =
        ++p->taken - p->told >= RCX_SHM_SLOTS / RCX_SLOT_RETURNS;

    if (__builtin_expect(is_due, 0))
        rcx_shm_return_slots(p);
}

/* Receive the next message if it is in its slot, matches, and fits into room,
 * which is at most a slot's size. */
static inline bool rcx_shm_take_short(struct rcx_shm_channel *p, void *buffer,
                                      size_t room, uint64_t key, uint64_t mask,
                                      bool tells_tag, struct rcx_message *m)
{
    const uint64_t taken = p->taken;
    const struct rcx_shm_slot *slot = &p->in->slots[taken % RCX_SHM_SLOTS];
    const uint64_t head = atomic_load(&slot->head);
    const uint32_t bytes = (uint32_t)head;

    if (head >> 32 != rcx_shm_lap(taken) || bytes > room ||
        ((slot->tag ^ key) & mask) != 0 || p->lane->any)
        return false;
    if (p->out) /* an answer often follows */
        rcx_fetch_to_write(&p->out->slots[p->sent % RCX_SHM_SLOTS]);
    m->bytes = bytes;
    if (tells_tag)
        m->tag = slot->tag;
    rcx_copy_short(buffer, slot->data, bytes);
    rcx_shm_consume(p); /* the sender may overwrite the slot */
    return true;
}

/* The next message; and mark its slot and bytes as free. */
struct rcx_shm_header rcx_shm_peek(struct rcx_shm_channel *p);
void rcx_shm_free_bytes(struct rcx_shm_channel *p,
                        const struct rcx_shm_header *a);

static inline void rcx_shm_complete(struct rcx_shm_channel *p,
                                    struct rcx_message *m, rcx_status_t status)
{
    rcx_message_complete(p->lane->transport, m, status);
}

#endif
