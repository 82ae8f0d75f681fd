/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The time of a simulated call in the one-ported model: at a time, each rank
 * sends one message, receives one message, and combines one pair of operands.
 * Each of these happens in program order.
 */
#ifndef RCX_SIM_TIMING_H
#define RCX_SIM_TIMING_H

#include "core/sched/params.h"
#include "sim/simulate.h"

enum simulation_mode {
    SIMULATION_OVERLAP, /* a rank combines while it sends and receives */
    /* A rank combines or communicates, as in the papers' model. A combine
     * starts when all messages before it in program order have ended, and a
     * message when all combines before it have ended. */
    SIMULATION_PAPER
};

/*
 * Compute the three parts of the cost, with overlap. Each is the time of the
 * slowest rank. rounds: a message takes time 1, and nothing else takes time.
 * volume: a message takes the number of its elements. combines: a combine takes
 * the number of its elements. False: there is no memory, or in program order
 * the ranks wait for each other in a cycle; s->text says which.
 */
bool simulation_clock(struct simulation *s, struct rcx_cost *cost_p);

/*
 * Compute rounds and volume within a node, where a message arrives without its
 * receive. rounds: only messages that wait for each other come one after
 * another. volume: a rank copies a message in, for half of its elements, and
 * the receiver copies it out, for the other half, each one at a time. A copy
 * for several peers (sched/shared.c) is made once.
 */
bool simulation_clock_in_node(struct simulation *s, double *rounds_p,
                              double *volume_p);

/* What ranks send and receive, whenever it is. */
struct simulation_loads {
    double messages; /* sent by all ranks */
    double rounds;   /* most that a rank sends, or receives: messages */
    double volume;   /* elements */
};
struct simulation_loads simulation_loads(const struct simulation *s);

/* Compute the time of the slowest rank on machine. False: as above. */
bool simulation_time(struct simulation *s, const struct rcx_machine *machine,
                     enum simulation_mode mode, double *time_p);

/*
 * Return the round in which each step of all ranks ends: a message from one
 * node to another takes time 1, on both sides, and nothing else takes time.
 * nodes NULL: each message takes time 1. NULL: no memory, or a cycle, as above.
 * The caller frees the array through s->heap.
 */
double *simulation_ends(struct simulation *s, const struct rcx_nodes *nodes);

#define SIMULATION_NO_STEP UINT32_MAX
/*
 * Return for each step of all ranks the other side of its message, or
 * SIMULATION_NO_STEP. NULL: no memory. The caller frees the array through
 * s->heap.
 */
uint32_t *simulation_partners(struct simulation *s);

#endif
