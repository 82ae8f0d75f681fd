/* SPDX-License-Identifier: BSD-3-Clause */
#include "sim/network.h"
#include "sim/bell.h"

#include <pthread.h>
#include <string.h>

#include "core/base/random.h"

enum { GARBAGE = 0xA5, FIRST_BUCKETS = 64, FIRST_CAPACITY = 64, SLAB = 256 };

/* One side of a message: a send or a receive. */
struct side {
    struct side *next; /* in its bucket, among arrived or free ones */
    bool is_send;
    int rank; /* the receiver, for both sides */
    int from; /* who called */
    uint64_t tag;
    char *buffer;
    size_t bytes;        /* of a receive that arrived: what came */
    rcx_status_t status; /* once arrived */
    struct rcx_message *message;
};

struct slab {
    struct slab *next;
    struct side sides[SLAB];
};

struct pair {
    struct side *send, *recv;
};

struct port {
    struct rcx_transport base;
    struct rcx_sim *sim;
    int rank;
    size_t unexpected;    /* unmatched sends to it */
    struct side *arrived; /* threaded: what others completed for it */
    struct side **arrived_end;
    struct rcx_transport letterbox; /* threaded: for others' notes */
    struct rcx_bell bell;
};

struct rcx_sim {
    struct rcx_heap *heap;
    int size;
    uint64_t random;
    struct port *ports;
    struct side **buckets; /* unmatched, oldest first */
    size_t bucket_count;   /* a power of two, no fewer than unmatched */
    size_t unmatched;
    struct side *free;
    struct slab *slabs;
    struct pair *pairs; /* matched, not delivered yet */
    size_t pair_count, pair_capacity;
    uint64_t delivered;
    struct rcx_sim_fault fault;
    uint64_t posted;
    bool threaded;
    pthread_mutex_t mutex; /* threaded: all of this */
};

static void lock(struct rcx_sim *sim)
{
    if (sim->threaded)
        pthread_mutex_lock(&sim->mutex);
}

static void unlock(struct rcx_sim *sim)
{
    if (sim->threaded)
        pthread_mutex_unlock(&sim->mutex);
}

static void recycle(struct rcx_sim *sim, struct side *side)
{
    side->next = sim->free;
    sim->free = side;
}

/* Its own rank's engine sees it. */
static void finish(struct rcx_sim *sim, struct side *side)
{
    if (!side->is_send)
        side->message->bytes = side->bytes;
    rcx_message_complete(&sim->ports[side->from].base, side->message,
                         side->status);
    recycle(sim, side);
}

/* No thread touches a message of another one's rank: that sees it in its next
 * progress. */
static void complete(struct rcx_sim *sim, struct side *side,
                     rcx_status_t status)
{
    struct port *port = &sim->ports[side->from];

    side->status = status;
    rcx_bell_ring(&port->bell);
    if (!sim->threaded) {
        finish(sim, side);
        return;
    }
    side->next = NULL;
    *port->arrived_end = side;
    port->arrived_end = &side->next;
}

static struct side **bucket_of(struct rcx_sim *sim, int rank, uint64_t tag)
{
    const uint64_t hash = /* of its upper half, the communicator, too */
        (tag ^ tag >> 29 ^ (uint64_t)rank << 40) * UINT64_C(0x9E3779B97F4A7C15);

    return &sim->buckets[(hash >> 24) & (sim->bucket_count - 1)];
}

static bool has_pair_room(struct rcx_sim *sim)
{
    if (sim->pair_count < sim->pair_capacity)
        return true;

    const size_t capacity =
        sim->pair_capacity ? 2 * sim->pair_capacity : FIRST_CAPACITY;
    struct pair *grown =
        rcx_heap_grow(sim->heap, sim->pairs, sim->pair_count * sizeof *grown,
                      capacity * sizeof *grown);

    if (!grown)
        return false;
    sim->pairs = grown;
    sim->pair_capacity = capacity;
    return true;
}

static struct side *new_side(struct rcx_sim *sim)
{
    struct side *side = sim->free;

    if (!side) {
        struct slab *slab = rcx_heap_alloc(sim->heap, sizeof *slab);

        if (!slab)
            return NULL;
        slab->next = sim->slabs;
        sim->slabs = slab;
        for (int i = 0; i < SLAB; i++) {
            slab->sides[i].next = side;
            side = &slab->sides[i];
        }
    }
    sim->free = side->next;
    return side;
}

