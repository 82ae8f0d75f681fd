/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Common parts of hierarchical algorithms: a phase within each node, and one
 * between the leaders of the nodes. Leaders are ranks at equal places of
 * the nodes, or the root and the first ranks of the other nodes.
 */
#ifndef RCX_ALGO_PHASE_BY_NODES_H
#define RCX_ALGO_PHASE_BY_NODES_H

#include "core/sched/algo.h"

/* Whether there are several nodes, or cores, and more ranks than these. */
bool rcx_by_nodes_fits(const struct rcx_shape *s);
#define RCX_BY_NODES_NEEDS "nodes or cores that ranks share"

/* Return the order level that phases are chosen to keep, for any length. */
rcx_order_t rcx_by_nodes_needed(const struct rcx_shape *s);
/* Return the order level of the whole algorithm. Operands are in rank order if
 * nodes are intervals of ranks. Segments of different lengths may have
 * different phases, so no better level is stated. */
rcx_order_t rcx_by_nodes_order(const struct rcx_shape *s);

/* Return the cheapest phase within a node of so many ranks. */
struct rcx_phase rcx_by_nodes_within(enum rcx_coll coll,
                                     const struct rcx_shape *s, int ranks,
                                     size_t count);
/* Return its cost in the slowest node. */
struct rcx_cost rcx_by_nodes_within_cost(enum rcx_coll coll,
                                         const struct rcx_shape *s,
                                         size_t count);

/* Return the cheapest phase among the leaders, one of each node, and its
 * cost. */
struct rcx_phase rcx_by_nodes_between(enum rcx_coll coll,
                                      const struct rcx_shape *s, size_t count);
struct rcx_cost rcx_by_nodes_between_cost(enum rcx_coll coll,
                                          const struct rcx_shape *s,
                                          size_t count);

/* Return this rank's node, the place of its leader, and the group of its
 * ranks. */
static inline int rcx_by_nodes_own(const struct rcx_shape *s)
{
    return s->nodes->node[s->rank];
}
static inline int rcx_by_nodes_leader(const struct rcx_shape *s)
{
    return s->nodes->node[s->root] == rcx_by_nodes_own(s)
               ? s->nodes->place[s->root]
               : 0;
}
static inline struct rcx_group
rcx_by_nodes_neighbours(const struct rcx_shape *s)
{
    return rcx_group_node(s, rcx_by_nodes_own(s));
}

/* ---- Blocks, node by node ------------------------------------------------ */

struct rcx_by_nodes_blocks {
    size_t *nodes; /* where the blocks of each node begin, and the end */
    size_t *own;   /* starts of this node's blocks in its part, and the end */
};
/* Call write(), which writes the schedule, with the starts of the blocks of s
 * in the order of nodes. */
void rcx_by_nodes_build(
    struct rcx_builder *b, const struct rcx_shape *s,
    void (*write)(struct rcx_builder *b, const struct rcx_shape *s,
                  const struct rcx_by_nodes_blocks *blocks));
/* Return the blocks of this node, of a vector in the order of nodes. */
struct rcx_span rcx_by_nodes_part(const struct rcx_by_nodes_blocks *blocks,
                                  const struct rcx_shape *s,
                                  struct rcx_span all);
/* Return the elements of the largest node, as if all blocks were as long as the
 * longest. */
size_t rcx_by_nodes_most(const struct rcx_shape *s);
/* Copy the blocks of vector, which is in rank order, to all, which is in the
 * order of nodes; or back. */
void rcx_by_nodes_pack(struct rcx_builder *b, const struct rcx_shape *s,
                       struct rcx_span all, struct rcx_span vector);
void rcx_by_nodes_unpack(struct rcx_builder *b, const struct rcx_shape *s,
                         struct rcx_span vector, struct rcx_span all);

/* The same without this rank's own block, whose place is not written. */
void rcx_by_nodes_pack_others(struct rcx_builder *b, const struct rcx_shape *s,
                              struct rcx_span all, struct rcx_span vector);
void rcx_by_nodes_unpack_others(struct rcx_builder *b,
                                const struct rcx_shape *s,
                                struct rcx_span vector, struct rcx_span all);

/* ---- Blocks to the root, or from it -------------------------------------- */

/* Gather or scatter of s within each node, and between leaders. */
struct rcx_by_nodes_rooted {
    struct rcx_group node, leaders;
    struct rcx_phase within, between;
    struct rcx_span all;  /* at the root: the vector in the order of nodes */
    struct rcx_span mine; /* at leaders: the blocks of their node */
    bool packs;           /* all is scratch */
};
/* Set up these phases. vector: the root's operand or result. */
struct rcx_by_nodes_rooted
rcx_by_nodes_rooted(struct rcx_builder *b, const struct rcx_shape *s,
                    const struct rcx_by_nodes_blocks *blocks,
                    struct rcx_span vector);
struct rcx_cost rcx_by_nodes_rooted_cost(const struct rcx_shape *s);

#endif
