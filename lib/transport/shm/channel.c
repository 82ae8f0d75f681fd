/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Shared-memory channel: matching of messages with receives. fifo.c has the
 * queues, rndv.c the long messages.
 */
#include "transport/shm/channel.h"

#include "core/base/relax.h"
#include "transport/shm/fifo.h"
#include "transport/shm/hold.h"
#include "transport/shm/mapped.h"
#include "transport/shm/rndv.h"
#include "transport/shm/way.h"

struct rcx_unexpected {
    struct rcx_unexpected *next;
    struct rcx_shm_header arrival;
    _Alignas(16) unsigned char data[]; /* of any type */
};

/* Bytes of a ring that are used first. */
enum { WINDOW = 64 << 10 };

static struct rcx_ring ring_at(const struct rcx_shm_lane *lane,
                               unsigned char *bytes)
{
    const size_t size = lane->settings.ring;

    return (struct rcx_ring){
        .bytes = bytes, .size = size, .window = size < WINDOW ? size : WINDOW};
}

void rcx_shm_channel_open(struct rcx_shm_channel *p, struct rcx_shm_lane *lane,
                          int peer, pid_t pid, struct rcx_shm_fifo *in,
                          bool sleeps)
{
    *p = (struct rcx_shm_channel){
        .lane = lane, .peer = peer, .pid = pid, .in = in, .sleeps = sleeps};
    p->posted_end = &p->posted;
    p->unexpected_end = &p->unexpected;
    p->starting_end = &p->starting;
    for (int i = 0; i < RCX_HELD_PLACES; i++)
        p->holds[i].end = &p->holds[i].first;
    p->ring_in = ring_at(lane, in->ring);
}

void rcx_shm_channel_connect(struct rcx_shm_channel *p,
                             struct rcx_shm_fifo *out, _Atomic uint32_t *asleep,
                             const unsigned char *cico)
{
    p->out = out;
    p->cico_in = cico;
    p->asleep = asleep;
    p->sent_room = RCX_SHM_SLOTS;
    p->ring_out = ring_at(p->lane, out->ring);
    p->ring_out.known = p->ring_out.size;
}

void rcx_shm_channel_close(struct rcx_shm_channel *p)
{
    while (p->unexpected) {
        struct rcx_unexpected *e = p->unexpected;

        p->unexpected = e->next;
        rcx_heap_free(p->lane->heap, e);
    }
    if (p->ways)
        rcx_heap_free(p->lane->heap, p->ways);
    rcx_mapping_close_all(p);
}

/* Whether the sender is done once the message is in a slot or the ring. */
static inline bool is_eager(const struct rcx_shm_channel *p, const void *buffer,
                            size_t bytes)
{
    return bytes <= rcx_shm_eager_most(p) &&
           !(bytes >= RCX_WAY_LEAST && rcx_way_is_read(p, bytes)) &&
           !rcx_region_of(p->lane, buffer, bytes);
}

static inline bool start_short(struct rcx_shm_channel *p, uint64_t tag,
                               enum rcx_shm_slot_kind kind, const void *buffer,
                               size_t bytes)
{
    struct rcx_shm_slot *slot = rcx_shm_next_slot(p);

    if (!slot)
        return false;
    rcx_copy_short(slot->data, buffer, bytes);
    rcx_shm_publish(p, slot, tag, kind, bytes);
    return true;
}

static bool start(struct rcx_shm_channel *p, const void *buffer, size_t bytes,
                  uint64_t tag)
{
    return bytes > RCX_SLOT_BYTES
               ? rcx_shm_put(p, tag, RCX_SLOT_WHOLE, buffer, bytes, NULL)
               : start_short(p, tag, RCX_SLOT_SHORT, buffer, bytes);
}

rcx_status_t rcx_shm_send(struct rcx_shm_channel *p, const void *buffer,
                          size_t bytes, uint64_t tag, struct rcx_message *m)
{
    const bool is_short = is_eager(p, buffer, bytes);

    if (!p->starting && is_short && start(p, buffer, bytes, tag))
        return RCX_OK;
    rcx_message_set_match(m, (void *)buffer, bytes, tag, 0);
    rcx_shm_msg(m)->channel = p;
    m->handle = NULL;
    if (p->starting || is_short || !rcx_rndv_send_start(p, m))
        rcx_message_append(&p->starting_end, m);
    return RCX_IN_PROGRESS;
}

bool rcx_shm_send_ctrl(struct rcx_shm_channel *p, const void *note,
                       size_t bytes)
{
    if (bytes > rcx_shm_eager_most(p) || p->starting)
        return false;
    return bytes > RCX_SLOT_BYTES
               ? rcx_shm_put(p, 0, RCX_SLOT_CTRL_LONG, note, bytes, NULL)
               : start_short(p, 0, RCX_SLOT_CTRL, note, bytes);
}

