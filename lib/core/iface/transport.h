/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Transports as the executor sees them: tagged messages and progress.
 * Implementations are in lib/transport.
 */
#ifndef RCX_CORE_IFACE_TRANSPORT_H
#define RCX_CORE_IFACE_TRANSPORT_H

#include <stdatomic.h>
#include <stdbool.h>

#include "core/base/heap.h"
#include "core/base/log.h"
#include "core/iface/shm_settings.h"

struct rcx_boot;
struct rcx_machine;
struct rcx_transport;
struct rcx_step;
struct rcx_message;
struct rcx_recording;

/*
 * Where the data of a receive may go instead of its buffer. A transport that
 * has all of it, or parts of it in order, asks is_ready() once before the
 * first; if true, all of it goes to take(). Parts except the last are multiples
 * of RCX_PART_BYTES.
 */
enum { RCX_PART_BYTES = 64 };
struct rcx_recv_sink {
    bool (*is_ready)(struct rcx_message *m);
    void (*take)(struct rcx_message *m, size_t at, const void *data,
                 size_t bytes);
};

/*
 * A message in flight. The transport completes it either by
 * rcx_message_complete() during progress, or by the return value of send() or
 * recv(); never by both.
 */
enum { RCX_MESSAGE_STATE = 88 };
/* A send of data that other sends of its execution send as well: not tried yet;
 * sent, as one with the others; to be sent alone. PACKED: a send of its own,
 * whose data may be packed. */
enum { RCX_SHARED_MOST = 64 };
enum rcx_sharing {
    RCX_SHARING_NONE,
    RCX_SHARING_POSSIBLE,
    RCX_SHARING_SENT,
    RCX_SHARING_REFUSED,
    RCX_SHARING_PACKED
};
struct rcx_message {
    /* Of the executor: */
    const struct rcx_step *step; /* its step, */
    uint8_t kind;                /* and fields of it, in bytes */
    uint8_t dst, left, right;
    uint8_t sharing;   /* of a send: enum rcx_sharing */
    bool holds_up_all; /* a receive that all other steps wait for */
    bool feeds_next;   /* its sink is the next step */
    bool may_hold;     /* of a receive: its data may be left where it arrived */
    size_t dst_at, left_at, right_at;
    size_t due;
    uint32_t waits; /* steps that must complete before this one starts */
    int peer;
    uint64_t tag; /* the message's part of its tag; for a receive by mask,
                     the whole tag of what arrived */
    /* Of both: */
    rcx_status_t status; /* RCX_IN_PROGRESS while in flight */
    bool is_consumed;    /* by the sink, completely; of a sink: it has */
    bool streams; /* its data bypasses the caches, where that is possible */
    size_t bytes; /* of a receive: what arrived */
    const struct rcx_recv_sink *sink; /* of a receive; NULL: none */
    const void *held; /* of a completed receive: where its data is, instead of
                         its buffer; NULL: in its buffer */
    void *owner;
    struct rcx_message *next;        /* in the list of completed messages */
    struct rcx_transport *transport; /* that it is in flight in */
    void *handle;                    /* of the transport */
    _Alignas(8) char state[RCX_MESSAGE_STATE]; /* of the transport */
};

/* Data of m has arrived and is not stored yet: whether its sink takes all of
 * it. */
static inline bool rcx_message_offer_to_sink(struct rcx_message *m)
{
    m->is_consumed = m->sink && m->sink->is_ready(m);
    return m->is_consumed;
}

/*
 * AHEAD: how many bytes a sender may run ahead of its receiver: as much as the
 * buffers of a socket take, since the last message must have been sent when the
 * call returns. A network that takes more says so, by a power of two.
 * FULL_POLLS: in so many polls a transport checks all its sources.
 */
enum { RCX_AHEAD = 64 << 10, RCX_FULL_POLLS = 16 };

/* A control message, see run/fault/ctrl_msg.h. */
struct rcx_ctrl_frame {
    struct rcx_ctrl_frame *next;
    struct rcx_heap *heap; /* that it is allocated from */
    size_t bytes;
    _Alignas(8) unsigned char data[];
};

struct rcx_transport {
    const struct rcx_transport_ops *ops;
    struct rcx_message *done; /* completed, not yet handled */
    struct rcx_message **done_end;
    struct rcx_ctrl_frame *ctrl; /* control messages received, oldest first */
    struct rcx_ctrl_frame **ctrl_end;
    unsigned ctrl_unsent; /* control messages being sent */
    bool ctrl_lost;       /* a control message could not be sent */
    bool leaks_on_close;  /* close() keeps what UCX cannot destroy: peers on
                            other nodes may be stopped */
    unsigned char *failed_peers; /* by rank: the peer or its connection has
                                    failed; NULL: peers are not watched */
    bool watches_peers;    /* peers are watched, and a failed one fails its
                           communicators */
    unsigned failed_count; /* of failed_peers */
    int endpoints;         /* connected so far */
    char last_error[256];  /* why a send or receive failed; "": not known */
    size_t ack_bytes;      /* from this size on, one side of a message may
                         complete while the other one still needs its
                         progress */
    /* Not 0: a control message may have arrived. NULL: only progress tells. If
     * it is not NULL, a message to a peer that has left does no harm. */
    const _Atomic uint32_t *doorbell;
    size_t turn_polls; /* empty polls that take as long as letting another rank
                          have the core; 0: not known */
    size_t stream_bytes; /* calls with so many bytes of operands and results
                            write these past the caches; 0: none do */
    size_t ahead; /* bytes that a sender may run ahead of its receiver; 0:
                     RCX_AHEAD */
    struct rcx_recording *recording; /* run/observe/recording.h; NULL: none */
};

