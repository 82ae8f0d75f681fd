/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The time of a simulated call in the one-ported model: every rank sends one
 * message, receives one, and combines one pair of operands at a time, each in
 * program order.
 */
#ifndef RCX_SIM_TIMING_H
#define RCX_SIM_TIMING_H

#include "core/sched/params.h"
#include "sim/simulate.h"

enum simulation_mode {
    SIMULATION_OVERLAP, /* a rank combines while it sends and receives */
    /* It does either, as in the papers' model: a combine starts when all
     * messages before it in program order have ended, and they when the
     * combines before them have. */
    SIMULATION_PAPER
};

/*
 * The three prices apart: rounds is the time of the slowest rank where a
 * message takes 1 and nothing else takes time, volume where a message takes
 * its elements, combines where a combine takes its elements; with overlap.
 * False: in program order the ranks wait for each other in a circle, or there
 * is no memory; s->text says which.
 */
bool simulation_clock(struct simulation *s, struct rcx_cost *cost_p);

/* The time of the slowest rank on machine. False: as above. */
bool simulation_time(struct simulation *s, const struct rcx_machine *machine,
                     enum simulation_mode mode, double *time_p);

/*
 * When each step of all ranks ends; s->heap frees it. NULL: as above. A
 * message that takes time t started t before it ended, on both sides.
 */
double *simulation_ends(struct simulation *s, const struct rcx_machine *machine,
                        enum simulation_mode mode);

#define SIMULATION_NO_STEP UINT32_MAX
/*
 * For every step of all ranks the other side of its message, or NO_STEP.
 * s->heap frees it. NULL: no memory.
 */
uint32_t *simulation_partners(struct simulation *s);

#endif
