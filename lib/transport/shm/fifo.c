/* SPDX-License-Identifier: BSD-3-Clause */
#include "transport/shm/fifo.h"

/* UNIT: of the ring. Parts that are less far from each other are taken for a
 * stream that goes down, and fetched as such. */
enum { UNIT = 4 * RCX_LINE, FETCHED_AHEAD = 4 << 10 };

size_t rcx_inbox_bytes(const struct rcx_lane *lane)
{
    return sizeof(struct rcx_inbox) + lane->ring;
}

/*
 * The peer sleeps only if it found nothing new after it said so; so what is new
 * is stored before that is read, both in the order that is one for all. All ways
 * that this can go are looked at in tests/proof/lane_model.c.
 */
void rcx_pair_wake(struct rcx_pair *p)
{
    if (!p->asleep && !p->lane->reach(p->lane, p->peer))
        return;
    if (atomic_load(p->asleep) && atomic_exchange(p->asleep, 0))
        p->lane->wake(p->lane, p->peer);
}

/* Whether there is a slot now. */
bool rcx_pair_find_slot(struct rcx_pair *p)
{
    if (!p->out && !p->lane->reach(p->lane, p->peer))
        return false;
    p->sent_room = atomic_load(&p->out->slots_taken) + RCX_PAIR_SLOTS;
    return p->sent < p->sent_room;
}

/* Where a part begins that is not to wrap around; both sides find the same. */
static uint64_t begin_of(const struct rcx_ring *r, size_t bytes)
{
    const size_t left = r->size - (r->at & (r->size - 1));

    return bytes <= left ? r->at : r->at + left;
}

static size_t in_units(size_t bytes)
{
    return (bytes + UNIT - 1) & ~(size_t)(UNIT - 1);
}

static uint64_t end_of(const struct rcx_ring *r, size_t bytes)
{
    return begin_of(r, bytes) + in_units(bytes);
}

/* Of a part: its first byte is the lowest. */
static unsigned char *place_of(const struct rcx_ring *r, size_t bytes)
{
    const size_t at = begin_of(r, bytes) & (r->size - 1);

    return r->bytes + r->size - at - in_units(bytes);
}

/* Room for a part; NULL: not yet. */
static unsigned char *reserve(struct rcx_pair *p, size_t bytes)
{
    struct rcx_ring *r = &p->ring_out;
    const uint64_t end = end_of(r, bytes);
    unsigned char *place = place_of(r, bytes);

    if (end > r->known) {
        r->known = atomic_load(&p->out->taken) + r->size;
        if (end > r->known)
            return NULL;
    }
    r->at = end;
    return place;
}

/* What the next message of this length will take, while this one travels. Below
 * the ring are slots, which are this side's to write, too. */
static void fetch_next(const unsigned char *place, size_t bytes)
{
    for (size_t i = in_units(bytes); i > 0; i -= RCX_LINE)
        rcx_fetch_to_write(place - i);
}

bool rcx_pair_put(struct rcx_pair *p, uint64_t tag, enum rcx_slot_kind kind,
                  const void *buffer, size_t part,
                  const struct rcx_beginning *beginning)
{
    struct rcx_slot *slot = rcx_pair_slot(p);
    unsigned char *place = slot ? reserve(p, part) : NULL;

    if (!place)
        return false;
    if (buffer) /* else it is given up, and what comes is of no use */
        memcpy(place, buffer, part);
    if (beginning)
        memcpy(slot->data, beginning, sizeof *beginning);
    rcx_pair_publish(p, slot, tag, kind, part);
    if (part <= FETCHED_AHEAD)
        fetch_next(place, part);
    return true;
}

bool rcx_pair_say(struct rcx_pair *p, uint64_t tag, enum rcx_slot_kind kind,
                  const struct rcx_beginning *beginning)
{
    struct rcx_slot *slot = rcx_pair_slot(p);

    if (!slot)
        return false;
    if (beginning)
        memcpy(slot->data, beginning, sizeof *beginning);
    rcx_pair_publish(p, slot, tag, kind, 0);
    return true;
}

static bool is_in_ring(enum rcx_slot_kind kind)
{
    return kind == RCX_SLOT_WHOLE || kind == RCX_SLOT_FIRST ||
           kind == RCX_SLOT_REST || kind == RCX_SLOT_REGION;
}

struct rcx_arrival rcx_pair_look(const struct rcx_pair *p)
{
    const struct rcx_slot *slot = &p->in->slots[p->taken % RCX_PAIR_SLOTS];
    const uint64_t head =
        atomic_load_explicit(&slot->head, memory_order_relaxed);
    const size_t part = head & ((UINT64_C(1) << RCX_KIND_SHIFT) - 1);
    struct rcx_arrival a = {.kind = (head & UINT32_MAX) >> RCX_KIND_SHIFT,
                            .tag = slot->tag,
                            .part = part,
                            .bytes = part,
                            .number = slot->tag,
                            .data = slot->data};

    if (is_in_ring(a.kind))
        a.data = place_of(&p->ring_in, part);
    if (a.kind == RCX_SLOT_FIRST || a.kind == RCX_SLOT_OFFER) {
        struct rcx_beginning beginning;

        memcpy(&beginning, slot->data, sizeof beginning);
        a.bytes = beginning.bytes;
        a.number = beginning.number;
        a.address = a.kind == RCX_SLOT_OFFER ? beginning.address : 0;
    }
    return a;
}

/* The sender may write there again. */
static void free_part(struct rcx_pair *p, size_t part)
{
    struct rcx_ring *r = &p->ring_in;

    r->at = end_of(r, part);
    if (r->at - r->known < r->size / RCX_TELLINGS)
        return;
    r->known = r->at;
    rcx_pair_store(p, &p->in->taken, r->at);
}

void rcx_pair_tell(struct rcx_pair *p)
{
    p->told = p->taken;
    rcx_pair_store(p, &p->in->slots_taken, p->taken);
}

void rcx_pair_free(struct rcx_pair *p, const struct rcx_arrival *a)
{
    rcx_pair_consume(p);
    if (is_in_ring(a->kind))
        free_part(p, a->part);
}