/* Take the oldest control message off the queue; NULL: there is none. The
 * caller frees it. */
struct rcx_ctrl_frame *rcx_ctrl_queue_pop(struct rcx_transport *t);
void rcx_ctrl_frame_free(struct rcx_ctrl_frame *frame);
/* Append one. Dropped if memory ran out. */
void rcx_ctrl_queue_push(struct rcx_transport *t, struct rcx_heap *heap,
                         const void *note, size_t bytes);

/* Mark peer as failed. Only if failed_peers is set. */
void rcx_transport_peer_failed(struct rcx_transport *t, int peer);

static inline void rcx_transport_reset_done(struct rcx_transport *t)
{
    t->done = NULL;
    t->done_end = &t->done;
}

/* Empty the lists of completed messages and of control messages. */
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

/* A message that a probe has found. */
enum { RCX_PROBE_ALL = -1, RCX_PROBE_OPEN = -2 };
struct rcx_arrival {
    uint64_t tag;
    size_t bytes;
};

/* RUNS: on this node, as of now. ENDED: this is certain, and RCX_FULL_POLLS
 * polls find all that it has sent. */
enum rcx_process_state {
    RCX_PROCESS_UNKNOWN,
    RCX_PROCESS_RUNS,
    RCX_PROCESS_ENDED
};

/* How two ranks of a node communicate. */
enum rcx_lanes {
    RCX_LANES_AUTO, /* mapped memory if possible */
    RCX_LANES_UCP,  /* UCX's messages only */
    RCX_LANES_NODE  /* mapped memory; an error if not possible */
};

struct rcx_transport_args {
    struct rcx_boot *boot;
    struct rcx_heap *heap;
    struct rcx_log *log;
    bool wakeup; /* event_fd, arm and wake will be used */
    bool watches_peers;
    bool ucx_watches_node; /* also peers on this node without mapped memory,
                              which then excludes faster transports */
    enum rcx_lanes lanes;
    int64_t timeout_ns;          /* deadline of operations; 0: none */
    struct rcx_shm_settings shm; /* that the user has set */
    struct rcx_machine *machine; /* gets the figures of this node, if the
                                    transport learns them */
};

struct rcx_transport_ops {
    const char *name;
    /* Name and version, for rcx_info. */
    void (*version)(char *text, size_t bytes);

    /* Open the transport, and get the address that peers need. */
    rcx_status_t (*open)(const struct rcx_transport_args *args,
                         struct rcx_transport **t_p);
    rcx_status_t (*address)(struct rcx_transport *t, const void **address_p,
                            size_t *bytes_p);

    /*
     * RCX_OK: completed at once (recv: m->bytes is set). RCX_IN_PROGRESS: m
     * completes later, during progress. On an error, t->last_error gives the
     * reason.
     */
    rcx_status_t (*send)(struct rcx_transport *t, int peer, const void *buffer,
                         size_t bytes, uint64_t tag, struct rcx_message *m);
    rcx_status_t (*recv)(struct rcx_transport *t, int peer, void *buffer,
                         size_t bytes, uint64_t tag, struct rcx_message *m);

    /* Copy buffer once, and send the copy to the peers of n messages (up to
     * RCX_SHARED_MOST), each with
     * its own tag besides tag_base. Sets sharing of each message: SENT, and it
     * is complete, or REFUSED, and send() must send it. NULL: send() must send
     * all. */
    void (*send_shared)(struct rcx_transport *t, struct rcx_message *m[],
                        unsigned n, const void *buffer, size_t bytes,
                        uint64_t tag_base);

    /* Receive the first message, from any source, whose tag agrees with tag
     * where mask has ones. Sets m->tag when it completes. */
    rcx_status_t (*recv_masked)(struct rcx_transport *t, void *buffer,
                                size_t bytes, uint64_t tag, uint64_t mask,
                                struct rcx_message *m);

    /*
     * RCX_OK unless no transport leads to peer, as a send would find; then
     * t->last_error gives the reason. Connects if needed. NULL: all are
     * connected.
     */
    rcx_status_t (*reach)(struct rcx_transport *t, int peer);

    /* Poll for m alone, which recv() has left in flight, for *polls empty polls
     * at most, which are counted down. RCX_IN_PROGRESS: still in flight.
     * Otherwise its final status; it is in no list. NULL: not supported. */
    rcx_status_t (*expect)(struct rcx_transport *t, struct rcx_message *m,
                           unsigned *polls);

