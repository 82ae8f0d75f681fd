/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Gather of a vector's blocks to a root along a tree over the members of a
 * group, and scatter from the root by the same messages in reverse.
 *
 * Each subtree is an interval of members, so its blocks are one span of the
 * vector and travel in one message. The binomial tree takes ceil(lg p) rounds,
 * in which the root receives p - 1 blocks, for every p and root.
 */
#ifndef RCX_ALGO_PHASE_GATHER_H
#define RCX_ALGO_PHASE_GATHER_H

#include "algo/phase/topology.h"

struct rcx_gather {
    struct rcx_builder *b;
    const struct rcx_group *g;
    const struct rcx_blocks *blocks;
    struct rcx_topology tree;
    struct rcx_interval members; /* of this member's subtree */
    struct rcx_span all;         /* their blocks, which it collects */
    struct rcx_span own;         /* place of its own block */
};

/* Begin along the binomial tree. vector: the root's vector; other members
 * collect blocks at their places in a vector of their own, or in scratch if
 * theirs is empty. g and blocks stay valid until the gather is finished. */
void rcx_gather_begin(struct rcx_gather *gather, struct rcx_builder *b,
                      const struct rcx_group *g,
                      const struct rcx_blocks *blocks, int root,
                      struct rcx_span vector);
/* Begin along a tree of rcx_topology_gathering(). A leaf with an empty vector
 * has its block at own, so that only inner members need scratch. */
void rcx_gather_begin_along(struct rcx_gather *gather, struct rcx_builder *b,
                            const struct rcx_group *g,
                            const struct rcx_blocks *blocks,
                            const struct rcx_topology *tree,
                            struct rcx_span vector, struct rcx_span own);
/* Write the messages of the gather. Call it when the steps that fill the own
 * block are written. */
void rcx_gather_finish(struct rcx_gather *gather);
/* Write the messages of a scatter instead: the root has vector, and each member
 * ends with its own block. */
void rcx_gather_reverse(struct rcx_gather *gather);
/* Return the cost of either along the binomial tree; no message is longer than
 * the vector. */
struct rcx_cost rcx_gather_cost(const struct rcx_blocks *blocks);
/* Return the cost of either along the tree that the parameters select. */
struct rcx_cost rcx_gather_tree_cost(const struct rcx_shape *s);

typedef void rcx_reduce_scatter_phase(struct rcx_builder *b,
                                      const struct rcx_group *g,
                                      const struct rcx_blocks *blocks,
                                      struct rcx_span operand,
                                      struct rcx_span result);
/* Write a reduce: the phase on the blocks of s, then a gather of its results
 * along the binomial tree. Scratch: elsewhere than at the root up to n / 2 more
 * than the phase has. The order is that of the phase. */
void rcx_gather_reduced(struct rcx_builder *b, const struct rcx_shape *s,
                        rcx_reduce_scatter_phase *phase);

#endif
