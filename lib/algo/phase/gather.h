/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Binomial gather of a vector's blocks to a root, over the members of a group,
 * and scatter from it by the same messages in the other direction. ceil(lg p)
 * rounds, p - 1 blocks in all, for every p and root.
 *
 * Members [0, p) are halved down to single ones; the lowest of a half collects
 * its blocks, the root those of the half that it is in. Members are not
 * rotated, so each message is one span of the vector. The root is always in the
 * larger half, so that it never waits for more than it has by then itself.
 */
#ifndef RCX_ALGO_GATHER_H
#define RCX_ALGO_GATHER_H

#include "core/sched/algo.h"

enum { RCX_GATHER_DEPTH = 32 };

struct rcx_gather {
    struct rcx_builder *b;
    struct rcx_span own; /* the place of this member's block */
    struct rcx_span all; /* the blocks that it collects, its own among them */
    struct {
        int rank;
        struct rcx_span blocks;
    } children[RCX_GATHER_DEPTH]; /* whom it gets them from, largest first */
    int child_count;
    int parent; /* the rank that gets them; -1: this is the root */
};

/* vector: of the root; other members collect in their own vector's place of
 * it, or in scratch where that is empty. */
void rcx_gather_begin(struct rcx_gather *gather, struct rcx_builder *b,
                      const struct rcx_group *g,
                      const struct rcx_blocks *blocks, int root,
                      struct rcx_span vector);
/* To be called when the steps that fill the own block are written. */
void rcx_gather_finish(struct rcx_gather *gather);
/* Scatter, instead: the root has vector, all end with their own block. */
void rcx_gather_reverse(struct rcx_gather *gather);
/* Of either; no message is longer than the vector. */
struct rcx_cost rcx_gather_cost(const struct rcx_blocks *blocks);

#endif