/* ---- Sends that waited for room ------------------------------------------ */

static unsigned start_waiting(struct rcx_shm_channel *p)
{
    unsigned events = 0;

    while (p->starting) {
        struct rcx_message *m = p->starting;
        const bool is_long =
            !is_eager(p, rcx_shm_msg(m)->buffer, rcx_shm_msg(m)->room);
        struct rcx_message *const next = m->next;

        if (!(is_long ? rcx_rndv_send_start(p, m)
                      : start(p, rcx_shm_msg(m)->buffer, rcx_shm_msg(m)->room,
                              rcx_shm_msg(m)->key)))
            break;
        p->starting = next;
        if (!next)
            p->starting_end = &p->starting;
        if (!is_long)
            rcx_shm_complete(p, m, RCX_OK);
        events++;
    }
    return events;
}

bool rcx_shm_is_flushed(const struct rcx_shm_channel *p)
{
    const struct rcx_message *m = p->streaming;

    while (m && !rcx_shm_msg(m)->may_go_on)
        m = m->next;
    return !m && !p->starting && p->released_count == 0;
}

/* ---- Receiving ----------------------------------------------------------- */

/* When a long message began to take this rank's time and its sender's, in
 * ticks. */
static inline uint64_t begun_at(const struct rcx_shm_channel *p,
                                const struct rcx_shm_header *a)
{
    const uint64_t now =
        a->kind == RCX_SLOT_CICO ? 0 : rcx_way_clock(p, a->bytes);

    return now > 0 ? now - a->spent : 0;
}

static rcx_status_t deliver(struct rcx_shm_channel *p, struct rcx_message *m,
                            const struct rcx_shm_header *a)
{
    if (rcx_shm_hold_mapped(p, m, a))
        return RCX_OK;
    m->bytes = a->bytes;
    if (rcx_shm_msg(m)->tells_tag)
        m->tag = a->tag;
    if (!a->data) /* the peer's copy cannot be mapped */
        return RCX_ERR_TRANSPORT;
    rcx_shm_msg(m)->at = rcx_shm_msg(m)->taken = 0;
    rcx_shm_msg(m)->begun_at = begun_at(p, a);
    rcx_shm_msg(m)->is_request = false;
    rcx_message_offer_to_sink(m);
    if (a->bytes > a->part)
        rcx_rndv_recv_start(p, m, a);
    rcx_message_store(m, a->data, a->part);
    if (rcx_shm_msg(m)->at < m->bytes)
        return RCX_IN_PROGRESS;
    rcx_way_note_message(p, m);
    return rcx_message_recv_status(m);
}

static struct rcx_message **find(struct rcx_message **link, uint64_t tag)
{
    while (*link &&
           ((rcx_shm_msg(*link)->key ^ tag) & rcx_shm_msg(*link)->mask) != 0)
        link = &(*link)->next;
    return link;
}

/* The oldest receive that matches; NULL: none. */
static struct rcx_message *claim(struct rcx_shm_channel *p, uint64_t tag)
{
    struct rcx_shm_lane *lane = p->lane;
    struct rcx_message **mine = find(&p->posted, tag), *m = *mine;

    if (__builtin_expect(lane->any != NULL, 0)) {
        struct rcx_message **any = find(&lane->any, tag);

        if (*any && (!m || rcx_shm_msg(*any)->order < rcx_shm_msg(m)->order)) {
            m = *any;
            rcx_message_unlink(&lane->any_end, any);
            return m;
        }
    }
    if (m)
        rcx_message_unlink(&p->posted_end, mine);
    return m;
}

/* Keep an unexpected message. False: no memory, and it stays in the FIFO. */
static bool keep(struct rcx_shm_channel *p, const struct rcx_shm_header *a)
{
    struct rcx_unexpected *e =
        rcx_heap_alloc(p->lane->heap, sizeof *e + a->part);

    if (!e)
        return false;
    e->next = NULL;
    e->arrival = *a;
    e->arrival.data = a->data ? e->data : NULL;
    if (a->data)
        rcx_copy_short(e->data, a->data, a->part);
    *p->unexpected_end = e;
    p->unexpected_end = &e->next;
    return true;
}

static inline bool take_short(struct rcx_shm_channel *p, struct rcx_message *m)
{
    const size_t most = rcx_shm_msg(m)->room < RCX_SLOT_BYTES
                            ? rcx_shm_msg(m)->room
                            : RCX_SLOT_BYTES;

    return rcx_shm_take_short(p, rcx_shm_msg(m)->buffer, most,
                              rcx_shm_msg(m)->key, rcx_shm_msg(m)->mask,
                              rcx_shm_msg(m)->tells_tag, m);
}

