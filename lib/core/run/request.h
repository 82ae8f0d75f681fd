/* SPDX-License-Identifier: BSD-3-Clause */
/* Requests: one operation each. */
#ifndef RCX_CORE_RUN_REQUEST_H
#define RCX_CORE_RUN_REQUEST_H

#include "core/run/comm.h"

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
       a bundle's as that has it */
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
 * have one: what was called. Others are rounds: see rounds.h. */
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
    uint64_t ended;            /* ticks; 0: somebody knows, or it never has */
    struct rcx_bundle *bundle; /* that its operands are; NULL: one vector */
};

/* With the rounds that its program has, before and behind what was called;
 * rounds.c. */
rcx_status_t rcx_request_add_rounds(struct rcx_request *r);
void rcx_request_drop_rounds(struct rcx_request *r);

static inline bool rcx_request_waits_inside(const struct rcx_request *r)
{
    return r->kind & RCX_REQUEST_INSIDE;
}

/* A request of one's own, which has its kind and is not launched yet; takes over
 * the caller's pin of program, also on failure, until it is let go. */
static inline rcx_status_t rcx_request_prepare(struct rcx_request *r,
                                               struct rcx_comm *comm,
                                               struct rcx_program *program,
                                               const void *in, void *out)
{
    r->comm = comm;
    r->program = program;
    r->callback = NULL;
    r->stages[0] = (struct rcx_stage){program, (char *)in, out};
    return program->has_rounds ? rcx_request_add_rounds(r) : RCX_OK;
}
/* The same of a user's. */
static inline rcx_status_t rcx_request_fill(struct rcx_request *r,
                                            struct rcx_comm *comm,
                                            struct rcx_program *program,
                                            const void *in, void *out)
{
    r->kind = 0;
    r->state = RCX_REQUEST_IDLE;
    r->status = RCX_OK;
    r->ended = 0;
    r->bundle = NULL;
    return rcx_request_prepare(r, comm, program, in, out);
}
static inline void rcx_request_let_go(struct rcx_request *r)
{
    if (r->program->has_rounds)
        rcx_request_drop_rounds(r);
    rcx_program_unpin(&r->comm->cache, r->program);
}
/* Takes over the caller's pin of program, also on failure. */
rcx_status_t rcx_request_new(struct rcx_comm *comm, struct rcx_program *program,
                             const void *in, void *out,
                             struct rcx_request **request_p);
void rcx_request_delete(struct rcx_request *request);
/* Start it; complete at once or by rcx_context_progress(). */
void rcx_request_launch(struct rcx_request *request);
/* The same where its only segment, x, has started, with the last number given
 * out, and is recorded. */
void rcx_request_adopt(struct rcx_request *r, struct rcx_exec *x, bool is_over,
                       uint64_t record);
/* The same of a message. */
void rcx_request_post(struct rcx_request *request);
/* A segment's steps are done: what its op does with the sum of all. */
static inline void rcx_request_round_off(const struct rcx_comm *comm,
                                         const struct rcx_program *program,
                                         const struct rcx_piece *piece,
                                         struct rcx_exec *x)
{
    if (program->combine.finish)
        program->combine.finish(x->base[RCX_BUFFER_OUT], piece->out_count,
                                comm->size);
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
/* A request whose executions are gone ends with the status that it has. */
void rcx_request_finish(struct rcx_request *r);
/* An execution of it is complete: go on with what follows. */
void rcx_request_advance(struct rcx_request *r, struct rcx_exec *x);
/* A message of it with peer cannot be given or got: its communicator fails, as
 * the transport says why, unless a rank says why else. */
void rcx_request_lose(const struct rcx_request *r, rcx_status_t status,
                      int peer);
/* The oldest message of comm that a thread waits for; or NULL. */
const struct rcx_request *rcx_comm_awaited_message(const struct rcx_comm *comm);
/* Ranks that it has messages with under way; how many, at most most. */
int rcx_request_peers(const struct rcx_request *r, int peers[], int most);

#endif
