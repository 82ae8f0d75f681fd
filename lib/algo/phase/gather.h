/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Gather of a vector's blocks to a root along a tree over the members of a
 * group, and scatter from it by the same messages in the other direction.
 *
 * The members below one are an interval, so that their blocks are one span of
 * the vector, and each message is one. By the binomial tree ceil(lg p) rounds
 * and p - 1 blocks in all, for every p and root.
 */
#ifndef RCX_ALGO_PHASE_GATHER_H
#define RCX_ALGO_PHASE_GATHER_H

#include "algo/phase/topology.h"

struct rcx_gather {
    struct rcx_builder *b;
    const struct rcx_group *g;
    const struct rcx_blocks *blocks;
    struct rcx_topology tree;
    struct rcx_interval members; /* whose blocks this one collects */
    struct rcx_span all;         /* those blocks, its own among them */
    struct rcx_span own;         /* the place of its own block */
};

/* Along the binomial tree. vector: of the root; other members collect in their
 * own vector's place of it, or in scratch where that is empty. g and blocks
 * stay until it is finished. */
void rcx_gather_begin(struct rcx_gather *gather, struct rcx_builder *b,
                      const struct rcx_group *g,
                      const struct rcx_blocks *blocks, int root,
                      struct rcx_span vector);
/* Along a gathering tree. A member that collects only its own block has it at
 * own, so that only inner members need scratch. */
void rcx_gather_begin_along(struct rcx_gather *gather, struct rcx_builder *b,
                            const struct rcx_group *g,
                            const struct rcx_blocks *blocks,
                            const struct rcx_topology *tree,
                            struct rcx_span vector, struct rcx_span own);
/* To be called when the steps that fill the own block are written. */
void rcx_gather_finish(struct rcx_gather *gather);
/* Scatter, instead: the root has vector, all end with their own block. */
void rcx_gather_reverse(struct rcx_gather *gather);
/* Of either; no message is longer than the vector. */
struct rcx_cost rcx_gather_cost(const struct rcx_blocks *blocks);
/* Of a gather or scatter along the tree that its parameters ask for. */
struct rcx_cost rcx_gather_tree_cost(const struct rcx_shape *s);

#endif
