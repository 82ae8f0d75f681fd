/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The fixed tree over ranks [0, p) by which CANONICAL algorithms combine: an
 * interval splits at the largest power of two below its length (the binomial
 * tree, truncated at p).
 */
#ifndef RCX_ALGO_PHASE_TREE_H
#define RCX_ALGO_PHASE_TREE_H

#include "core/sched/algo.h"

/* Ranks [lo, hi). */
struct rcx_interval {
    int lo, hi;
};

/* Return where [lo, hi), two ranks or more, splits. */
static inline int rcx_tree_split(struct rcx_interval node)
{
    return node.lo + rcx_pow2_floor(node.hi - node.lo - 1);
}

/*
 * A combiner: operands arrive in any order and are combined by the fixed tree
 * as soon as both halves of a node are there. Few wait at a time if neighbours
 * in rank order arrive one after another.
 */
enum { RCX_COMBINER_NODES = 72 }; /* two per level of 2^31 ranks, and spare */

struct rcx_combiner {
    struct rcx_builder *b;
    int size;
    size_t count;
    struct rcx_span result; /* place of the sum of all operands */
    struct {
        struct rcx_interval ranks;
        struct rcx_span span;
    } nodes[RCX_COMBINER_NODES];
    int node_count;
    struct rcx_span slots[RCX_COMBINER_NODES]; /* free scratch, oldest first */
    int slot_count;
};

void rcx_combiner_init(struct rcx_combiner *c, struct rcx_builder *b, int size,
                       struct rcx_span result);
/* Return scratch for an operand that is yet to come. */
struct rcx_span rcx_combiner_slot(struct rcx_combiner *c);
/* Add the operand of rank, which is at span: a slot, or a span that no step
 * writes. */
void rcx_combiner_add(struct rcx_combiner *c, int rank, struct rcx_span span);

#endif
