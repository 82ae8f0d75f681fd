/* SPDX-License-Identifier: BSD-3-Clause */
/* The state of a request: one operation. */
#ifndef RCX_CORE_RUN_OBJECT_REQUEST_H
#define RCX_CORE_RUN_OBJECT_REQUEST_H

#include "core/run/object/comm.h"
#include "core/run/object/creation.h"

struct rcx_veclist;
struct rcx_exact_stages;

enum rcx_request_state {
    RCX_REQUEST_FREE,
    RCX_REQUEST_IDLE,
    RCX_REQUEST_ACTIVE
};

enum rcx_request_kind {
    /* a blocking call, which nothing else interrupts; or a message that a
     * thread waits for */
    RCX_REQUEST_INSIDE = 1 << 0,
    /* segments may not be at their offset: of a stage they are in its
     * execution, of a vector list where it packs them */
    RCX_REQUEST_PLACED = 1 << 1,
    /* a receive that rcx_cancel() has withdrawn, unless it has matched */
    RCX_REQUEST_WITHDRAWN = 1 << 2
};

/* A program and its operands. */
struct rcx_stage {
    struct rcx_program *program;
    char *in, *out;
};

enum { RCX_STAGES_MAX = 4 };

/* Stages run one after the other. A stage is a row of segments, of which a
 * window is in flight; segment numbers continue from stage to stage. Most
 * requests have one stage, the call; see stages.h for the others. */
struct rcx_request {
    enum rcx_request_state state;
    bool persistent;
    bool is_recorded;
    uint8_t kind; /* bits of enum rcx_request_kind; a byte, which a blocking
                     call sets by one store */
    rcx_status_t status;
    struct rcx_comm *comm;
    struct rcx_program *program; /* of the call; with a first step, the
                                    program that follows replaces it for all
                                    starts */
    uint64_t begin;              /* ticks */
    uint64_t record;             /* number in the recorder */
    int64_t timeout_ns;          /* from begin; 0: none */
    uint64_t sequence;           /* of its first segment */
    uint64_t ahead; /* weight of one-way segments before the next one */
    uint64_t mark;  /* of the call's number, in tags */
    const struct rcx_stage *stage; /* in progress */
    uint64_t first, end;           /* segments of the stage */
    uint64_t launched;
    uint64_t finished;
    uint64_t total;
    struct rcx_exec *slots[RCX_WINDOW_MAX]; /* segments in flight */
    struct rcx_request *next;   /* in the communicator's list of active ones */
    struct rcx_request **link;  /* what points here: next, or first */
    rcx_callback_fn_t callback; /* NULL: none */
    unsigned stage_count;       /* of programs that have stages */
    struct rcx_stage stages[RCX_STAGES_MAX];
    struct rcx_request *free_next;
    void *callback_arg;
    struct rcx_request *called_next;
    uint64_t ended; /* ticks; 0: not over, or a thread has seen it */
    struct rcx_veclist *veclist;    /* its operands; NULL: one vector */
    struct rcx_exact_stages *exact; /* of programs that sum in stages */
    struct rcx_creation *creation;  /* of programs that make a communicator */
    const void *site; /* of its program, if that is observed: where the user
                          called */
};

static inline bool rcx_request_waits_inside(const struct rcx_request *r)
{
    return r->kind & RCX_REQUEST_INSIDE;
}

/* How many slots have been used. */
static inline unsigned rcx_request_slots(const struct rcx_request *r)
{
    return r->launched < RCX_WINDOW_MAX ? (unsigned)r->launched
                                        : RCX_WINDOW_MAX;
}
/* Time since its start, in nanoseconds. */
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
