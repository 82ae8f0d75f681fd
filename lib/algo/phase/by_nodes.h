/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What algorithms over nodes have in common: a phase within each node, and one
 * between ranks at equal places of the nodes, which are its leaders.
 */
#ifndef RCX_ALGO_PHASE_BY_NODES_H
#define RCX_ALGO_PHASE_BY_NODES_H

#include "core/sched/algo.h"

/* More nodes than one, or cores, and more ranks than these. */
bool rcx_by_nodes_fits(const struct rcx_shape *s);
#define RCX_BY_NODES_NEEDS "nodes or cores that ranks share"

/* The level that phases are chosen to keep, whatever the length. */
rcx_order_t rcx_by_nodes_needed(const struct rcx_shape *s);
/* What comes of that: operands are in the order of ranks if those of a node are
 * side by side. Segments of other lengths may have other phases, so no better
 * level is stated. */
rcx_order_t rcx_by_nodes_order(const struct rcx_shape *s);

/* The cheapest phase within a node of so many ranks. */
struct rcx_phase rcx_by_nodes_within(enum rcx_coll coll,
                                     const struct rcx_shape *s, int ranks,
                                     size_t count);
/* What that costs in the slowest node. */
struct rcx_cost rcx_by_nodes_within_cost(enum rcx_coll coll,
                                         const struct rcx_shape *s,
                                         size_t count);

/* What there is to choose of a phase of leaders, one of each node. */
struct rcx_phase rcx_by_nodes_between(enum rcx_coll coll,
                                      const struct rcx_shape *s, size_t count);
struct rcx_cost rcx_by_nodes_between_cost(enum rcx_coll coll,
                                          const struct rcx_shape *s,
                                          size_t count);

/* This rank's node, its ranks, and the place of their leader. */
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
    size_t *nodes; /* where those of each node begin, and the end */
    size_t *own;   /* where each of this one begins in them, and the end */
};
/* Have write() write the schedule, with the blocks of s. */
void rcx_by_nodes_build(
    struct rcx_builder *b, const struct rcx_shape *s,
    void (*write)(struct rcx_builder *b, const struct rcx_shape *s,
                  const struct rcx_by_nodes_blocks *blocks));
/* Those of this node, of a vector that lies at all. */
struct rcx_span rcx_by_nodes_part(const struct rcx_by_nodes_blocks *blocks,
                                  const struct rcx_shape *s,
                                  struct rcx_span all);
/* Elements of a node, as if all blocks were as long as the longest. */
size_t rcx_by_nodes_most(const struct rcx_shape *s);
/* Copy the blocks of vector, rank by rank, to all, where they lie node by node;
 * or back. */
void rcx_by_nodes_pack(struct rcx_builder *b, const struct rcx_shape *s,
                       struct rcx_span all, struct rcx_span vector);
void rcx_by_nodes_unpack(struct rcx_builder *b, const struct rcx_shape *s,
                         struct rcx_span vector, struct rcx_span all);

/* The same without this rank's own block, whose place stays empty. */
void rcx_by_nodes_pack_others(struct rcx_builder *b, const struct rcx_shape *s,
                              struct rcx_span all, struct rcx_span vector);
void rcx_by_nodes_unpack_others(struct rcx_builder *b,
                                const struct rcx_shape *s,
                                struct rcx_span vector, struct rcx_span all);

/* ---- Blocks to the root, or from it -------------------------------------- */

/* The collective of s within each node, and between leaders. */
struct rcx_by_nodes_rooted {
    struct rcx_group node, leaders;
    struct rcx_phase within, between;
    struct rcx_span all;  /* at the root: the vector, node by node */
    struct rcx_span mine; /* at leaders: what of it is their node's */
    bool packs;           /* all is scratch */
};
/* vector is what the root gives or gets. */
struct rcx_by_nodes_rooted
rcx_by_nodes_rooted(struct rcx_builder *b, const struct rcx_shape *s,
                    const struct rcx_by_nodes_blocks *blocks,
                    struct rcx_span vector);
struct rcx_cost rcx_by_nodes_rooted_cost(const struct rcx_shape *s);

#endif
