/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What algorithms over nodes have in common: a phase within each node, and one
 * between ranks at equal places of the nodes, which are its leaders.
 */
#ifndef RCX_ALGO_PHASE_BY_NODES_H
#define RCX_ALGO_PHASE_BY_NODES_H

#include "core/sched/algo.h"

/* More nodes than one, and more ranks than nodes. */
bool rcx_by_nodes_fits(const struct rcx_shape *s);
extern const char *const rcx_by_nodes_needs;

/* The level that a phase has to keep, of reductions and what they are made of. */
rcx_order_t rcx_by_nodes_needed(const struct rcx_shape *s);
/* What comes of the levels of two phases one after the other: operands are in
 * the order of ranks if those of a node are side by side. */
rcx_order_t rcx_by_nodes_order(const struct rcx_shape *s, rcx_order_t within,
                               rcx_order_t between);

/* The cheapest phase within a node of so many ranks. */
struct rcx_phase rcx_by_nodes_within(enum rcx_coll coll,
                                     const struct rcx_shape *s, int ranks,
                                     size_t count);
/* What that costs in the slowest node. */
struct rcx_cost rcx_by_nodes_within_cost(enum rcx_coll coll,
                                         const struct rcx_shape *s,
                                         size_t count);
/* The level that it keeps in all of them. */
rcx_order_t rcx_by_nodes_within_order(enum rcx_coll coll,
                                      const struct rcx_shape *s, size_t count);

/* This rank's node, and its ranks. */
static inline int rcx_by_nodes_own(const struct rcx_shape *s)
{
    return s->nodes->node[s->rank];
}
static inline struct rcx_group
rcx_by_nodes_neighbours(const struct rcx_shape *s)
{
    return rcx_group_node(s, rcx_by_nodes_own(s));
}

#endif
