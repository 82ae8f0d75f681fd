/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The FIFOs of a channel: slots and ring of bytes.
 */
#include "transport/shm/fifo.h"

#include "transport/shm/cico.h"
#include "transport/shm/hold.h"
#include "transport/shm/way.h"

/* UNIT: allocation unit of the ring. FETCHED_AHEAD: parts closer together than
 * this are taken for a descending stream, and prefetched. LAPS: of a window
 * before it grows. SPENT_AT: in a slot, what the sender's copy took. */
enum {
    UNIT = 4 * RCX_LINE,
    FETCHED_AHEAD = 4 << 10,
    LAPS = 16,
    SPENT_AT = sizeof(struct rcx_rndv_header)
};

size_t rcx_shm_fifo_bytes(const struct rcx_shm_lane *lane)
{
    return sizeof(struct rcx_shm_fifo) + lane->settings.ring;
}

/*
 * The peer sleeps only if it finds nothing new after it has published that it
 * sleeps. So the message is stored before that flag is read, both in the single
 * total order. tests/proof/lane_model.c walks all interleavings.
 */
void rcx_shm_wake(struct rcx_shm_channel *p)
{
    if (!p->asleep && !p->lane->reach(p->lane, p->peer))
        return;
    if (atomic_load(p->asleep) && atomic_exchange(p->asleep, 0))
        p->lane->wake(p->lane, p->peer);
}

/* Whether there is a free slot now. */
bool rcx_shm_refresh_slots(struct rcx_shm_channel *p)
{
    if (!p->out && !p->lane->reach(p->lane, p->peer))
        return false;
    p->sent_room = atomic_load(&p->out->slots_taken) + RCX_SHM_SLOTS;
    return p->sent < p->sent_room;
}

static size_t in_units(size_t bytes)
{
    return (bytes + UNIT - 1) & ~(size_t)(UNIT - 1);
}

/* Bytes of the window behind this side. */
static size_t left_of(const struct rcx_ring *r)
{
    return r->window - (r->at & (r->size - 1));
}

/*
 * The ring as it is at the beginning of its next part, which must not wrap
 * around. It is used up to its window, and then from its beginning again. The
 * window grows when it has been used LAPS times, or for a part of which it
 * would hold too few. Memory is mapped when it is first used, at the price of a
 * copy of some pages, so that price is spread over as many uses, and ranks that
 * send little use little. Both sides see the same parts, so they compute the
 * same.
 */
static inline struct rcx_ring ring_for(const struct rcx_ring *before,
                                       size_t bytes)
{
    struct rcx_ring r = *before;

    while (__builtin_expect(r.window < r.size, 0) &&
           (bytes > r.window / RCX_SHM_CHUNKS ||
            (bytes > left_of(&r) && r.laps >= LAPS))) {
        r.window *= 2;
        r.laps = 0;
    }
    if (bytes > left_of(&r)) {
        r.at += left_of(&r) + (r.size - r.window);
        r.laps++;
    }
    return r;
}

/* Address of the first, lowest byte of a part that begins here. */
static unsigned char *place_of(const struct rcx_ring *r, size_t bytes)
{
    return r->bytes + r->size - (r->at & (r->size - 1)) - in_units(bytes);
}

/* Reserve room for a part. NULL: none yet. */
static unsigned char *reserve(struct rcx_shm_channel *p, size_t bytes)
{
    struct rcx_ring r = ring_for(&p->ring_out, bytes);
    unsigned char *place = place_of(&r, bytes);

    r.at += in_units(bytes);
    if (r.at > r.known) {
        r.known = atomic_load(&p->out->taken) + r.size;
        if (r.at > r.known)
            return NULL;
    }
    p->ring_out = r;
    return place;
}

/* Prefetch what the next message of this length will use. Below the ring are
 * slots, which this side writes as well. */
static void fetch_next(const unsigned char *place, size_t bytes)
{
    for (size_t i = in_units(bytes); i > 0; i -= RCX_LINE)
        rcx_fetch_to_write(place - i);
}

