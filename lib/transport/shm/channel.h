/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Channel between two ranks of a node, through memory that both have mapped.
 * Each direction has a FIFO in the receiver's segment, with one writer: a ring
 * of slots and a ring of bytes. A short message is in its slot, and the
 * shortest in the slot's first line. A longer message is in the ring of bytes.
 * A message longer than a chunk starts like one, and continues when the
 * receiver has posted a buffer, so unexpected messages are never long.
 *
 * A slot is full when it holds the current lap's number, which the sender
 * stores last: one store publishes a message, and no counter is shared. The
 * receiver returns slots and bytes in parts of a ring. It may hold a message in
 * the ring of bytes, and return no bytes from there on, as long as the sender
 * has room for further ones; see hold.c.
 *
 * The adjacent-line prefetcher takes lines away from their writer: the second
 * line of a pair, and the lines behind. So a slot spans two lines, and the ring
 * of bytes descends: behind a message lies one that has been read. Slots are
 * few, so that short calls use few lines of the innermost cache.
 */
#ifndef RCX_TRANSPORT_SHM_CHANNEL_H
#define RCX_TRANSPORT_SHM_CHANNEL_H

#include <stdatomic.h>
#include <sys/types.h>

#include "core/iface/shm_settings.h"
#include "core/iface/transport.h"
#include "transport/shm/addr_map.h"

enum { RCX_LINE = 64, RCX_LINES = 128, RCX_SHM_SLOTS = 32 };
enum { RCX_SLOT_BYTES = RCX_LINES - 16 };
enum { RCX_MAPPED_HELD = 8 }; /* messages of a channel, in mapped memory */

/* Where messages are held (hold.h): in the ring, in the copy buffer of their
 * sender, in its mapped memory. */
enum rcx_shm_hold {
    RCX_HELD_RING,
    RCX_HELD_CICO,
    RCX_HELD_MAPPED,
    RCX_HELD_PLACES
};
struct rcx_shm_holds {
    struct rcx_message *first, **end; /* oldest first */
};

struct rcx_shm_slot {
    /* lap << 32 | kind << RCX_KIND_SHIFT | bytes of the part that is here */
    _Alignas(RCX_LINES) _Atomic uint64_t head;
    uint64_t tag; /* or the number of a long message */
    unsigned char data[RCX_SLOT_BYTES];
};
_Static_assert(sizeof(struct rcx_shm_slot) == RCX_LINES,
               "a slot is a pair of lines");
_Static_assert((int)RCX_SLOT_BYTES == (int)RCX_SHM_SHORT &&
                   (int)RCX_PART_BYTES == (int)RCX_SHM_PART,
               "settings fit slots and sinks");

/* Initially zero. */
struct rcx_shm_fifo {
    /* written by the receiver: slots and bytes that it has returned */
    _Alignas(RCX_LINE) _Atomic uint64_t slots_taken;
    _Atomic uint64_t taken;
    _Atomic uint32_t wrong_guesses; /* classes of long messages that take the
                                       other way, one bit each: way.h */
    /* written by the sender: copies of the receiver that it has read; and the
     * number of its first long message after one that was cancelled */
    _Alignas(RCX_LINE) _Atomic uint64_t cico_read;
    _Atomic uint64_t valid_from;
    struct rcx_shm_slot slots[RCX_SHM_SLOTS];
    _Alignas(RCX_LINE) unsigned char ring[];
};

/* See cico.h. */
enum { RCX_CICO_PARTS = 4 };
struct rcx_cico {
    unsigned char *at; /* in the segment */
    size_t bytes;      /* 0: nothing is shared */
    unsigned part;     /* in use */
    size_t used;       /* bytes of it */
    struct rcx_shm_channel *readers;
};

/* What the channels of a rank share. */
struct rcx_shm_lane {
    struct rcx_transport *transport;
    struct rcx_heap *heap;
    struct rcx_shm_settings settings;
    size_t eager; /* longest message that is sent whole at once */
    struct rcx_addr_map regions; /* of this rank, that peers may map */
    struct rcx_region *gone;     /* withdrawn, and not all peers know */
    int ranks;
    bool searches_ways; /* of long messages: way.h */
    struct rcx_cico cico;
    struct rcx_message *any, **any_end; /* receives from any source */
    uint64_t posts;                     /* number of receives so far */
    bool (*reach)(struct rcx_shm_lane *lane, int peer); /* connects a channel */
    void (*wake)(struct rcx_shm_lane *lane, int peer);
    /* Map a peer's region, by its key and its address there. NULL: not
     * possible. */
    const void *(*map)(struct rcx_shm_lane *lane, int peer, const void *key,
                       uint64_t base, void **handle_p);
    void (*unmap)(struct rcx_shm_lane *lane, void *handle);
};

