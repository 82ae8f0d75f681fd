/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The state of a prediction: node_model.c runs it, node_work.c has the time and
 * the path of each piece of work. Used within the node model only.
 */
#ifndef RCX_SIM_NODE_RUN_H
#define RCX_SIM_NODE_RUN_H

#include "sim/node_flow.h"
#include "sim/node_model.h"

#define NODE_NONE SIMULATION_NO_STEP

/* A step of a segment. Its number is that of the step in its simulation, plus
 * the number of the segment's first step. */
struct node_state {
    uint32_t waits;
    uint32_t next;    /* in a queue */
    uint32_t segment; /* among those that are simulated */
    bool is_ready;
    bool is_queued;   /* or at work */
    bool is_consumed; /* REDUCE: a receive has combined its operand on
                            arrival; RECV: it does that */
    bool is_expected; /* SEND: its receive is known to be ready */
    bool is_over;
    size_t done;   /* bytes that are written, or read */
    size_t known;  /* RECV: bytes that have arrived; SEND: bytes that are known
                     to be read */
    bool has_come; /* RECV: something has arrived, also of no bytes */
};

struct node_segment {
    const struct node_piece *piece;
    const struct node_step *steps;
    uint32_t first; /* number of its first step */
    int number;     /* of its piece */
    double end;     /* of the last rank */
    uint32_t *left; /* by rank: steps that are not over */
};

/* A piece for one rank: where its data are. */
struct node_place {
    struct node_home fresh; /* IN and OUT that the rank has not touched yet */
    struct node_home warm;  /* all else */
};

enum node_queue { QUEUE_SEND, QUEUE_LOCAL, QUEUE_RECV, QUEUES };

struct node_worker {
    int core;
    uint32_t first[QUEUES], last[QUEUES];
    uint32_t at_work; /* NODE_NONE: idle */
    size_t bytes;     /* of the work, or of its current part */
    uint32_t part;    /* of a pass: the current reduction */
    bool right;       /* of a pass: its right operand */
    uint32_t version; /* of the expected end of its flow */
    uint32_t launched;
};

struct node_run {
    const struct node_call *call;
    const struct node_machine *m;
    struct rcx_heap *heap;
    struct node_flows flows;
    struct node_segment *segments;
    uint32_t segment_count;
    struct node_step **steps;  /* by piece */
    struct node_place *places; /* by piece and rank */
    struct node_state *states;
    struct node_worker *workers; /* by rank */
    int *rank_of;                /* by core */
    struct node_event *events;
    size_t event_count, event_capacity;
    uint64_t event_order;
    double now;
    int ranks;
    bool lacks_memory;
};

static inline const struct node_segment *
node_segment_of(const struct node_run *r, uint32_t id)
{
    return &r->segments[r->states[id].segment];
}

static inline const struct node_step *node_step_of(const struct node_run *r,
                                                   uint32_t id)
{
    const struct node_segment *segment = node_segment_of(r, id);

    return &segment->steps[id - segment->first];
}

static inline uint32_t node_rank_of(const struct node_run *r, uint32_t id)
{
    return node_step_of(r, id)->rank;
}

/* The step of the plan. */
static inline const struct rcx_step *node_plan_step(const struct node_run *r,
                                                    uint32_t id)
{
    const struct node_segment *segment = node_segment_of(r, id);
    const uint32_t at = id - segment->first;
    const struct simulated_rank *rank =
        &segment->piece->s->ranks[segment->steps[at].rank];

    return &rank->plan->steps[at - rank->first_step];
}

/* Another step of the same segment, by its number in the simulation. */
static inline uint32_t node_beside(const struct node_run *r, uint32_t id,
                                   uint32_t step)
{
    return node_segment_of(r, id)->first + step;
}

/* Bytes of the data of a step. */
static inline size_t node_bytes(const struct node_run *r, uint32_t id)
{
    return node_plan_step(r, id)->count *
           node_segment_of(r, id)->piece->s->ranks[0].shape.elem_bytes;
}

/* False: no memory. r must be closed in any case. */
bool node_run_open(struct node_run *r, const struct node_call *call);
void node_run_close(struct node_run *r);

/* ---- node_work.c --------------------------------------------------------- */

/* Seconds until a line that rank from writes is seen by rank to. */
double node_latency(const struct node_run *r, uint32_t from, uint32_t to);

/*
 * Begin a piece of work of step id, which is ready: set the bytes of its
 * worker. Returns the seconds before data flow.
 */
double node_work_begin(struct node_run *r, uint32_t id);
/* Set the path of its bytes. */
void node_work_path(struct node_run *r, uint32_t id, struct node_path *path);
/* Go on to the next part of a pass. False: there is none. */
bool node_work_next(struct node_run *r, uint32_t id);
/* Seconds before data of that part flow. */
double node_work_delay(const struct node_run *r, uint32_t id);
/* The receive whose data the current part of a pass reads from their sender;
 * NODE_NONE: it reads data of its own. */
uint32_t node_work_source(const struct node_run *r, uint32_t id);

#endif
