/* SPDX-License-Identifier: BSD-3-Clause */
#include "transport/shm/channel.h"

#include "core/base/relax.h"
#include "transport/shm/fifo.h"
#include "transport/shm/mapped.h"
#include "transport/shm/rndv.h"

struct rcx_early {
    struct rcx_early *next;
    struct rcx_arrival arrival;
    _Alignas(16) unsigned char data[]; /* of any type */
};

void rcx_pair_open(struct rcx_pair *p, struct rcx_lane *lane, int peer,
                   pid_t pid, struct rcx_inbox *in, bool sleeps)
{
    *p = (struct rcx_pair){
        .lane = lane, .peer = peer, .pid = pid, .in = in, .sleeps = sleeps};
    p->posted_end = &p->posted;
    p->early_end = &p->early;
    p->starting_end = &p->starting;
    p->ring_in = (struct rcx_ring){.bytes = in->ring, .size = lane->ring};
}

void rcx_pair_connect(struct rcx_pair *p, struct rcx_inbox *out,
                      _Atomic uint32_t *asleep)
{
    p->out = out;
    p->asleep = asleep;
    p->sent_room = RCX_PAIR_SLOTS;
    p->ring_out = (struct rcx_ring){
        .bytes = out->ring, .size = p->lane->ring, .known = p->lane->ring};
}

void rcx_pair_close(struct rcx_pair *p)
{
    while (p->early) {
        struct rcx_early *e = p->early;

        p->early = e->next;
        rcx_heap_free(p->lane->heap, e);
    }
    rcx_mappings_close(p);
}

/* Its sender has done its part once it is in a slot or ring. */
static inline bool is_eager(const struct rcx_pair *p, const void *buffer,
                            size_t bytes)
{
    return bytes <= rcx_pair_eager(p) && !rcx_region_of(p->lane, buffer, bytes);
}

static inline bool start_short(struct rcx_pair *p, const void *buffer,
                               size_t bytes, uint64_t tag)
{
    struct rcx_slot *slot = rcx_pair_slot(p);

    if (!slot)
        return false;
    rcx_copy_short(slot->data, buffer, bytes);
    rcx_pair_publish(p, slot, tag, RCX_SLOT_SHORT, bytes);
    return true;
}

static bool start(struct rcx_pair *p, const void *buffer, size_t bytes,
                  uint64_t tag)
{
    return bytes > RCX_SLOT_BYTES
               ? rcx_pair_put(p, tag, RCX_SLOT_WHOLE, buffer, bytes, NULL)
               : start_short(p, buffer, bytes, tag);
}

rcx_status_t rcx_pair_send(struct rcx_pair *p, const void *buffer, size_t bytes,
                           uint64_t tag, struct rcx_message *m)
{
    const bool is_short = is_eager(p, buffer, bytes);

    if (!p->starting && is_short && start(p, buffer, bytes, tag))
        return RCX_OK;
    rcx_message_ask(m, (void *)buffer, bytes, tag, 0);
    m->pair = p;
    m->handle = NULL;
    if (p->starting || is_short || !rcx_long_start(p, m))
        rcx_message_append(&p->starting_end, m);
    return RCX_IN_PROGRESS;
}

/* ---- What waited for room --------------------------------------------------- */

static unsigned start_waiting(struct rcx_pair *p)
{
    unsigned events = 0;

    while (p->starting) {
        struct rcx_message *m = p->starting;
        const bool is_long = !is_eager(p, m->buffer, m->room);
        struct rcx_message *const next = m->next;

        if (!(is_long ? rcx_long_start(p, m)
                      : start(p, m->buffer, m->room, m->key)))
            break;
        p->starting = next;
        if (!next)
            p->starting_end = &p->starting;
        if (!is_long)
            rcx_pair_complete(p, m, RCX_OK);
        events++;
    }
    return events;
}

bool rcx_pair_is_flushed(const struct rcx_pair *p)
{
    const struct rcx_message *m = p->streaming;

    while (m && !m->may_go_on)
        m = m->next;
    return !m && !p->starting;
}

/* ---- Receiving --------------------------------------------------------------- */

