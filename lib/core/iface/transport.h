/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the executor needs of a network: tagged messages and progress.
 * Implementations: lib/transport.
 */
#ifndef RCX_CORE_IFACE_TRANSPORT_H
#define RCX_CORE_IFACE_TRANSPORT_H

#include <stdatomic.h>
#include <stdbool.h>

#include "core/base/heap.h"
#include "core/base/log.h"

struct rcx_boot;
struct rcx_transport;
struct rcx_step;
struct rcx_message;

/*
 * Where the data of a receive may go instead of its buffer: a transport that has
 * it all, or parts of it in order, asks once, before the first, whether that is
 * so now; then all goes there. Parts but the last are multiples of
 * RCX_PART_BYTES.
 */
enum { RCX_PART_BYTES = 64 };
struct rcx_recv_sink {
    bool (*is_ready)(struct rcx_message *m);
    void (*take)(struct rcx_message *m, size_t at, const void *data,
                 size_t bytes);
};

/*
 * A message under way. The transport completes it by rcx_message_complete()
 * from inside progress, or by its return value; never both.
 */
enum { RCX_MESSAGE_STATE = 88 };
struct rcx_message {
    /* The executor's: */
    const struct rcx_step *step; /* that it is of, */
    uint8_t kind;                /* and what that says; in bytes */
    uint8_t dst, left, right;
    size_t dst_at, left_at, right_at;
    size_t due;
    bool holds_up_all; /* a receive, without which no other step starts */
    bool feeds_next;   /* its sink is the step behind it, in order */
    uint32_t waits;    /* steps to complete before this one starts */
    int peer;
    uint64_t tag; /* what the message has of its own in its tag; of a receive
                     by mask: all of what came */
    /* Both sides': */
    rcx_status_t status; /* RCX_IN_PROGRESS while under way */
    bool is_consumed;    /* all of it, by the sink; of what takes: it has */
    size_t bytes;        /* of a receive: what arrived */
    const struct rcx_recv_sink *sink; /* of a receive; NULL: none */
    void *owner;
    struct rcx_message *next;        /* in the list of completed ones */
    struct rcx_transport *transport; /* where it is under way */
    void *handle;                    /* the transport's own */
    _Alignas(8) char state[RCX_MESSAGE_STATE]; /* the transport's own */
};

/* Data of m has come, none of it is stored yet: whether its sink takes it all. */
static inline bool rcx_message_offer_to_sink(struct rcx_message *m)
{
    m->is_consumed = m->sink && m->sink->is_ready(m);
    return m->is_consumed;
}

/*
 * How far who only sends may get ahead of who receives, in bytes: what the
 * buffers of a socket take, since the last message must have left them for the
 * peer when the call returns. Where the network takes more than that, it says
 * so: a power of two.
 */
enum { RCX_AHEAD = 64 << 10, RCX_FULL_POLLS = 16 };

/* What one engine tells another outside of any collective. */
struct rcx_ctrl_frame {
    struct rcx_ctrl_frame *next;
    size_t bytes;
    unsigned char data[];
};

struct rcx_transport {
    const struct rcx_transport_ops *ops;
    struct rcx_message *done; /* completed, not yet taken by the engine */
    struct rcx_message **done_end;
    struct rcx_ctrl_frame *ctrl; /* that came, the oldest first */
    struct rcx_ctrl_frame **ctrl_end;
    unsigned ctrl_unsent; /* that are not sent yet */
    bool ctrl_lost;       /* one could not be sent, to whomever */
    bool leaks_on_close;  /* closed while peers on other nodes may be stopped */
    unsigned char *
        failed_peers; /* by rank: found failed_peers, or its connection failed; NULL:
                            none is watched */
    bool watches_peers;    /* and each that is found breaks communicators */
    unsigned failed_count; /* then: so many */
    int endpoints;         /* opened so far, to as many peers */
    char last_error
        [256];        /* what a send or recv failed of; "": it says nothing */
    size_t ack_bytes; /* of a message of so many or more, one side may be
                            complete while the other still needs its progress */
    /* Not 0: a note may have come; without progress nobody knows more. NULL: nor
       this; else a message to a peer that has left harms nobody. */
    const _Atomic uint32_t *doorbell;
    size_t ahead; /* bytes that who only sends may get ahead of who receives; 0:
                     RCX_AHEAD */
};

/* Take the oldest note off t's list; heap is the one that it was made from.
 * False: there was none, or one of another length. */
bool rcx_ctrl_queue_pop(struct rcx_transport *t, struct rcx_heap *heap,
                        void *note, size_t bytes);
/* Put one there; nothing where memory ran out. */
void rcx_ctrl_queue_push(struct rcx_transport *t, struct rcx_heap *heap,
                         const void *note, size_t bytes);

/* peer is found failed_peers, or its connection has failed; where failed_peers is there. */
void rcx_transport_peer_failed(struct rcx_transport *t, int peer);

static inline void rcx_transport_reset_done(struct rcx_transport *t)
{
    t->done = NULL;
    t->done_end = &t->done;
}

/* Make the lists of completed messages and of ctrl empty. */
static inline void rcx_transport_init(struct rcx_transport *t)
{
    rcx_transport_reset_done(t);
    t->ctrl = NULL;
    t->ctrl_end = &t->ctrl;
}

static inline void rcx_message_complete(struct rcx_transport *t,
                                        struct rcx_message *m,
                                        rcx_status_t status)
{
    m->status = status;
    m->next = NULL;
    *t->done_end = m;
    t->done_end = &m->next;
}