/* Take the next message from the FIFO. False: not possible now. */
static bool take(struct rcx_shm_channel *p)
{
    const struct rcx_shm_header a = rcx_shm_peek(p);
    struct rcx_message *m;
    rcx_status_t status;

    if (a.kind == RCX_SLOT_REST || a.kind == RCX_SLOT_VOID) {
        rcx_rndv_recv_part(p, &a);
    } else if (a.kind == RCX_SLOT_RTR || a.kind == RCX_SLOT_ATS) {
        rcx_rndv_send_answered(p, a.number, a.kind == RCX_SLOT_ATS);
    } else if (a.kind == RCX_SLOT_REGION) {
        rcx_mapping_open(p, &a);
    } else if (a.kind == RCX_SLOT_GONE) {
        rcx_mapping_close(p, a.number);
    } else if (a.kind == RCX_SLOT_CTRL || a.kind == RCX_SLOT_CTRL_LONG) {
        rcx_ctrl_queue_push(p->lane->transport, p->lane->heap, a.data, a.part);
    } else if ((m = claim(p, a.tag))) {
        status = rcx_shm_hold(p, m, &a) ? RCX_OK : deliver(p, m, &a);
        if (status != RCX_IN_PROGRESS)
            rcx_shm_complete(p, m, status);
    } else if (!keep(p, &a)) {
        return false;
    }
    rcx_shm_free_bytes(p, &a);
    return true;
}

/* Whether an operation waits for messages that may be behind the next one. */
static inline bool is_awaited(const struct rcx_shm_channel *p)
{
    return p->posted || p->streaming || p->begun || p->lane->any;
}

/* A message without a receive stays in the FIFO, unless all is set. */
static inline unsigned take_all(struct rcx_shm_channel *p, bool all)
{
    unsigned events = 0;

    for (;; events++) {
        struct rcx_message *m = p->posted;

        if (m && take_short(p, m)) {
            rcx_message_unlink(&p->posted_end, &p->posted);
            rcx_shm_complete(p, m, RCX_OK);
        } else if (!rcx_shm_has_message(p) || !(all || is_awaited(p)) ||
                   !take(p)) {
            return events;
        }
    }
}

unsigned rcx_shm_progress(struct rcx_shm_channel *p, bool all)
{
    unsigned events = take_all(p, all);

    if (p->lane->gone)
        rcx_region_announce_gone(p);
    if (p->mapped_count > 0)
        events += rcx_shm_mapped_progress(p, all);
    if (p->answers_due)
        events += rcx_rndv_recv_progress(p);
    if (p->starting)
        events += start_waiting(p);
    if (p->streaming)
        events += rcx_rndv_send_progress(p);
    return events;
}

/* The oldest unexpected message that matches. */
static struct rcx_unexpected *const *
find_unexpected(const struct rcx_shm_channel *p, uint64_t tag, uint64_t mask)
{
    struct rcx_unexpected *const *link = &p->unexpected;

    while (*link && (((*link)->arrival.tag ^ tag) & mask) != 0)
        link = &(*link)->next;
    return link;
}

rcx_status_t rcx_shm_match(struct rcx_shm_channel *p, struct rcx_message *m)
{
    struct rcx_unexpected **link = (struct rcx_unexpected **)find_unexpected(
        p, rcx_shm_msg(m)->key, rcx_shm_msg(m)->mask);
    struct rcx_unexpected *e = *link;
    rcx_status_t status;

    if (!e)
        return RCX_ERR_ARG;
    *link = e->next;
    if (p->unexpected_end == &e->next)
        p->unexpected_end = link;
    status = deliver(p, m, &e->arrival);
    rcx_heap_free(p->lane->heap, e);
    return status;
}

/* Receive the next message of the FIFO if it is whole and for m; else
 * RCX_IN_PROGRESS. */
static rcx_status_t take_whole(struct rcx_shm_channel *p, struct rcx_message *m)
{
    const struct rcx_shm_header a = rcx_shm_peek(p);
    rcx_status_t status;

    if (a.kind > RCX_SLOT_CICO ||
        ((a.tag ^ rcx_shm_msg(m)->key) & rcx_shm_msg(m)->mask) != 0)
        return RCX_IN_PROGRESS;
    status = rcx_shm_hold(p, m, &a) ? RCX_OK : deliver(p, m, &a);
    rcx_shm_free_bytes(p, &a);
    return status;
}

/* Out of line, so that a message that is there already does not pay for it. */
__attribute__((noinline)) static rcx_status_t post(struct rcx_shm_channel *p,
                                                   struct rcx_message *m)
{
    rcx_status_t status = RCX_ERR_ARG;