    /* Print how messages to and from peer travel, and why not by a faster way.
     * NULL: there is one way only. */
    void (*way)(struct rcx_transport *t, int peer, char *text, size_t bytes);

    /* Poll. Returns the number of events. A single call need not check all
     * sources, but RCX_FULL_POLLS calls do. */
    unsigned (*progress)(struct rcx_transport *t);

    /*
     * Cancel a message in flight, so that the transport does not access its
     * buffer any more. It completes with an error soon, if possible. A send
     * cannot be cancelled, nor a receive that has begun: these complete
     * normally. cancels_sends: sends can be cancelled as well.
     */
    void (*cancel)(struct rcx_transport *t, struct rcx_message *m);
    bool cancels_sends;

    /* Cancel receive m unless a message has matched it: it completes with
     * RCX_ERR_CANCELED, soon and without progress of peers. One that has
     * matched goes on. */
    void (*withdraw)(struct rcx_transport *t, struct rcx_message *m);

    /*
     * The data of receive m is not needed any more where it is held. Until
     * then, every call of t may copy it to the receive's buffer, and set
     * m->held to NULL: data that is held must not keep other messages from
     * being received. Sets m->held to NULL. NULL: no data is ever held.
     */
    void (*release)(struct rcx_transport *t, struct rcx_message *m);

    /* Whether a message has arrived for which no receive is posted, and whose
     * tag agrees with tag where mask has ones. Before that, opens the ways by
     * which messages of peer arrive; RCX_PROBE_ALL: of all; RCX_PROBE_OPEN: of
     * none, so messages that open another way are not found. */
    bool (*probe)(struct rcx_transport *t, int peer, uint64_t tag,
                  uint64_t mask, struct rcx_arrival *found_p);

    /* Drop the messages that have arrived for no receive, and whose tags agree
     * with tag where mask has ones. Their sends complete. NULL: messages never
     * leave this rank. */
    void (*drop_unexpected)(struct rcx_transport *t, uint64_t tag,
                            uint64_t mask);

    /* Send a control message, which is copied. Peer finds it in its queue,
     * unless it or this process is gone by then, or cannot be reached.
     * t->last_error is not set. */
    void (*send_ctrl)(struct rcx_transport *t, int peer, const void *note,
                      size_t bytes);
    /* Opened with wakeup: a descriptor that becomes readable once something has
     * happened after arm() returned RCX_OK. RCX_IN_PROGRESS: something has
     * happened already. wake() makes it readable, from any thread. */
    int (*event_fd)(struct rcx_transport *t);
    rcx_status_t (*arm)(struct rcx_transport *t);
    void (*wake)(struct rcx_transport *t);

    /* If ranks outnumber cores: this rank has released its core, or has it
     * again; whether all peers whose messages it waits for run now, so that a
     * message may arrive soon; and whether other ranks of the node need all
     * cores, as far as this one knows them. NULL: not known. */
    void (*core_released)(struct rcx_transport *t, bool rests);
    bool (*peers_run)(struct rcx_transport *t);
    bool (*cores_needed)(struct rcx_transport *t);

    /* Memory that peers read where it is when it is sent: new, or the caller's
     * if at is not NULL. NULL: not possible. No message from it may be in
     * flight when it is put back. Both NULL: there is no such memory. */
    void *(*get_memory)(struct rcx_transport *t, void *at, size_t bytes);
    void (*put_memory)(struct rcx_transport *t, void *ptr);
    /* The key by which peers access memory of get_memory(); 0 bytes: none. And
     * where the peer's memory, at base there, is mapped here until put_memory()
     * of ptr; NULL: not possible. Both NULL as above. */
    size_t (*memory_key)(struct rcx_transport *t, const void *ptr,
                         const void **key_p);
    void *(*reach_memory)(struct rcx_transport *t, void *ptr, int peer,
                          const void *key, uint64_t base);

    /* Free what rcx_ctrl_queue_pop() has returned. NULL: by
     * rcx_ctrl_frame_free(). */
    void (*free_ctrl)(struct rcx_transport *t, struct rcx_ctrl_frame *frame);

    /* What is known of the peer's process, now. NULL: nothing, ever.
     * was_absent: this process did not run for long; a connection may have lost
     * messages meanwhile. */
    enum rcx_process_state (*process_state)(struct rcx_transport *t, int peer,
                                            bool was_absent);

    /* RCX_OK once all that was sent has left this process. RCX_IN_PROGRESS:
     * call again, with progress between. */
    rcx_status_t (*flush)(struct rcx_transport *t);
    /* Free t and its connections. Does not wait: the context makes sure that no
     * peer needs this rank any more. */
    void (*close)(struct rcx_transport *t);
};

/* The transports that are compiled in, best first, ended by NULL. */
extern const struct rcx_transport_ops *const rcx_transport_table[];

/* The transport of a single process, which sends to itself. */
extern const struct rcx_transport_ops rcx_transport_self;

#endif