static rcx_status_t deliver(struct rcx_pair *p, struct rcx_message *m,
                            const struct rcx_arrival *a)
{
    m->bytes = a->bytes;
    if (m->tells_tag)
        m->tag = a->tag;
    m->at = m->taken = 0;
    rcx_message_offer_to_sink(m);
    if (a->bytes > a->part)
        rcx_long_begin(p, m, a);
    rcx_message_store(m, a->data, a->part);
    return m->at < m->bytes ? RCX_IN_PROGRESS : rcx_message_verdict(m);
}

static struct rcx_message **find(struct rcx_message **link, uint64_t tag)
{
    while (*link && (((*link)->key ^ tag) & (*link)->mask) != 0)
        link = &(*link)->next;
    return link;
}

/* The oldest receive that it is for; NULL: there is none. */
static struct rcx_message *claim(struct rcx_pair *p, uint64_t tag)
{
    struct rcx_lane *lane = p->lane;
    struct rcx_message **mine = find(&p->posted, tag), *m = *mine;

    if (__builtin_expect(lane->any != NULL, 0)) {
        struct rcx_message **any = find(&lane->any, tag);

        if (*any && (!m || (*any)->order < m->order)) {
            m = *any;
            rcx_message_take_out(&lane->any_end, any);
            return m;
        }
    }
    if (m)
        rcx_message_take_out(&p->posted_end, mine);
    return m;
}

/* False: no memory; it stays where it is. */
static bool keep(struct rcx_pair *p, const struct rcx_arrival *a)
{
    struct rcx_early *e = rcx_heap_alloc(p->lane->heap, sizeof *e + a->part);

    if (!e)
        return false;
    e->next = NULL;
    e->arrival = *a;
    e->arrival.data = e->data;
    rcx_copy_short(e->data, a->data, a->part);
    *p->early_end = e;
    p->early_end = &e->next;
    return true;
}

static inline bool take_short(struct rcx_pair *p, struct rcx_message *m)
{
    const size_t most = m->room < RCX_SLOT_BYTES ? m->room : RCX_SLOT_BYTES;

    return rcx_pair_take_short(p, m->buffer, most, m->key, m->mask,
                               m->tells_tag, m);
}

/* What has come next; false: it cannot be taken now. */
static bool take(struct rcx_pair *p)
{
    const struct rcx_arrival a = rcx_pair_look(p);
    struct rcx_message *m;
    rcx_status_t status;

    if (a.kind == RCX_SLOT_REST) {
        rcx_long_continue(p, &a);
    } else if (a.kind == RCX_SLOT_GO_ON || a.kind == RCX_SLOT_TAKEN) {
        rcx_long_hear(p, a.number, a.kind == RCX_SLOT_TAKEN);
    } else if (a.kind == RCX_SLOT_REGION) {
        rcx_mapping_learn(p, &a);
    } else if (a.kind == RCX_SLOT_GONE) {
        rcx_mapping_forget(p, a.number);
    } else if ((m = claim(p, a.tag))) {
        status = deliver(p, m, &a);
        if (status != RCX_IN_PROGRESS)
            rcx_pair_complete(p, m, status);
    } else if (!keep(p, &a)) {
        return false;
    }
    rcx_pair_free(p, &a);
    return true;
}

/* Somebody waits for what may stand behind. */
static inline bool is_awaited(const struct rcx_pair *p)
{
    return p->posted || p->streaming || p->begun || p->lane->any;
}

/* What nobody asked for yet stays where it is, unless all is wanted. */
static inline unsigned take_all(struct rcx_pair *p, bool all)
{
    unsigned events = 0;

    for (;; events++) {
        struct rcx_message *m = p->posted;

        if (m && take_short(p, m)) {
            rcx_message_take_out(&p->posted_end, &p->posted);
            rcx_pair_complete(p, m, RCX_OK);
        } else if (!rcx_pair_has_come(p) || !(all || is_awaited(p)) ||
                   !take(p)) {
            return events;
        }
    }
}

unsigned rcx_pair_work(struct rcx_pair *p, bool all)
{
    unsigned events = take_all(p, all);

    if (p->lane->gone)
        rcx_region_tell_gone(p);
    if (p->owed)
        events += rcx_long_pay(p);
    if (p->starting)
        events += start_waiting(p);
    if (p->streaming)
        events += rcx_long_stream(p);
    return events;
}