/* At the end of its bucket, behind older ones with its tag. */
static void keep(struct rcx_sim *sim, struct side *side)
{
    struct side **link = bucket_of(sim, side->rank, side->tag);

    while (*link)
        link = &(*link)->next;
    *link = side;
    side->next = NULL;
}

/* Keep buckets short: an allgather posts p receives on p ranks at once. */
static bool has_bucket_room(struct rcx_sim *sim)
{
    struct side **old = sim->buckets;
    const size_t count = sim->bucket_count;

    if (sim->unmatched < count)
        return true;
    sim->bucket_count = count ? 4 * count : FIRST_BUCKETS;
    sim->buckets =
        rcx_heap_zalloc(sim->heap, sim->bucket_count * sizeof *sim->buckets);
    if (!sim->buckets) {
        sim->buckets = old;
        sim->bucket_count = count;
        return false;
    }
    for (size_t i = 0; i < count; i++) {
        while (old[i]) {
            struct side *side = old[i];

            old[i] = side->next;
            keep(sim, side);
        }
    }
    rcx_heap_free(sim->heap, old);
    return true;
}

/* Find the partner, the oldest with this tag, or wait for it. */
static rcx_status_t match(struct rcx_sim *sim, struct side side)
{
    struct side **link, *mine;

    if (!has_bucket_room(sim) || !has_pair_room(sim))
        return RCX_ERR_NOMEM;
    mine = new_side(sim);
    if (!mine)
        return RCX_ERR_NOMEM;
    *mine = side;
    link = bucket_of(sim, side.rank, side.tag);
    for (; *link; link = &(*link)->next) {
        struct side *other = *link;

        if (other->is_send == side.is_send || other->rank != side.rank ||
            other->tag != side.tag)
            continue;
        *link = other->next;
        rcx_bell_ring(&sim->ports[other->from].bell);
        sim->unmatched--;
        sim->ports[side.rank].unexpected -= other->is_send;
        sim->pairs[sim->pair_count++] = (struct pair){
            side.is_send ? mine : other, side.is_send ? other : mine};
        return RCX_IN_PROGRESS;
    }
    *link = mine;
    sim->unmatched++;
    sim->ports[side.rank].unexpected += side.is_send;
    return RCX_IN_PROGRESS;
}

static bool is_due(struct rcx_sim *sim, int rank)
{
    return rank == sim->fault.rank && sim->posted++ == sim->fault.after &&
           sim->fault.fails;
}

static rcx_status_t add(struct port *port, struct side side)
{
    struct rcx_sim *sim = port->sim;
    rcx_status_t status;

    lock(sim);
    status = is_due(sim, port->rank) ? RCX_ERR_TRANSPORT : match(sim, side);
    unlock(sim);
    return status;
}

static rcx_status_t sim_send(struct rcx_transport *t, int peer,
                             const void *buffer, size_t bytes, uint64_t tag,
                             struct rcx_message *m)
{
    struct port *port = (struct port *)t;

    return add(port, (struct side){.is_send = true,
                                   .rank = peer,
                                   .from = port->rank,
                                   .tag = tag,
                                   .buffer = (char *)buffer,
                                   .bytes = bytes,
                                   .message = m});
}

static rcx_status_t sim_recv(struct rcx_transport *t, int peer, void *buffer,
                             size_t bytes, uint64_t tag, struct rcx_message *m)
{
    struct port *port = (struct port *)t;

    (void)peer;
    memset(buffer, GARBAGE, bytes);
    return add(port, (struct side){.rank = port->rank,
                                   .from = port->rank,
                                   .tag = tag,
                                   .buffer = buffer,
                                   .bytes = bytes,
                                   .message = m});
}

/* One of the pairs; those of a slow rank wait a while for others to go first. */
static size_t choose(struct rcx_sim *sim)
{
    const size_t first = rcx_random(&sim->random) % sim->pair_count;

    for (size_t k = 0; k < sim->pair_count && sim->fault.delays > 0; k++) {
        const size_t i = (first + k) % sim->pair_count;

        if (sim->pairs[i].send->from != sim->fault.rank) {
            sim->fault.delays--;
            return i;
        }
    }
    return first;
}

bool rcx_sim_deliver(struct rcx_sim *sim, int ranks[2])
{
    if (sim->pair_count == 0)
        return false;

    const size_t i = choose(sim);
    const struct pair pair = sim->pairs[i];
    struct side *send = pair.send, *recv = pair.recv;
    const bool fits = send->bytes <= recv->bytes;

    sim->pairs[i] = sim->pairs[--sim->pair_count];
    if (fits && send->bytes > 0)
        memcpy(recv->buffer, send->buffer, send->bytes);
    recv->bytes = send->bytes;
    ranks[0] = send->from;
    ranks[1] = recv->from;
    complete(sim, send, RCX_OK);
    complete(sim, recv, fits ? RCX_OK : RCX_ERR_MISMATCH);
    sim->delivered++;
    return true;
}

