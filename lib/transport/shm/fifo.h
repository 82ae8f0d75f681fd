/* SPDX-License-Identifier: BSD-3-Clause */
/* What a pair's slots and ring hold, and who may write or read them when: the
 * inside of channel.h. */
#ifndef RCX_TRANSPORT_SHM_FIFO_H
#define RCX_TRANSPORT_SHM_FIFO_H

#include <string.h>

#include "core/base/relax.h"
#include "transport/shm/channel.h"

enum rcx_slot_kind {
    RCX_SLOT_SHORT, /* a message, in its slot */
    RCX_SLOT_WHOLE, /* one in the ring */
    RCX_SLOT_FIRST, /* the first part of a long one; the slot has its beginning */
    RCX_SLOT_REST,  /* a further part */
    RCX_SLOT_OFFER, /* a long message, to be read where it is; likewise */
    RCX_SLOT_TAKEN, /* that was done */
    RCX_SLOT_GO_ON, /* the receiver of a long one has a place for it */
    RCX_SLOT_REGION, /* in the ring: of the sender's, from which offers may come */
    RCX_SLOT_GONE    /* such a one, by its address, is no more */
};
/* TELLINGS: in so many parts the peer is told what is free again, of the ring and
 * of slots. */
enum {
    RCX_KIND_SHIFT = 28,
    RCX_CHUNK_MOST = 128 << 10,
    RCX_CHUNKS = 4, /* in a ring, at least */
    RCX_TELLINGS = 4,
    RCX_SLOT_TELLINGS = 2
};

struct rcx_beginning {
    uint64_t bytes;   /* of all */
    uint64_t number;  /* of the message, among the sender's long ones */
    uint64_t address; /* there */
};

/* What a slot says. */
struct rcx_arrival {
    enum rcx_slot_kind kind;
    uint64_t tag;
    size_t part;  /* bytes that are here */
    size_t bytes; /* of the message */
    uint64_t number;
    uint64_t address;
    const unsigned char *data;
};

void rcx_pair_wake(struct rcx_pair *p);
bool rcx_pair_find_slot(struct rcx_pair *p);

static inline void rcx_pair_store(struct rcx_pair *p, _Atomic uint64_t *to,
                                  uint64_t value)
{
    if (!p->sleeps) {
        atomic_store_explicit(to, value, memory_order_release);
        return;
    }
    atomic_store(to, value);
    rcx_pair_wake(p);
}

/* NULL: all are full. */
static inline struct rcx_slot *rcx_pair_slot(struct rcx_pair *p)
{
    if (__builtin_expect(p->sent == p->sent_room, 0) && !rcx_pair_find_slot(p))
        return NULL;
    return &p->out->slots[p->sent % RCX_PAIR_SLOTS];
}

/* What says that slot number slots, from the first message on, is full. */
static inline uint64_t rcx_slot_head(uint64_t slots, enum rcx_slot_kind kind,
                                     size_t part)
{
    return (uint64_t)rcx_pair_turn(slots) << 32 |
           (uint64_t)kind << RCX_KIND_SHIFT | part;
}

static inline void rcx_pair_publish(struct rcx_pair *p, struct rcx_slot *slot,
                                    uint64_t tag, enum rcx_slot_kind kind,
                                    size_t part)
{
    slot->tag = tag;
    rcx_pair_store(p, &slot->head, rcx_slot_head(p->sent++, kind, part));
}

/* The longest part. */
static inline size_t rcx_pair_chunk(const struct rcx_pair *p)
{
    const size_t most = p->lane->ring / RCX_CHUNKS;

    return most < RCX_CHUNK_MOST ? most : RCX_CHUNK_MOST;
}

/* What is longer is a long message. What is in a slot never is. */
static inline size_t rcx_pair_eager(const struct rcx_pair *p)
{
    const size_t chunk = rcx_pair_chunk(p), from = p->lane->read_from;

    if (from > chunk)
        return chunk;
    return from > RCX_SLOT_BYTES ? from - 1 : RCX_SLOT_BYTES;
}

/* Ends that overlap in the middle: no loop, no call. */
enum { RCX_TINY = 16 };
static inline void rcx_copy_tiny(unsigned char *to, const unsigned char *from,
                                 size_t bytes)
{
    if (bytes >= 8) {
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

/* The shortest, which most are in loops over scalars, take no call on their
 * way. False: it goes another way. */
static inline bool rcx_pair_send_tiny(struct rcx_pair *p, const void *buffer,
                                      size_t bytes, uint64_t tag)
{
    const uint64_t sent = p->sent;
    struct rcx_slot *slot;

    if (bytes > RCX_TINY || p->starting || p->sleeps || sent == p->sent_room)
        return false;
    slot = &p->out->slots[sent % RCX_PAIR_SLOTS];
    p->sent = sent + 1;
    slot->tag = tag;
    rcx_copy_tiny(slot->data, buffer, bytes);
    atomic_store_explicit(&slot->head,
                          rcx_slot_head(sent, RCX_SLOT_SHORT, bytes),
                          memory_order_release);
    return true;
}

/* A part in the ring; false: there is no room yet. */
bool rcx_pair_put(struct rcx_pair *p, uint64_t tag, enum rcx_slot_kind kind,
                  const void *buffer, size_t part,
                  const struct rcx_beginning *beginning);
/* A slot that has no part of a message; false: there is none now. */
bool rcx_pair_say(struct rcx_pair *p, uint64_t tag, enum rcx_slot_kind kind,
                  const struct rcx_beginning *beginning);
/* Its slot may be overwritten; who sends is told now and then. */
void rcx_pair_tell(struct rcx_pair *p);
static inline void rcx_pair_consume(struct rcx_pair *p)
{
    const bool is_due =
        ++p->taken - p->told >= RCX_PAIR_SLOTS / RCX_SLOT_TELLINGS;

    if (__builtin_expect(is_due, 0))
        rcx_pair_tell(p);
}

/* Whether what has come next is in its slot and for m, which then has it in
 * buffer, with room for as much as a slot has, or less. */
static inline bool rcx_pair_take_short(struct rcx_pair *p, void *buffer,
                                       size_t room, uint64_t key, uint64_t mask,
                                       bool tells_tag, struct rcx_message *m)
{
    const uint64_t taken = p->taken;
    const struct rcx_slot *slot = &p->in->slots[taken % RCX_PAIR_SLOTS];
    const uint64_t head = atomic_load(&slot->head);
    const uint32_t bytes = (uint32_t)head;

    if (head >> 32 != rcx_pair_turn(taken) || bytes > room ||
        ((slot->tag ^ key) & mask) != 0 || p->lane->any)
        return false;
    if (p->out) /* who gets something answers, often */
        rcx_fetch_to_write(&p->out->slots[p->sent % RCX_PAIR_SLOTS]);
    m->bytes = bytes;
    if (tells_tag)
        m->tag = slot->tag;
    rcx_copy_short(buffer, slot->data, bytes);
    rcx_pair_consume(p); /* and the sender may write there again */
    return true;
}

/* What has come next; and that it may be overwritten. */
struct rcx_arrival rcx_pair_look(const struct rcx_pair *p);
void rcx_pair_free(struct rcx_pair *p, const struct rcx_arrival *a);

static inline void rcx_pair_complete(struct rcx_pair *p, struct rcx_message *m,
                                     rcx_status_t status)
{
    rcx_message_complete(p->lane->transport, m, status);
}

#endif
