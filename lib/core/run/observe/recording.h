/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The recording of RCX_TRACE: a ring of the last events of a rank, which are
 * begins and ends of calls, and messages. Messages are seen at the transport,
 * whose table of functions is replaced by one that records and passes on; so
 * nothing asks for a recording where there is none. An event costs one reading
 * of the ticks and 40 bytes, and no lock or system call.
 */
#ifndef RCX_CORE_RUN_OBSERVE_RECORDING_H
#define RCX_CORE_RUN_OBSERVE_RECORDING_H

#include "core/run/object/comm.h"

enum rcx_event_kind {
    RCX_EVENT_BEGIN,    /* of a call */
    RCX_EVENT_END,      /* of a call */
    RCX_EVENT_SEND,     /* a message is given to the transport */
    RCX_EVENT_SENT,     /* its buffer is free; recorded if that took a wait */
    RCX_EVENT_RECEIVE,  /* a receive is posted, and its message is not there */
    RCX_EVENT_RECEIVED, /* a message has arrived */
    RCX_EVENTS
};

struct rcx_event {
    uint64_t ticks;
    uint64_t tag;   /* of the message; of a call: its sequence number */
    uint64_t bytes; /* of the message, or of the call's vector */
    const struct rcx_algo *algo;
    int32_t peer; /* rank of the context, -1: any; of a call: id of its
                       communicator */
    uint8_t kind; /* enum rcx_event_kind */
    uint8_t coll, form;
    int8_t failed; /* it ended with an error */
};

struct rcx_recording {
    struct rcx_event *events;
    uint64_t mask; /* their number - 1 */
    uint64_t next; /* number of the next event, from 0 */
    const struct rcx_transport_ops *inner; /* of the transport itself */
    struct rcx_transport_ops ops;          /* those that record */
};

/* Records what t does from now on, in at least so many events. NULL: no
 * memory. */
struct rcx_recording *rcx_recording_open(struct rcx_transport *t,
                                         struct rcx_heap *heap, size_t events);
void rcx_recording_free(struct rcx_recording *r, struct rcx_heap *heap);

void rcx_recording_begin(struct rcx_recording *r, const struct rcx_comm *comm,
                         const struct rcx_program *program, uint64_t sequence,
                         int form);
void rcx_recording_end(struct rcx_recording *r, const struct rcx_comm *comm,
                       uint64_t sequence, rcx_status_t status);

/* Events from here to next are kept. */
static inline uint64_t rcx_recording_oldest(const struct rcx_recording *r)
{
    return r->next > r->mask ? r->next - r->mask - 1 : 0;
}

#endif
