/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * One collective call on p simulated ranks: every rank's schedule as its
 * algorithm writes it, and runs of them by the real executor over the
 * simulated network.
 */
#ifndef RCX_SIM_SIMULATE_H
#define RCX_SIM_SIMULATE_H

#include "core/exec/exec.h"
#include "core/sched/algo.h"
#include "core/sched/segment.h"

enum { SIMULATION_TEXT = 512 };
/* Steps of all ranks are numbered in 32 bits. */
#define SIMULATION_STEPS_MAX UINT32_MAX

/* Lets a test spoil a schedule; both are called for every rank in order. */
struct simulation_hooks {
    void (*steps)(struct rcx_builder *b, const struct rcx_shape *s, void *arg);
    void (*plan)(struct rcx_plan *plan, const struct rcx_shape *s, void *arg);
    void *arg;
};

struct simulated_frame; /* see framed.h */

struct simulated_call {
    const struct rcx_algo *algo; /* NULL: no memory for the call */
    struct rcx_shape shape;      /* of all ranks; rank, alias are not read */
    const enum rcx_alias *alias; /* by rank; NULL: NONE */
    /* Sets what else is a rank's own: places, and blocks where counts are
     * local; NULL: nothing is. */
    void (*localize)(struct rcx_shape *shape, void *arg);
    void *localize_arg;
    const struct rcx_row *row; /* of segments, the first; NULL: the whole */
    const struct simulated_frame *frame; /* NULL: none */
    struct rcx_tag_layout layout;
    bool acks;                            /* for all messages */
    const struct simulation_hooks *hooks; /* NULL: none */
    struct rcx_heap *heap; /* of the call, and of its simulation */
};

struct simulated_rank {
    struct rcx_shape shape;
    struct rcx_plan *plan;
    struct rcx_plan *gated; /* the plan, for steps in any order; or NULL */
    size_t in_at, out_at;   /* where the frame's spans begin in IN and OUT */
    size_t first_step;      /* of its steps among those of all ranks */
    uint64_t messages;      /* that it sends */
    uint64_t sent;          /* elements */
    uint64_t combined;      /* elements */
    char *base[RCX_BUFFER_COUNT]; /* the whole call's; set before a run */
    struct rcx_exec *exec;
};

struct simulation {
    struct rcx_heap *heap;
    struct rcx_log log;
    struct rcx_tag_layout layout;
    struct rcx_row row; /* which segment is run: the first of this row */
    int size;
    struct simulated_rank *ranks;
    size_t step_count;          /* of all ranks */
    uint64_t messages;          /* sent by all ranks */
    char text[SIMULATION_TEXT]; /* what went wrong */
    bool lacks_memory;          /* that is what went wrong */
};

/* Write all schedules. False, here as below: s->text says why, and
 * s->lacks_memory, if it is that; s can be closed. */
bool simulation_open(struct simulation *s, const struct simulated_call *call);
void simulation_close(struct simulation *s);

/* False, and it is said so: there was no memory. */
bool simulation_lacks_memory(struct simulation *s);

/* Whether two calls on as many ranks lead to the same steps; false where there
 * is no memory to tell. */
bool simulation_same_steps(const struct simulated_call *a,
                           const struct simulated_call *b);

/* When a send completes: as the protocols of a real network differ in it. */
enum simulated_sends {
    SENDS_RENDEZVOUS, /* when it is received */
    SENDS_EAGER,      /* at once */
    SENDS_MIXED       /* by chance */
};

struct simulated_run {
    const struct rcx_reducer *reducer;
    /* Decides in which order ranks start, messages arrive and, unless sends
     * are rendezvous, ready steps are taken. */
    uint64_t seed;
    enum simulated_sends sends;
    int late; /* starts when nothing else can happen any more; -1: none */
    /* out: ranks that were complete before the late one started */
    int early;
};

/* Run the schedules to their end. May be repeated. */
bool simulation_run(struct simulation *s, struct simulated_run *run);

#endif