/* The state of a message, in struct rcx_message. */
struct rcx_shm_message {
    bool may_go_on;  /* the receiver of a long one has posted a buffer */
    bool tells_tag;  /* a receive by mask */
    bool is_request; /* of a long one: it was a request to send */
    uint8_t held_in; /* enum rcx_shm_hold */
    struct rcx_shm_channel *channel; /* that it waits in; NULL: none */
    char *buffer;
    size_t room;        /* of buffer */
    size_t at;          /* bytes done */
    size_t taken;       /* bytes that the sink has */
    uint64_t key, mask; /* matches tags that agree where mask has ones */
    union {
        uint64_t order;    /* among all receives */
        uint64_t begun_at; /* of a long one, in ticks; 0: it is not timed */
        uint64_t held_at;  /* of held data: its position in the ring, or how
                             many copies have been taken before it */
    };
    uint64_t address; /* where to read it, in the sender; 0: it is sent */
    struct rcx_message *next_held;
};
_Static_assert(sizeof(struct rcx_shm_message) <= RCX_MESSAGE_STATE,
               "a message has room for it");

static inline struct rcx_shm_message *rcx_shm_msg(const struct rcx_message *m)
{
    return (struct rcx_shm_message *)m->state;
}

struct rcx_unexpected;
struct rcx_way_searches;

/* One side of a ring of bytes. */
struct rcx_ring {
    unsigned char *bytes;
    size_t size;
    size_t window;  /* bytes from the beginning that are in use */
    unsigned laps;  /* of this window */
    uint64_t at;    /* position of this side */
    uint64_t known; /* sender: limit of free room; receiver: position the
                       peer knows of */
};

struct rcx_shm_channel {
    struct rcx_shm_fifo *out;
    uint64_t sent;                /* slots */
    uint64_t sent_room;           /* limit of free slots */
    struct rcx_message *starting; /* sends that wait for room */
    bool sleeps;                  /* the peer may sleep */
    _Atomic uint32_t *asleep;     /* whether it does; NULL: not connected yet */
    struct rcx_shm_fifo *in;
    uint64_t taken;    /* slots */
    uint64_t answered; /* slots sent when a message was last waited for */
    struct rcx_message *posted, **posted_end;
    struct rcx_unexpected *unexpected,
        **unexpected_end; /* arrived before their receives */
    struct rcx_shm_lane *lane;
    struct rcx_message **starting_end;
    struct rcx_ring ring_out, ring_in;
    uint64_t told; /* slots that have been returned */
    struct rcx_shm_holds holds[RCX_HELD_PLACES];
    uint64_t
        released[RCX_MAPPED_HELD]; /* numbers of the messages that have been
                                           in mapped memory, and whose senders
                                           have not been told yet */
    unsigned released_count;
    unsigned mapped_count;         /* of both */
    unsigned mapped_polls;         /* since a message was last held there */
    struct rcx_message *streaming; /* long sends in progress */
    struct rcx_message *begun;     /* long receives in progress */
    unsigned answers_due; /* long messages whose sender waits for an answer */
    struct rcx_way_searches *ways; /* of received messages; NULL: none yet */
    struct rcx_addr_map mappings;  /* of the peer's regions */
    uint64_t number;               /* of long sends */
    uint64_t cico_sent; /* copies for the peer in this rank's buffer so far, */
    uint64_t cico_marks[RCX_CICO_PARTS]; /* and up to the last in each part */
    struct rcx_shm_channel *next_reader;
    const unsigned char *cico_in; /* the peer's copy buffer */
    uint64_t cico_taken;          /* copies read there */
    int peer;
    pid_t pid;      /* of the peer */
    bool is_active; /* polled by each progress call */
    bool has_ended; /* the peer's process */
};

size_t rcx_shm_fifo_bytes(const struct rcx_shm_lane *lane);

/* A channel can only receive until it is connected. */
void rcx_shm_channel_open(struct rcx_shm_channel *p, struct rcx_shm_lane *lane,
                          int peer, pid_t pid, struct rcx_shm_fifo *in,
                          bool sleeps);
void rcx_shm_channel_connect(struct rcx_shm_channel *p,
                             struct rcx_shm_fifo *out, _Atomic uint32_t *asleep,
                             const unsigned char *cico);
void rcx_shm_channel_close(struct rcx_shm_channel *p);
/* The peer's process has ended: long messages that have begun, and sends that
 * wait for room, complete with RCX_ERR_PEER_FAILED. */
