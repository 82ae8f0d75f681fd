/* SPDX-License-Identifier: BSD-3-Clause */
/* What a simulated call moves over the links between nodes. */
#ifndef RCX_SIM_LINKS_H
#define RCX_SIM_LINKS_H

#include "sim/simulate.h"

/*
 * Fills in far_rounds and link_volume: in rounds in which every message takes
 * one, those that have messages between nodes, and the elements that the
 * busiest link then has to move in one direction. False: there is no memory, or
 * the ranks wait for each other in a circle; s->text says which.
 */
bool simulation_links(struct simulation *s, const struct rcx_nodes *nodes,
                      struct rcx_cost *cost_p);

#endif