/* How much it was. */
static unsigned take_arrived(struct port *port)
{
    unsigned events = 0;

    for (; port->letterbox.notes; events++) {
        struct rcx_note *note = port->letterbox.notes;

        port->letterbox.notes = note->next;
        note->next = port->base.notes;
        port->base.notes = note;
    }
    for (; port->arrived; events++) {
        struct side *side = port->arrived;

        port->arrived = side->next;
        finish(port->sim, side);
    }
    port->arrived_end = &port->arrived;
    return events;
}

/* A thread that moves others' messages alone has not got on itself. */
static unsigned sim_progress(struct rcx_transport *t)
{
    struct port *port = (struct port *)t;
    int ranks[2];
    unsigned events;

    lock(port->sim);
    events = rcx_sim_deliver(port->sim, ranks);
    if (port->sim->threaded)
        events = take_arrived(port);
    unlock(port->sim);
    return events;
}

static void sim_cancel(struct rcx_transport *t, struct rcx_message *m)
{
    struct port *port = (struct port *)t;
    struct rcx_sim *sim = port->sim;

    lock(sim);
    for (size_t i = 0; i < sim->bucket_count; i++) {
        for (struct side **link = &sim->buckets[i]; *link;
             link = &(*link)->next) {
            struct side *side = *link;

            if (side->is_send || side->from != port->rank || side->message != m)
                continue;
            *link = side->next;
            sim->unmatched--;
            side->bytes = 0;
            side->status = RCX_ERR_COMM_FAILED;
            finish(sim, side);
            unlock(sim);
            return;
        }
    }
    unlock(sim);
}

static bool sim_probe(struct rcx_transport *t, uint64_t tag, uint64_t mask,
                      uint64_t *found_p)
{
    struct port *port = (struct port *)t;
    struct rcx_sim *sim = port->sim;
    bool found = false;

    lock(sim);
    for (size_t i = 0; i < sim->bucket_count && !found && port->unexpected; i++)
        for (struct side *side = sim->buckets[i]; side && !found;
             side = side->next) {
            found = side->is_send && side->rank == port->rank &&
                    ((side->tag ^ tag) & mask) == 0;
            *found_p = side->tag;
        }
    unlock(sim);
    return found;
}

static void sim_notify(struct rcx_transport *t, int peer, const void *note,
                       size_t bytes)
{
    struct rcx_sim *sim = ((struct port *)t)->sim;
    struct port *port = &sim->ports[peer];

    lock(sim);
    rcx_note_put(sim->threaded ? &port->letterbox : &port->base, sim->heap,
                 note, bytes);
    rcx_bell_ring(&port->bell);
    unlock(sim);
}

static bool sim_take_note(struct rcx_transport *t, void *note, size_t bytes)
{
    struct rcx_sim *sim = ((struct port *)t)->sim;
    bool fits;

    lock(sim); /* its heap is everybody's */
    fits = rcx_note_take(t, sim->heap, note, bytes);
    unlock(sim);
    return fits;
}

static void sim_version(char *text, size_t bytes)
{
    strncpy(text, "sim", bytes);
}

static rcx_status_t sim_address(struct rcx_transport *t, const void **address_p,
                                size_t *bytes_p)
{
    (void)t;
    *address_p = NULL;
    *bytes_p = 0;
    return RCX_OK;
}

static rcx_status_t sim_flush(struct rcx_transport *t)
{
    (void)t;
    return RCX_OK;
}

static int sim_event_fd(struct rcx_transport *t)
{
    return rcx_bell_open(&((struct port *)t)->bell);
}

static rcx_status_t sim_arm(struct rcx_transport *t)
{
    struct port *port = (struct port *)t;
    bool is_quiet;

    lock(port->sim);
    is_quiet = !port->arrived && !port->letterbox.notes &&
               port->sim->pair_count == 0 && rcx_bell_arm(&port->bell);
    unlock(port->sim);
    return is_quiet ? RCX_OK : RCX_IN_PROGRESS;
}

static void sim_wake(struct rcx_transport *t)
{
    rcx_bell_wake(&((struct port *)t)->bell);
}

