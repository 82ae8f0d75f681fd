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

struct rcx_request {
    enum rcx_request_state state;
    bool persistent;
    rcx_status_t status;
    struct rcx_comm *comm;
    struct rcx_program *program;
    char *in, *out;
    uint64_t begin;  /* ticks */
    uint64_t record; /* its number in the recorder */
    bool is_recorded;
    bool waits_inside;  /* blocking: nothing else happens before its end */
    int64_t timeout_ns; /* from there; 0: none */
    uint64_t sequence;  /* of its first segment */
    uint64_t ahead;     /* the weight of one-way segments before the next */
    uint64_t mark;      /* of the call's number, in tags */
    uint64_t launched;  /* stages: the opening, segments, the closing */
    uint64_t finished;
    uint64_t total;
    struct rcx_exec *slots[RCX_WINDOW_MAX]; /* segments in flight */
    bool has_rounds;                        /* else neither of: */
    struct rcx_program *opening; /* of the round in which ranks compare calls */
    struct rcx_program *closing; /* of the round in which ranks agree */
    struct rcx_request *next;    /* of the communicator's active ones */
    struct rcx_request **link;   /* what points here: next, or first */
    struct rcx_request *free_next;
    rcx_callback_fn_t callback; /* NULL: none */
    void *callback_arg;
    struct rcx_request *called_next;
};

/* Takes over the caller's pin of program, also on failure. */
rcx_status_t rcx_request_new(struct rcx_comm *comm, struct rcx_program *program,
                             const void *in, void *out,
                             struct rcx_request **request_p);
void rcx_request_delete(struct rcx_request *request);
/* A whole operation; takes over the pin, too. */
rcx_status_t rcx_request_run(struct rcx_comm *comm, struct rcx_program *program,
                             const void *in, void *out);
/* Start it; complete at once or by rcx_context_progress(). */
void rcx_request_launch(struct rcx_request *request);
/* How many of its slots have been used. */
static inline unsigned rcx_request_slots(const struct rcx_request *r)
{
    return r->launched < RCX_WINDOW_MAX ? (unsigned)r->launched
                                        : RCX_WINDOW_MAX;
}
/* A request whose executions are gone ends with the status that it has. */
void rcx_request_finish(struct rcx_request *r);
/* An execution of it is complete: go on with what follows. */
void rcx_request_advance(struct rcx_request *r, struct rcx_exec *x);
/* A message of it with peer cannot be given or got: its communicator fails, as
 * the transport says why. */
void rcx_request_lose(const struct rcx_request *r, rcx_status_t status,
                      int peer);
/* Ranks that it has messages with under way; how many, at most most. */
int rcx_request_peers(const struct rcx_request *r, int peers[], int most);
void rcx_request_slabs_free(struct rcx_context *context);

#endif