bool rcx_shm_put(struct rcx_shm_channel *p, uint64_t tag,
                 enum rcx_shm_slot_kind kind, const void *buffer, size_t part,
                 const struct rcx_rndv_header *beginning)
{
    struct rcx_shm_slot *slot = rcx_shm_next_slot(p);
    unsigned char *place = slot ? reserve(p, part) : NULL;
    uint64_t spent;

    if (!place)
        return false;
    spent = rcx_way_clock(p, part);
    memcpy(place, buffer, part);
    if (spent) {
        spent = rcx_ticks() - spent;
        memcpy(slot->data + SPENT_AT, &spent, sizeof spent);
    }
    if (beginning)
        memcpy(slot->data, beginning, sizeof *beginning);
    rcx_shm_publish(p, slot, tag, kind, part);
    if (part <= FETCHED_AHEAD)
        fetch_next(place, part);
    return true;
}

bool rcx_shm_put_control(struct rcx_shm_channel *p, uint64_t tag,
                         enum rcx_shm_slot_kind kind,
                         const struct rcx_rndv_header *beginning)
{
    struct rcx_shm_slot *slot = rcx_shm_next_slot(p);

    if (!slot)
        return false;
    if (beginning)
        memcpy(slot->data, beginning, sizeof *beginning);
    rcx_shm_publish(p, slot, tag, kind, 0);
    return true;
}

static bool is_in_ring(enum rcx_shm_slot_kind kind)
{
    return kind == RCX_SLOT_WHOLE || kind == RCX_SLOT_FIRST ||
           kind == RCX_SLOT_REST || kind == RCX_SLOT_REGION ||
           kind == RCX_SLOT_CTRL_LONG;
}

struct rcx_shm_header rcx_shm_peek(struct rcx_shm_channel *p)
{
    const struct rcx_shm_slot *slot = &p->in->slots[p->taken % RCX_SHM_SLOTS];
    const uint64_t head =
        atomic_load_explicit(&slot->head, memory_order_relaxed);
    const size_t part = head & ((UINT64_C(1) << RCX_KIND_SHIFT) - 1);
    struct rcx_shm_header a = {.kind = (head & UINT32_MAX) >> RCX_KIND_SHIFT,
                               .tag = slot->tag,
                               .part = part,
                               .bytes = part,
                               .number = slot->tag,
                               .data = slot->data};

    if (is_in_ring(a.kind)) {
        const struct rcx_ring r = ring_for(&p->ring_in, part);

        a.data = place_of(&r, part);
    }
    if (rcx_way_clock(p, part))
        memcpy(&a.spent, slot->data + SPENT_AT, sizeof a.spent);
    if (a.kind == RCX_SLOT_CICO) {
        uint64_t at;

        memcpy(&at, slot->data, sizeof at);
        a.data = rcx_cico_find(p, at);
    }
    if (a.kind == RCX_SLOT_FIRST || a.kind == RCX_SLOT_RTS) {
        struct rcx_rndv_header beginning;

        memcpy(&beginning, slot->data, sizeof beginning);
        a.bytes = beginning.bytes;
        a.number = beginning.number;
        a.address = a.kind == RCX_SLOT_RTS ? beginning.address : 0;
    }
    return a;
}

void rcx_shm_return_bytes(struct rcx_shm_channel *p)
{
    struct rcx_ring *r = &p->ring_in;
    uint64_t end;

    if (r->at - r->known < r->window / RCX_RING_RETURNS)
        return;
    while ((end = rcx_shm_free_end(p, RCX_HELD_RING)) +
               r->window / RCX_RING_HELD <=
           r->at)
        rcx_shm_end_hold(p);
    if (end == r->known)
        return;
    r->known = end;
    rcx_shm_store(p, &p->in->taken, end);
}

void rcx_shm_return_slots(struct rcx_shm_channel *p)
{
    p->told = p->taken;
    rcx_shm_store(p, &p->in->slots_taken, p->taken);
}

void rcx_shm_free_bytes(struct rcx_shm_channel *p,
                        const struct rcx_shm_header *a)
{
    rcx_shm_consume(p);
    if (a->kind == RCX_SLOT_CICO)
        rcx_cico_note_read(p);
    if (!is_in_ring(a->kind))
        return;
    p->ring_in = ring_for(&p->ring_in, a->part);
    p->ring_in.at += in_units(a->part);
    rcx_shm_return_bytes(p);
}
