/* SPDX-License-Identifier: BSD-3-Clause */
/* Requests: one operation each. */
#ifndef RCX_CORE_RUN_OBJECT_REQUEST_H
#define RCX_CORE_RUN_OBJECT_REQUEST_H

#include "core/run/object/comm.h"

struct rcx_veclist;

enum rcx_request_state {
    RCX_REQUEST_FREE,
    RCX_REQUEST_IDLE,
    RCX_REQUEST_ACTIVE
};

enum rcx_request_kind {
    /* blocking: nothing else happens before its end; a message: a thread waits
       for it alone */
    RCX_REQUEST_INSIDE = 1 << 0,
    /* a segment may not be where its offset says: a round's is in its execution,
       a veclist's as that has it */
    RCX_REQUEST_PLACED = 1 << 1
};

/* A program and its operands. */
struct rcx_stage {
    struct rcx_program *program;
    char *in, *out;
};

enum { RCX_STAGES_MAX = 4 };

/* Stages, one after the other, are carried out as rows of segments, of which a
 * window is in flight; the numbers of segments go on from stage to stage. Most
 * have one: what was called. Others are rounds: see stages.h. */
struct rcx_request {
    enum rcx_request_state state;
    bool persistent;
    bool is_recorded;
    uint8_t kind; /* of an enum rcx_request_kind; a byte, which a blocking call
                     sets by one store */
    rcx_status_t status;
    struct rcx_comm *comm;
    struct rcx_program *program; /* of what was called; with a first step, which
                                    tells what it lacks, another one takes over
                                    behind that, for all starts */
    uint64_t begin;              /* ticks */
    uint64_t record;             /* its number in the recorder */
    int64_t timeout_ns;          /* from begin; 0: none */
    uint64_t sequence;           /* of its first segment */
    uint64_t ahead; /* the weight of one-way segments before the next */
    uint64_t mark;  /* of the call's number, in tags */
    const struct rcx_stage *stage; /* under way */
    uint64_t first, end;           /* its segments */
    uint64_t launched;
    uint64_t finished;
    uint64_t total;
    struct rcx_exec *slots[RCX_WINDOW_MAX]; /* segments in flight */
    struct rcx_request *next;   /* of the communicator's active ones */
    struct rcx_request **link;  /* what points here: next, or first */
    rcx_callback_fn_t callback; /* NULL: none */
    unsigned stage_count;       /* where its program has rounds */
    struct rcx_stage stages[RCX_STAGES_MAX];
    struct rcx_request *free_next;
    void *callback_arg;
    struct rcx_request *called_next;
    uint64_t ended;              /* ticks; 0: somebody knows, or it never has */
    struct rcx_veclist *veclist; /* that its operands are; NULL: one vector */
};

static inline bool rcx_request_waits_inside(const struct rcx_request *r)
{
    return r->kind & RCX_REQUEST_INSIDE;
}

/* How many of its slots have been used. */
static inline unsigned rcx_request_slots(const struct rcx_request *r)
{
    return r->launched < RCX_WINDOW_MAX ? (unsigned)r->launched
                                        : RCX_WINDOW_MAX;
}
/* How long ago it was started. */
static inline uint64_t rcx_request_age(const struct rcx_request *r,
                                       const struct rcx_instant *now)
{
    return rcx_time_since(&r->comm->context->time, r->begin, now);
}
static inline bool rcx_request_is_overdue(const struct rcx_request *r,
                                          const struct rcx_instant *now)
{
    return r->timeout_ns > 0 &&
           rcx_request_age(r, now) >= (uint64_t)r->timeout_ns;
}
#endif
