/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Trees over ranks 0..p-1 with any of them as the root (OCC manual 2005, 2.3),
 * as numbers: the parent and the children of a rank.
 *
 * Every subtree is an interval of ranks. A rank's children come in an order in
 * which each subtree is next to the ranks gathered so far, below or above. So
 * operands stay in rank order for every root, and no rank is renumbered.
 */
#ifndef RCX_ALGO_PHASE_TOPOLOGY_H
#define RCX_ALGO_PHASE_TOPOLOGY_H

#include "algo/phase/tree.h"

struct rcx_topology_kind;

struct rcx_topology {
    const struct rcx_topology_kind *kind;
    int size, root;
    int fan;       /* radix, or number of parts; see topology.c */
    int trees;     /* 2: each carries a half of the vector */
    bool mirrored; /* rank i has place size - 1 - i; root is a place */
};

enum { RCX_TOPOLOGY_NONE = -1 };

/* Parameters of algorithms over any topology: [topology, fan]. */
extern const struct rcx_param rcx_topology_params[];
extern const char rcx_topology_needs[];
/* The same, with a shape that the price may choose. */
extern const struct rcx_param rcx_topology_bcast_params[];
/* The same for algorithms over a single tree, without double. */
extern const struct rcx_param rcx_topology_tree_params[];
/* Set either parameters to a flat tree. */
void rcx_topology_set_flat(int64_t params[]);
bool rcx_topology_fits(const struct rcx_shape *s);
/* Return CANONICAL for binomial, bine and up to two ranks, RANK for two trees,
 * else UNIFORM. */
rcx_order_t rcx_topology_order(const struct rcx_shape *s);

/* Return the topology that the parameters ask for. */
struct rcx_topology rcx_topology_of(const struct rcx_shape *s);
struct rcx_topology rcx_topology_binomial(int size, int root);
struct rcx_topology rcx_topology_binary(int size, int root);
/*
 * Return the tree for a gather. A binomial, bine or knomial tree is mirrored if
 * its root would be in the last, truncated part. So the root never waits for
 * more blocks than it has itself by then.
 */
struct rcx_topology rcx_topology_gathering(struct rcx_topology t);

/* Return the parent of rank; NONE: rank is the root. */
int rcx_topology_parent(const struct rcx_topology *t, int tree, int rank);
/* Return child i of rank, in the order in which children send; NONE: there are
 * fewer. */
int rcx_topology_child(const struct rcx_topology *t, int tree, int rank, int i);
/* Return the subtree of rank. */
struct rcx_interval rcx_topology_below(const struct rcx_topology *t, int tree,
                                       int rank);
/* Return how long a reduction takes, in messages one after another. */
int rcx_topology_rounds(const struct rcx_topology *t);
/* Return how long a broadcast takes, in messages one after another, if a rank
 * sends one message to all its children at once. */
int rcx_topology_depth(const struct rcx_topology *t);
/* Return how many messages the busiest rank at most receives from its children,
 * in all trees. */
int rcx_topology_busiest(const struct rcx_topology *t);
/* Return how long the gather of equal blocks along a gathering tree takes, in
 * blocks one after another. */
double rcx_topology_blocks(const struct rcx_topology *t);

#endif