/* The oldest early one whose tag is this where mask has ones. */
static struct rcx_early *const *find_early(const struct rcx_pair *p,
                                           uint64_t tag, uint64_t mask)
{
    struct rcx_early *const *link = &p->early;

    while (*link && (((*link)->arrival.tag ^ tag) & mask) != 0)
        link = &(*link)->next;
    return link;
}

rcx_status_t rcx_pair_find(struct rcx_pair *p, struct rcx_message *m)
{
    struct rcx_early **link =
        (struct rcx_early **)find_early(p, m->key, m->mask);
    struct rcx_early *e = *link;
    rcx_status_t status;

    if (!e)
        return RCX_ERR_ARG;
    *link = e->next;
    if (p->early_end == &e->next)
        p->early_end = link;
    status = deliver(p, m, &e->arrival);
    rcx_heap_free(p->lane->heap, e);
    return status;
}

/* The next one, where it is whole, and for m; RCX_IN_PROGRESS: it is not. */
static rcx_status_t take_whole(struct rcx_pair *p, struct rcx_message *m)
{
    const struct rcx_arrival a = rcx_pair_look(p);
    rcx_status_t status;

    if (a.kind > RCX_SLOT_WHOLE || ((a.tag ^ m->key) & m->mask) != 0)
        return RCX_IN_PROGRESS;
    status = deliver(p, m, &a);
    rcx_pair_free(p, &a);
    return status;
}

/* Out of line, so that what is there already does not pay for it. */
__attribute__((noinline)) static rcx_status_t post(struct rcx_pair *p,
                                                   struct rcx_message *m)
{
    rcx_status_t status = RCX_ERR_ARG;

    m->pair = p;
    m->order = p->lane->posts++;
    if (p->early)
        status = rcx_pair_find(p, m);
    if (status != RCX_ERR_ARG)
        return status;
    status = RCX_IN_PROGRESS;
    if (!p->posted && !p->lane->any && rcx_pair_has_come(p))
        status = take_whole(p, m);
    if (status == RCX_IN_PROGRESS)
        rcx_message_append(&p->posted_end, m);
    return status;
}

/* What is there already need not wait for a turn. */
rcx_status_t rcx_pair_recv(struct rcx_pair *p, struct rcx_message *m)
{
    return !p->early && !p->posted && take_short(p, m) ? RCX_OK : post(p, m);
}

/* Only where m is all that is under way. Who has sent something since it last
 * waited waits for an answer, and pauses; who has not is behind a stream, and
 * would fall out of step. */
rcx_status_t rcx_pair_expect(struct rcx_pair *p, struct rcx_message *m,
                             unsigned *polls)
{
    const bool is_answer = p->sent != p->answered;
    rcx_status_t status;

    if (p->posted != m || p->lane->any || p->starting || p->streaming ||
        p->owed)
        return RCX_IN_PROGRESS;
    p->answered = p->sent;
    while (!rcx_pair_has_come(p)) {
        if (--*polls == 0)
            return RCX_IN_PROGRESS;
        if (is_answer)
            rcx_relax();
    }
    status = take_short(p, m) ? RCX_OK : take_whole(p, m);
    if (status != RCX_IN_PROGRESS)
        rcx_message_take_out(&p->posted_end, &p->posted);
    return status;
}

void rcx_pair_cancel(struct rcx_pair *p, struct rcx_message *m)
{
    const bool is_send = m->mask == 0;

    if (is_send ? rcx_message_withdraw(&p->starting, &p->starting_end, m)
                : rcx_message_withdraw(&p->posted, &p->posted_end, m))
        rcx_pair_complete(p, m, RCX_ERR_COMM_FAILED);
    else if (is_send)
        m->buffer = NULL;
    else
        m->room = 0;
}

bool rcx_pair_probe(const struct rcx_pair *p, uint64_t tag, uint64_t mask,
                    uint64_t *found_p)
{
    const struct rcx_early *e = *find_early(p, tag, mask);

    if (e)
        *found_p = e->arrival.tag;
    return e;
}