static void drop_unmatched(struct rcx_sim *sim, int rank)
{
    for (size_t i = 0; i < sim->bucket_count; i++) {
        struct side **link = &sim->buckets[i];

        while (*link) {
            struct side *side = *link;

            if (side->from != rank) {
                link = &side->next;
                continue;
            }
            *link = side->next;
            sim->unmatched--;
            sim->ports[side->rank].unexpected -= side->is_send;
            recycle(sim, side);
        }
    }
}

static void give_up(struct rcx_sim *sim, struct side *side, int rank)
{
    if (side->from == rank)
        recycle(sim, side);
    else
        complete(sim, side, RCX_ERR_TRANSPORT);
}

/* The rank's memory goes: its peers' messages with it have failed. */
static void sim_close(struct rcx_transport *t)
{
    struct port *port = (struct port *)t;
    struct rcx_sim *sim = port->sim;
    size_t kept = 0;

    lock(sim);
    drop_unmatched(sim, port->rank);
    for (size_t i = 0; i < sim->pair_count; i++) {
        struct side *send = sim->pairs[i].send, *recv = sim->pairs[i].recv;

        if (send->from != port->rank && recv->from != port->rank) {
            sim->pairs[kept++] = sim->pairs[i];
            continue;
        }
        give_up(sim, send, port->rank);
        give_up(sim, recv, port->rank);
    }
    sim->pair_count = kept;
    unlock(sim);
}

/* clang-format off */
static const struct rcx_transport_ops sim_ops = {
    .name = "sim", .version = sim_version, .address = sim_address,
    .send = sim_send, .recv = sim_recv, .progress = sim_progress,
    .cancel = sim_cancel, .probe = sim_probe, .notify = sim_notify,
    .take_note = sim_take_note, .event_fd = sim_event_fd, .arm = sim_arm,
    .wake = sim_wake, .flush = sim_flush, .close = sim_close,
};
/* clang-format on */

struct rcx_sim *rcx_sim_create(struct rcx_heap *heap, int size, uint64_t seed)
{
    struct rcx_sim *sim = rcx_heap_zalloc(heap, sizeof *sim);

    if (!sim)
        return NULL;
    sim->ports = rcx_heap_zalloc(heap, (size_t)size * sizeof *sim->ports);
    if (!sim->ports) {
        rcx_heap_free(heap, sim);
        return NULL;
    }
    sim->heap = heap;
    sim->size = size;
    sim->random = seed;
    sim->fault.rank = -1;
    pthread_mutex_init(&sim->mutex, NULL);
    for (int i = 0; i < size; i++) {
        sim->ports[i] = (struct port){.base.ops = &sim_ops,
                                      .sim = sim,
                                      .base.credit_bytes = 256,
                                      .rank = i,
                                      .bell.fd = -1};
        rcx_transport_reset_done(&sim->ports[i].base);
        sim->ports[i].arrived_end = &sim->ports[i].arrived;
    }
    return sim;
}

void rcx_sim_set_threaded(struct rcx_sim *sim)
{
    sim->threaded = true;
}

void rcx_sim_set_fault(struct rcx_sim *sim, const struct rcx_sim_fault *fault)
{
    sim->fault = *fault;
    sim->posted = 0;
}

static void free_notes(struct rcx_sim *sim, struct rcx_transport *t)
{
    while (t->notes)
        rcx_note_take(t, sim->heap, NULL, SIZE_MAX);
}

void rcx_sim_destroy(struct rcx_sim *sim)
{
    if (!sim)
        return;
    for (int i = 0; i < sim->size; i++) {
        free_notes(sim, &sim->ports[i].base);
        free_notes(sim, &sim->ports[i].letterbox);
        rcx_bell_close(&sim->ports[i].bell);
    }
    pthread_mutex_destroy(&sim->mutex);
    while (sim->slabs) {
        struct slab *next = sim->slabs->next;

        rcx_heap_free(sim->heap, sim->slabs);
        sim->slabs = next;
    }
    rcx_heap_free(sim->heap, sim->buckets);
    rcx_heap_free(sim->heap, sim->pairs);
    rcx_heap_free(sim->heap, sim->ports);
    rcx_heap_free(sim->heap, sim);
}

struct rcx_transport *rcx_sim_port(struct rcx_sim *sim, int rank)
{
    return &sim->ports[rank].base;
}

size_t rcx_sim_unmatched(const struct rcx_sim *sim)
{
    return sim->unmatched + sim->pair_count;
}

uint64_t rcx_sim_delivered(const struct rcx_sim *sim)
{
    return sim->delivered;
}