void rcx_shm_peer_ended(struct rcx_shm_channel *p);

/* As in struct rcx_transport_ops. For a receive, rcx_message_set_match() comes
 * first. */
rcx_status_t rcx_shm_send(struct rcx_shm_channel *p, const void *buffer,
                          size_t bytes, uint64_t tag, struct rcx_message *m);
rcx_status_t rcx_shm_recv(struct rcx_shm_channel *p, struct rcx_message *m);
rcx_status_t rcx_shm_expect(struct rcx_shm_channel *p, struct rcx_message *m,
                            unsigned *polls);
/* Take messages that are asked for, or all, and send as far as there is room.
 * Returns the number of events. */
unsigned rcx_shm_progress(struct rcx_shm_channel *p, bool all);
/* As in struct rcx_transport_ops. A message that has begun continues, without
 * its buffer; if it is a send, the receive fails with RCX_ERR_COMM_FAILED. */
void rcx_shm_cancel(struct rcx_shm_channel *p, struct rcx_message *m);
/* As in struct rcx_transport_ops; m is a receive of p. */
void rcx_shm_withdraw(struct rcx_shm_channel *p, struct rcx_message *m);
void rcx_shm_release(struct rcx_message *m);
/* Send a control message, if there is room now. It has a kind of slot of its
 * own, as messages may have any tag. */
bool rcx_shm_send_ctrl(struct rcx_shm_channel *p, const void *note,
                       size_t bytes);
/* Drop messages without a receive whose tags match; the senders of long ones
 * are told. */
void rcx_shm_drop_unexpected(struct rcx_shm_channel *p, uint64_t tag,
                             uint64_t mask);
/* Whether an unexpected message matches. */
bool rcx_shm_probe(const struct rcx_shm_channel *p, uint64_t tag, uint64_t mask,
                   struct rcx_arrival *found_p);
/* Receive an unexpected message into m. RCX_ERR_ARG: none matches. */
rcx_status_t rcx_shm_match(struct rcx_shm_channel *p, struct rcx_message *m);

/* Whether all has been sent that can be. A long message without a receive
 * cannot. */
bool rcx_shm_is_flushed(const struct rcx_shm_channel *p);

static inline uint32_t rcx_shm_lap(uint64_t slots)
{
    return (uint32_t)(slots / RCX_SHM_SLOTS + 1);
}

/* seq_cst: see rcx_shm_wake(). */
static inline bool rcx_shm_has_message(const struct rcx_shm_channel *p)
{
    const struct rcx_shm_slot *slot = &p->in->slots[p->taken % RCX_SHM_SLOTS];

    return atomic_load(&slot->head) >> 32 == rcx_shm_lap(p->taken);
}

/* Whether an operation of this rank waits for the peer. */
static inline bool rcx_shm_is_busy(const struct rcx_shm_channel *p)
{
    return p->posted || p->starting || p->streaming || p->begun ||
           p->mapped_count > 0;
}

static inline unsigned rcx_shm_poll(struct rcx_shm_channel *p)
{
    return rcx_shm_has_message(p) || p->starting || p->streaming ||
                   p->answers_due
               ? rcx_shm_progress(p, false)
               : 0;
}

/* What m receives: up to so many bytes, tags that agree with tag where mask has
 * ones. A send has no mask. */
static inline void rcx_message_set_match(struct rcx_message *m, void *buffer,
                                         size_t bytes, uint64_t tag,
                                         uint64_t mask)
{
    rcx_shm_msg(m)->buffer = buffer;
    rcx_shm_msg(m)->room = bytes;
    rcx_shm_msg(m)->key = tag;
    rcx_shm_msg(m)->mask = mask;
}

/* ---- Lists of messages --------------------------------------------------- */

static inline void rcx_message_append(struct rcx_message ***end,
                                      struct rcx_message *m)
{
    m->next = NULL;
    **end = m;
    *end = &m->next;
}

/* Remove the message that link points to. */
static inline void rcx_message_unlink(struct rcx_message ***end,
                                      struct rcx_message **link)
{
    struct rcx_message *m = *link;

    *link = m->next;
    if (*end == &m->next)
        *end = link;
}

/* False: m is not in the list. */
static inline bool rcx_message_remove(struct rcx_message **first,
                                      struct rcx_message ***end,
                                      const struct rcx_message *m)
{
    struct rcx_message **link = first;

    while (*link && *link != m)
        link = &(*link)->next;
    if (!*link)
        return false;
    rcx_message_unlink(end, link);
    return true;
}

#endif
