/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Messages between two ranks of a node, through memory that both have mapped.
 * Each direction has an inbox in the receiver's window, which its one sender
 * writes: a ring of slots and a ring of bytes. A short message is in its slot, the
 * shortest in a line of it; a longer one is in the ring of bytes. What is longer
 * than a chunk is begun likewise, and goes on once the receiver has a place for
 * it: so what comes unexpected is never long.
 *
 * A slot is full when its turn has come: the sender stores that last, so that a
 * message is one store after the others, and no counter travels with it. What
 * the receiver has taken it tells a good part of a ring at a time.
 *
 * Who reads a line has others fetched by the hardware, which takes them away from
 * their writer: the second one of a pair, and those behind. So slots are pairs,
 * and the ring of bytes goes down: behind a message is one that was read before.
 * And slots are few: short calls go round them, through the innermost cache, which
 * has other things to hold.
 */
#ifndef RCX_TRANSPORT_SHM_CHANNEL_H
#define RCX_TRANSPORT_SHM_CHANNEL_H

#include <stdatomic.h>
#include <sys/types.h>

#include "core/iface/transport.h"
#include "transport/shm/addr_map.h"

enum { RCX_LINE = 64, RCX_LINES = 128, RCX_PAIR_SLOTS = 32 };
enum { RCX_SLOT_BYTES = RCX_LINES - 16 };

struct rcx_slot {
    /* turn << 32 | kind << RCX_KIND_SHIFT | bytes of the part that is here */
    _Alignas(RCX_LINES) _Atomic uint64_t head;
    uint64_t tag; /* or the number of a long message */
    unsigned char data[RCX_SLOT_BYTES];
};
_Static_assert(sizeof(struct rcx_slot) == RCX_LINES,
               "a slot is a pair of lines");

/* Zero at first. */
struct rcx_inbox {
    /* the receiver's to say: slots and bytes that are free again */
    _Alignas(RCX_LINE) _Atomic uint64_t slots_taken;
    _Atomic uint64_t taken;
    struct rcx_slot slots[RCX_PAIR_SLOTS];
    _Alignas(RCX_LINE) unsigned char ring[];
};

/* Messages of a rank's pairs have this in common. */
struct rcx_lane {
    struct rcx_transport *transport;
    struct rcx_heap *heap;
    size_t ring;        /* its bytes: a power of two */
    size_t read_from;   /* messages of so many bytes are read where they are, if
                         the kernel lets */
    size_t direct_from; /* messages of so many bytes are read where they are,
                           if they are in a region */
    struct rcx_areas regions; /* this rank's, that peers may map */
    struct rcx_region *gone;  /* withdrawn, and not everybody knows */
    int ranks;
    struct rcx_message *any, **any_end; /* receives from whoever sends first */
    uint64_t posts;                     /* of receives */
    bool (*reach)(struct rcx_lane *lane, int peer); /* which connects a pair */
    void (*wake)(struct rcx_lane *lane, int peer);
    /* A peer's region, by its key and its address there; NULL: it cannot be. */
    const void *(*map)(struct rcx_lane *lane, int peer, const void *key,
                       uint64_t base, void **handle_p);
    void (*unmap)(struct rcx_lane *lane, void *handle);
};

struct rcx_early;

/* One side of a ring. */
struct rcx_ring {
    unsigned char *bytes;
    size_t size;
    uint64_t at;    /* how far this side is */
    uint64_t known; /* sending: as far as there is room; receiving: what the
                       peer knows to be free */
};

struct rcx_pair {
    struct rcx_inbox *out;
    uint64_t sent;                /* slots */
    uint64_t sent_room;           /* as far as there are free ones */
    struct rcx_message *starting; /* sends that wait for room */
    bool sleeps;                  /* the peer does, at times */
    _Atomic uint32_t *asleep;     /* it says so; NULL: not connected yet */
    struct rcx_inbox *in;
    uint64_t taken;    /* slots */
    uint64_t answered; /* slots sent, when a message was last waited for */
    struct rcx_message *posted, **posted_end;
    struct rcx_early *early, **early_end; /* came before they were posted */
    struct rcx_lane *lane;
    struct rcx_message **starting_end;
    struct rcx_ring ring_out, ring_in;
    uint64_t told;                 /* slots that the peer knows to be free */
    struct rcx_message *streaming; /* long sends that have begun */
    struct rcx_message *begun;     /* long receives that have */
    unsigned owed;             /* of them, whose sender waits for an answer */
    struct rcx_areas mappings; /* of the peer's regions */
    uint64_t number;           /* of long sends */
    int peer;
    pid_t pid;      /* its process */
    bool is_active; /* among those that are looked at each time */
};