    rcx_shm_msg(m)->channel = p;
    rcx_shm_msg(m)->order = p->lane->posts++;
    if (p->unexpected)
        status = rcx_shm_match(p, m);
    if (status != RCX_ERR_ARG)
        return status;
    status = RCX_IN_PROGRESS;
    if (!p->posted && !p->lane->any && rcx_shm_has_message(p))
        status = take_whole(p, m);
    if (status == RCX_IN_PROGRESS)
        rcx_message_append(&p->posted_end, m);
    return status;
}

/* A message that is there already is received at once. */
rcx_status_t rcx_shm_recv(struct rcx_shm_channel *p, struct rcx_message *m)
{
    return !p->unexpected && !p->posted && take_short(p, m) ? RCX_OK
                                                            : post(p, m);
}

/* Only if m is the only operation in flight. If this rank has sent since it
 * last waited, it waits for an answer and pauses between polls. Otherwise it
 * follows a stream, and a pause would make it fall behind. */
rcx_status_t rcx_shm_expect(struct rcx_shm_channel *p, struct rcx_message *m,
                            unsigned *polls)
{
    const bool is_answer = p->sent != p->answered;
    rcx_status_t status;

    if (p->posted != m || p->lane->any || p->starting || p->streaming ||
        p->answers_due)
        return RCX_IN_PROGRESS;
    p->answered = p->sent;
    while (!rcx_shm_has_message(p)) {
        if (--*polls == 0)
            return RCX_IN_PROGRESS;
        if (is_answer)
            rcx_relax();
    }
    status = take_short(p, m) ? RCX_OK : take_whole(p, m);
    if (status != RCX_IN_PROGRESS)
        rcx_message_unlink(&p->posted_end, &p->posted);
    return status;
}

/* The peer may be reading the message. It learns of the cancel before the
 * caller changes the buffer. */
static void cancel_begun(struct rcx_shm_channel *p, struct rcx_message *m)
{
    rcx_shm_msg(m)->buffer = NULL;
    atomic_store(&p->out->valid_from, p->number);
    atomic_thread_fence(memory_order_seq_cst);
}

void rcx_shm_cancel(struct rcx_shm_channel *p, struct rcx_message *m)
{
    const bool is_send = rcx_shm_msg(m)->mask == 0;

    if (is_send ? rcx_message_remove(&p->starting, &p->starting_end, m)
                : rcx_message_remove(&p->posted, &p->posted_end, m))
        rcx_shm_complete(p, m, RCX_ERR_COMM_FAILED);
    else if (is_send)
        cancel_begun(p, m);
    else
        rcx_shm_msg(m)->room = 0;
}

void rcx_shm_withdraw(struct rcx_shm_channel *p, struct rcx_message *m)
{
    if (rcx_message_remove(&p->posted, &p->posted_end, m))
        rcx_shm_complete(p, m, RCX_ERR_CANCELED);
}

bool rcx_shm_probe(const struct rcx_shm_channel *p, uint64_t tag, uint64_t mask,
                   struct rcx_arrival *found_p)
{
    const struct rcx_unexpected *e = *find_unexpected(p, tag, mask);

    if (e)
        *found_p = (struct rcx_arrival){e->arrival.tag, e->arrival.bytes};
    return e;
}

/* A long message: its sender need not send the rest. */
static bool end_send(struct rcx_shm_channel *p, const struct rcx_shm_header *a)
{
    return p->has_ended || a->part == a->bytes ||
           rcx_shm_put_control(p, a->number, RCX_SLOT_ATS, NULL);
}

/* A message whose sender cannot be told for lack of room is kept. */
void rcx_shm_drop_unexpected(struct rcx_shm_channel *p, uint64_t tag,
                             uint64_t mask)
{
    struct rcx_unexpected **link =
        (struct rcx_unexpected **)find_unexpected(p, tag, mask);

    while (*link && end_send(p, &(*link)->arrival)) {
        struct rcx_unexpected *e = *link;

        *link = e->next;
        if (p->unexpected_end == &e->next)
            p->unexpected_end = link;
        rcx_heap_free(p->lane->heap, e);
        link = (struct rcx_unexpected **)find_unexpected(p, tag, mask);
    }
}

static void complete_all(struct rcx_shm_channel *p, struct rcx_message *m)
{
    while (m) {
        struct rcx_message *next = m->next;

        rcx_shm_complete(p, m, RCX_ERR_PEER_FAILED);
        m = next;
    }
}

void rcx_shm_peer_ended(struct rcx_shm_channel *p)
{
    struct rcx_message *starting, *streaming, *begun;

    rcx_shm_progress(p, true); /* what it has sent before */
    starting = p->starting;
    streaming = p->streaming;
    begun = p->begun;
    p->has_ended = true;
    p->starting = p->streaming = p->begun = NULL;
    p->starting_end = &p->starting;
    p->answers_due = 0;
    p->mapped_count -= p->released_count;
    p->released_count = 0;
    complete_all(p, starting);
    complete_all(p, streaming);
    complete_all(p, begun);
}
