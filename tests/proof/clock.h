/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The time of a simulated call in the one-ported model: every rank sends one
 * message, receives one, and combines one pair of operands at a time, each in
 * program order.
 */
#ifndef RCX_TESTS_PROOF_CLOCK_H
#define RCX_TESTS_PROOF_CLOCK_H

#include "simulate.h"

/*
 * The three prices apart: rounds is the time of the slowest rank where a
 * message takes 1 and nothing else takes time, volume where a message takes
 * its elements, combines where a combine takes its elements. False: in program
 * order the ranks wait for each other in a circle.
 */
bool simulation_clock(const struct simulation *s, struct rcx_cost *cost_p);

#define SIMULATION_NO_STEP UINT32_MAX
/*
 * For every step of all ranks the other side of its message, or NO_STEP. The
 * caller frees it.
 */
uint32_t *simulation_partners(const struct simulation *s);

#endif