size_t rcx_inbox_bytes(const struct rcx_lane *lane);

/* It can only receive until it is connected. */
void rcx_pair_open(struct rcx_pair *p, struct rcx_lane *lane, int peer,
                   pid_t pid, struct rcx_inbox *in, bool sleeps);
void rcx_pair_connect(struct rcx_pair *p, struct rcx_inbox *out,
                      _Atomic uint32_t *asleep);
void rcx_pair_close(struct rcx_pair *p);

/* As a transport's; of recv, m->key and the like are set: see below. */
rcx_status_t rcx_pair_send(struct rcx_pair *p, const void *buffer, size_t bytes,
                           uint64_t tag, struct rcx_message *m);
rcx_status_t rcx_pair_recv(struct rcx_pair *p, struct rcx_message *m);
rcx_status_t rcx_pair_expect(struct rcx_pair *p, struct rcx_message *m,
                             unsigned *polls);
/* What has come that is asked for, or all, and what there is room for now; so
 * many events. */
unsigned rcx_pair_work(struct rcx_pair *p, bool all);
/* As a transport's. What has begun goes on, but leaves its buffer alone. */
void rcx_pair_cancel(struct rcx_pair *p, struct rcx_message *m);
/* Whether a message has come that nobody has asked for. */
bool rcx_pair_probe(const struct rcx_pair *p, uint64_t tag, uint64_t mask,
                    uint64_t *found_p);
/* A message that has come for m; RCX_ERR_ARG: none has. */
rcx_status_t rcx_pair_find(struct rcx_pair *p, struct rcx_message *m);

/* Whether all has left that can; a long message that nobody receives cannot. */
bool rcx_pair_is_flushed(const struct rcx_pair *p);

static inline uint32_t rcx_pair_turn(uint64_t slots)
{
    return (uint32_t)(slots / RCX_PAIR_SLOTS + 1);
}

/* seq_cst: see rcx_pair_wake(). */
static inline bool rcx_pair_has_come(const struct rcx_pair *p)
{
    const struct rcx_slot *slot = &p->in->slots[p->taken % RCX_PAIR_SLOTS];

    return atomic_load(&slot->head) >> 32 == rcx_pair_turn(p->taken);
}

/* Something is under way on it that the peer has its part in. */
static inline bool rcx_pair_is_busy(const struct rcx_pair *p)
{
    return p->posted || p->starting || p->streaming || p->begun;
}

static inline unsigned rcx_pair_poll(struct rcx_pair *p)
{
    return rcx_pair_has_come(p) || p->starting || p->streaming || p->owed
               ? rcx_pair_work(p, false)
               : 0;
}

/* A receive of so many bytes at most, whose tag is this where mask has ones; a
 * send has no mask. */
static inline void rcx_message_ask(struct rcx_message *m, void *buffer,
                                   size_t bytes, uint64_t tag, uint64_t mask)
{
    m->buffer = buffer;
    m->room = bytes;
    m->key = tag;
    m->mask = mask;
}

/* ---- Lists of messages ------------------------------------------------------ */

static inline void rcx_message_append(struct rcx_message ***end,
                                      struct rcx_message *m)
{
    m->next = NULL;
    **end = m;
    *end = &m->next;
}

/* What link points to. */
static inline void rcx_message_take_out(struct rcx_message ***end,
                                        struct rcx_message **link)
{
    struct rcx_message *m = *link;

    *link = m->next;
    if (*end == &m->next)
        *end = link;
}

/* False: m is not in the list. */
static inline bool rcx_message_withdraw(struct rcx_message **first,
                                        struct rcx_message ***end,
                                        const struct rcx_message *m)
{
    struct rcx_message **link = first;

    while (*link && *link != m)
        link = &(*link)->next;
    if (!*link)
        return false;
    rcx_message_take_out(end, link);
    return true;
}

#endif