/* Ways between two ranks of a node. */
enum rcx_lanes {
    RCX_LANES_AUTO, /* mapped memory where that can be had */
    RCX_LANES_UCP,  /* UCX's messages alone */
    RCX_LANES_NODE  /* mapped memory, or it is an error */
};

struct rcx_transport_args {
    struct rcx_boot *boot;
    struct rcx_heap *heap;
    struct rcx_log *log;
    bool wakeup; /* event_fd, arm and wake will be used */
    bool watches_peers;
    enum rcx_lanes lanes;
};

struct rcx_transport_ops {
    const char *name;
    /* version text, for rcx_info */
    void (*version)(char *text, size_t bytes);

    /* Open, and give the address that peers need. */
    rcx_status_t (*open)(const struct rcx_transport_args *args,
                         struct rcx_transport **t_p);
    rcx_status_t (*address)(struct rcx_transport *t, const void **address_p,
                            size_t *bytes_p);

    /*
     * RCX_OK: done at once (recv: m->bytes is set). RCX_IN_PROGRESS: m is
     * completed later, by progress. Of an error, t->last_error says why.
     */
    rcx_status_t (*send)(struct rcx_transport *t, int peer, const void *buffer,
                         size_t bytes, uint64_t tag, struct rcx_message *m);
    rcx_status_t (*recv)(struct rcx_transport *t, int peer, void *buffer,
                         size_t bytes, uint64_t tag, struct rcx_message *m);

    /* A receive of the first message whose tag is this one where mask has ones,
     * whoever sends it: m->tag, too, is set when it is done. */
    rcx_status_t (*recv_masked)(struct rcx_transport *t, void *buffer,
                                size_t bytes, uint64_t tag, uint64_t mask,
                                struct rcx_message *m);

    /*
     * RCX_OK unless no transport leads to peer, as send would find; then
     * t->last_error says why. Connects them if need be. NULL: all are connected.
     */
    rcx_status_t (*reach)(struct rcx_transport *t, int peer);

    /* Look for m alone, which recv() has left under way, until it is here, or so
     * many polls were in vain; they are counted down. RCX_IN_PROGRESS: it still
     * is under way. Else that is how it ended, and it is in no list. NULL: what
     * comes is not told apart. */
    rcx_status_t (*expect)(struct rcx_transport *t, struct rcx_message *m,
                           unsigned *polls);

    /* Which way messages to and from peer take, and why not a shorter one.
     * NULL: there is only one. */
    void (*way)(struct rcx_transport *t, int peer, char *text, size_t bytes);

    /* Events handled. A transport need not look everywhere each time, but so
     * many times see everything. */
    unsigned (*progress)(struct rcx_transport *t);

    /*
     * Give up a message under way, so that the transport leaves its buffer
     * alone. It completes with an error, soon, if that can still be done: a
     * send cannot, nor a receive that has begun; these complete as they would.
     * cancels_sends: asked for sends, too, whose buffers are then left alone.
     */
    void (*cancel)(struct rcx_transport *t, struct rcx_message *m);
    bool cancels_sends;

    /* Whether a message has come for which no receive is posted, and whose tag
     * is this one where mask has ones; its tag is stored. */
    bool (*probe)(struct rcx_transport *t, uint64_t tag, uint64_t mask,
                  uint64_t *found_p);

    /* Send a note, which is copied: peer finds it in its list, unless it, or
     * this process, is gone by then, or no way leads there: t->last_error does
     * not say so. */
    void (*send_ctrl)(struct rcx_transport *t, int peer, const void *note,
                      size_t bytes);
    /* Opened with wakeup: a descriptor that can be read once something has
     * happened after arm returned RCX_OK; RCX_IN_PROGRESS: it has, already.
     * wake makes it so, from any thread. */
    int (*event_fd)(struct rcx_transport *t);
    rcx_status_t (*arm)(struct rcx_transport *t);
    void (*wake)(struct rcx_transport *t);

    /* For ranks that share cores: that this one gives its core away, or has it
       again; whether all whose messages it waits for have theirs, so that one
       may come soon. NULL: nobody knows. */
    void (*core_released)(struct rcx_transport *t, bool rests);
    bool (*peers_run)(struct rcx_transport *t);

    /* Memory that peers read where it is, when messages are sent from there: new
     * one, or what is at at; NULL: that cannot be. No message is under way from
     * what is put back. Both NULL: the transport has no such memory. */
    void *(*get_memory)(struct rcx_transport *t, void *at, size_t bytes);
    void (*put_memory)(struct rcx_transport *t, void *ptr);
    /* The key by which peers reach what get_memory gave; 0 bytes: none. And where
     * peer's, at base there, lies in this process, until put_memory of ptr; NULL:
     * nowhere. Both NULL as above. */
    size_t (*memory_key)(struct rcx_transport *t, const void *ptr,
                         const void **key_p);
    void *(*reach_memory)(struct rcx_transport *t, void *ptr, int peer,
                          const void *key, uint64_t base);

    /* rcx_ctrl_queue_pop() with t's own heap. */
    bool (*take_ctrl)(struct rcx_transport *t, void *note, size_t bytes);

    /* Have what was sent leave this process: RCX_OK once it has. RCX_IN_PROGRESS:
     * ask again, with progress between. */
    rcx_status_t (*flush)(struct rcx_transport *t);
    /* Free t, with its connections. Waits for nobody: that no peer needs this
     * rank any more is the context's to see to. */
    void (*close)(struct rcx_transport *t);
};

/* The networks compiled in, best first, ended by NULL. */
extern const struct rcx_transport_ops *const rcx_transport_table[];

/* For a single process: it sends to itself alone. */
extern const struct rcx_transport_ops rcx_transport_self;

#endif
