/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Trees over ranks 0..p-1 with any of them as the root (OCC manual 2005, 2.3),
 * as numbers: the parent and the children of a rank.
 *
 * Every subtree is an interval of ranks, and a rank's children come in an order
 * in which each is next to the ranks gathered so far, below or above. So
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
    bool mirrored; /* rank i is in the place of rank size - 1 - i; root is that
                      of the places */
};

enum { RCX_TOPOLOGY_NONE = -1 };

/* Of an algorithm over any topology: [topology, fan]. */
extern const struct rcx_param rcx_topology_params[];
extern const char rcx_topology_needs[];
/* Of one over any that is one tree. */
extern const struct rcx_param rcx_topology_tree_params[];
/* Parameters, of either, of a flat one. */
void rcx_topology_set_flat(int64_t params[]);
bool rcx_topology_fits(const struct rcx_shape *s);
/* UNIFORM for one tree, RANK for two; CANONICAL for the binomial one. */
rcx_order_t rcx_topology_order(const struct rcx_shape *s);

/* The one that the parameters ask for. */
struct rcx_topology rcx_topology_of(const struct rcx_shape *s);
struct rcx_topology rcx_topology_binomial(int size, int root);
struct rcx_topology rcx_topology_binary(int size, int root);
/*
 * Such a tree, for a gather: mirrored where the root of a binomial or knomial
 * one would be in the part that is cut off at size, so that it never waits for
 * more than it has by then itself.
 */
struct rcx_topology rcx_topology_gathering(struct rcx_topology t);

/* NONE: rank is the root. */
int rcx_topology_parent(const struct rcx_topology *t, int tree, int rank);
/* Child number i, in the order in which they send; NONE: there are fewer. */
int rcx_topology_child(const struct rcx_topology *t, int tree, int rank, int i);
/* The subtree of rank. */
struct rcx_interval rcx_topology_below(const struct rcx_topology *t, int tree,
                                       int rank);
/* How long a reduction takes, in messages one after another. */
int rcx_topology_rounds(const struct rcx_topology *t);
/* How long the gather of equal blocks along a gathering tree takes, in blocks
 * one after another. */
double rcx_topology_blocks(const struct rcx_topology *t);

#endif
