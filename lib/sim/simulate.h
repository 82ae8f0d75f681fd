/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Simulation of one collective call on p ranks: the schedules of all ranks, as
 * the algorithm writes them, and runs of them by the real executor over the
 * simulated network.
 */
#ifndef RCX_SIM_SIMULATE_H
#define RCX_SIM_SIMULATE_H

#include "core/exec/exec.h"
#include "core/sched/algo.h"
#include "core/sched/segment.h"

enum { SIMULATION_TEXT = 512 };
/* Most steps of all ranks together: they are numbered in 32 bits. */
#define SIMULATION_STEPS_MAX UINT32_MAX

/* Functions by which a test corrupts a schedule. They are called for each rank
 * in order. */
struct simulation_hooks {
    void (*steps)(struct rcx_builder *b, const struct rcx_shape *s, void *arg);
    void (*plan)(struct rcx_plan *plan, const struct rcx_shape *s, void *arg);
    void *arg;
};

struct simulated_frame; /* see framed.h */

struct simulated_call {
    const struct rcx_algo *algo; /* NULL: no memory for the call */
    struct rcx_shape shape;      /* the same for all ranks; rank and alias are
                                    ignored */
    const enum rcx_alias *alias; /* by rank; NULL: RCX_ALIAS_NONE */
    /* Set the fields of shape that differ between ranks: places, and blocks if
     * counts are local. NULL: there are none. */
    void (*localize)(struct rcx_shape *shape, void *arg);
    void *localize_arg;
    const struct rcx_row *row; /* simulate the first segment of row; NULL: the
                                  whole call */
    const struct simulated_frame *frame; /* NULL: none */
    struct rcx_tag_layout layout;
    bool acks; /* append acknowledgements of all messages */
    const struct simulation_hooks *hooks; /* NULL: none */
    struct rcx_heap *heap;                /* for the call and its simulation */
};

struct simulated_rank {
    struct rcx_shape shape;
    struct rcx_plan *plan;
    struct rcx_plan *gated; /* plan with gates, for steps in any order; NULL:
                               not needed so far */
    size_t in_at, out_at;   /* start of the frame's spans in IN and OUT */
    size_t first_step;      /* number of its first step among the steps of all
                               ranks */
    uint64_t messages;      /* number of messages that it sends */
    uint64_t sent;          /* elements sent */
    uint64_t combined;      /* elements combined */
    char *base[RCX_BUFFER_COUNT]; /* buffers of the whole call; the caller sets
                                     them before a run */
    struct rcx_exec *exec;
};

struct simulation {
    struct rcx_heap *heap;
    struct rcx_log log;
    struct rcx_tag_layout layout;
    struct rcx_row row; /* the first segment of this row is simulated */
    int size;
    struct simulated_rank *ranks;
    size_t step_count;          /* of all ranks */
    uint64_t messages;          /* sent by all ranks */
    char text[SIMULATION_TEXT]; /* reason of a failure */
    bool lacks_memory;          /* the reason is a lack of memory */
    bool is_changed; /* hooks have changed steps: what was fused may not be so
                        any more */
};

/* Write the schedules of all ranks. False, also below: s->text says why, and
 * s->lacks_memory whether for lack of memory. s must be closed in any case. */
bool simulation_open(struct simulation *s, const struct simulated_call *call);
void simulation_close(struct simulation *s);

/* Record a lack of memory. Returns false. */
bool simulation_lacks_memory(struct simulation *s);

/* Whether two calls with the same number of ranks have the same steps. False as
 * well if memory ran out. */
bool simulation_same_steps(const struct simulated_call *a,
                           const struct simulated_call *b);

/* When a send completes. Protocols of real networks differ in this. */
enum simulated_sends {
    SENDS_RENDEZVOUS, /* when it is received */
    SENDS_EAGER,      /* at once */
    SENDS_MIXED       /* either, at random */
};

struct simulated_run {
    const struct rcx_reducer *reducer;
    /* Determines the order in which ranks start and messages arrive. Unless
     * sends are rendezvous, also the order in which ready steps are taken. If
     * it is even, no reductions are fused, as with long vectors. */
    uint64_t seed;
    enum simulated_sends sends;
    int late; /* rank that starts when no other event is possible; -1: none */
    /* Output: number of ranks that were complete before the late rank
     * started. */
    int early;
};

/* Run the schedules to their end. May be called several times. */
bool simulation_run(struct simulation *s, struct simulated_run *run);

#endif
