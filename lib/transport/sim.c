/* SPDX-License-Identifier: BSD-3-Clause */
#include "transport/sim.h"

#include <string.h>

enum { GARBAGE = 0xA5, FIRST_BUCKETS = 64, FIRST_CAPACITY = 64, SLAB = 256 };

/* One side of a message: a send or a receive. */
struct side {
    struct side *next; /* in its bucket, or among the free ones */
    bool is_send;
    int rank; /* the receiver, for both sides */
    int from; /* who called */
    uint64_t tag;
    char *buffer;
    size_t bytes;
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
    size_t pair_count;
    size_t pair_capacity;
    uint64_t delivered;
};

/* splitmix64 */
static uint64_t draw(struct rcx_sim *sim)
{
    uint64_t z = sim->random += UINT64_C(0x9E3779B97F4A7C15);

    z = (z ^ z >> 30) * UINT64_C(0xBF58476D1CE4E5B9);
    z = (z ^ z >> 27) * UINT64_C(0x94D049BB133111EB);
    return z ^ z >> 31;
}

static struct side **bucket_of(struct rcx_sim *sim, int rank, uint64_t tag)
{
    const uint64_t hash =
        (tag ^ (uint64_t)rank << 40) * UINT64_C(0x9E3779B97F4A7C15);

    return &sim->buckets[(hash >> 24) & (sim->bucket_count - 1)];
}

static bool has_pair_room(struct rcx_sim *sim)
{
    if (sim->pair_count < sim->pair_capacity)
        return true;

    const size_t capacity =
        sim->pair_capacity ? 2 * sim->pair_capacity : FIRST_CAPACITY;
    struct pair *grown = rcx_heap_grow(
        sim->heap, sim->pairs, sim->pair_count * sizeof *grown,
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
    sim->buckets = rcx_heap_zalloc(
        sim->heap, sim->bucket_count * sizeof *sim->buckets);
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
static rcx_status_t add(struct port *port, struct side side)
{
    struct rcx_sim *sim = port->sim;
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
        sim->unmatched--;
        sim->pairs[sim->pair_count++] =
            (struct pair){side.is_send ? mine : other,
                          side.is_send ? other : mine};
        return RCX_IN_PROGRESS;
    }
    *link = mine;
    sim->unmatched++;
    return RCX_IN_PROGRESS;
}

static rcx_status_t sim_send(struct rcx_transport *t, int peer,
                             const void *buffer, size_t bytes, uint64_t tag,
                             struct rcx_message *m)
{
    struct port *port = (struct port *)t;

    return add(port, (struct side){.is_send = true, .rank = peer,
                                   .from = port->rank, .tag = tag,
                                   .buffer = (char *)buffer, .bytes = bytes,
                                   .message = m});
}

static rcx_status_t sim_recv(struct rcx_transport *t, int peer, void *buffer,
                             size_t bytes, uint64_t tag, struct rcx_message *m)
{
    struct port *port = (struct port *)t;

    (void)peer;
    memset(buffer, GARBAGE, bytes);
    return add(port, (struct side){.rank = port->rank, .from = port->rank,
                                   .tag = tag, .buffer = buffer, .bytes = bytes,
                                   .message = m});
}

static void recycle(struct rcx_sim *sim, struct side *side)
{
    side->next = sim->free;
    sim->free = side;
}

bool rcx_sim_deliver(struct rcx_sim *sim, int ranks[2])
{
    if (sim->pair_count == 0)
        return false;

    const size_t i = draw(sim) % sim->pair_count;
    const struct pair pair = sim->pairs[i];
    struct side *send = pair.send, *recv = pair.recv;
    const bool fits = send->bytes <= recv->bytes;

    sim->pairs[i] = sim->pairs[--sim->pair_count];
    if (fits && send->bytes > 0)
        memcpy(recv->buffer, send->buffer, send->bytes);
    recv->message->bytes = send->bytes;
    ranks[0] = send->from;
    ranks[1] = recv->from;
    rcx_message_complete(&sim->ports[send->from].base, send->message, RCX_OK);
    rcx_message_complete(&sim->ports[recv->from].base, recv->message,
                         fits ? RCX_OK : RCX_ERR_MISMATCH);
    sim->delivered++;
    recycle(sim, send);
    recycle(sim, recv);
    return true;
}

static unsigned sim_progress(struct rcx_transport *t)
{
    int ranks[2];

    return rcx_sim_deliver(((struct port *)t)->sim, ranks);
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

static void sim_nothing(struct rcx_transport *t)
{
    (void)t;
}

static const struct rcx_transport_ops sim_ops = {
    .name = "sim", .version = sim_version, .address = sim_address,
    .send = sim_send, .recv = sim_recv, .progress = sim_progress,
    .disconnect = sim_nothing, .close = sim_nothing,
};

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
    for (int i = 0; i < size; i++) {
        sim->ports[i] = (struct port){.base.ops = &sim_ops, .sim = sim,
                                      .rank = i};
        rcx_transport_reset_done(&sim->ports[i].base);
    }
    return sim;
}

void rcx_sim_destroy(struct rcx_sim *sim)
{
    if (!sim)
        return;
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
