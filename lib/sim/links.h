/* SPDX-License-Identifier: BSD-3-Clause */
/* Data that a simulated call moves over the links between nodes. */
#ifndef RCX_SIM_LINKS_H
#define RCX_SIM_LINKS_H

#include "sim/simulate.h"

/*
 * Set across[nodes->level] of *cost_p, in a simulation in which a message
 * between nodes takes one round, and nothing else takes time: the number of
 * rounds, and the sum over rounds of the elements on the busiest link in one
 * direction. False:
 * there is no memory, or the ranks wait for each other in a cycle; s->text says
 * which.
 */
bool simulation_links(struct simulation *s, const struct rcx_nodes *nodes,
                      struct rcx_cost *cost_p);

/* Return the elements that messages move over the busiest link of a node, in
 * the direction that has more; negative: there is no memory. */
double simulation_busiest_link(struct simulation *s,
                               const struct rcx_nodes *nodes);

#endif
