/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Reduction and broadcast along the trees of topology.h, with their costs, as
 * phases of reduce, bcast, allreduce, reduce-scatter and barrier algorithms.
 * tree_phase.h has the contracts.
 */
#include "algo/phase/tree_phase.h"

/* SCRATCH: vectors from children, so many that the reductions of one round of
 * them can be fused. */
enum { NONE = RCX_TOPOLOGY_NONE, SCRATCH = 2 * RCX_FUSED_PARTS };

/* Return the tree that a member handles as number i. Of two trees, it is
 * first the one in which the member is a leaf, as that message can be sent
 * at once. */
static int tree_in_turn(const struct rcx_topology *t, int me, int i)
{
    const bool swap = t->trees == 2 &&
                      rcx_topology_child(t, 0, me, 0) != NONE &&
                      rcx_topology_child(t, 1, me, 0) == NONE;

    return swap ? 1 - i : i;
}

static void reduce_tree(struct rcx_builder *b, const struct rcx_group *g,
                        const struct rcx_topology *t, int tree,
                        struct rcx_span operand, struct rcx_span result)
{
    const int me = g->rank, parent = rcx_topology_parent(t, tree, me);
    struct rcx_span partial = operand, scratch[SCRATCH];
    int child;

    for (int i = 0; (child = rcx_topology_child(t, tree, me, i)) != NONE; i++) {
        struct rcx_span theirs;

        if (i == 0 && result.count == 0)
            result = rcx_span_scratch(b, operand.count);
        if (i < SCRATCH)
            scratch[i] = rcx_span_scratch(b, operand.count);
        theirs = scratch[i % SCRATCH];
        rcx_step_recv(b, rcx_group_member(g, child), theirs);
        if (child < me)
            rcx_step_reduce(b, result, theirs, partial);
        else
            rcx_step_reduce(b, result, partial, theirs);
        partial = result;
    }
    if (parent != NONE)
        rcx_step_send(b, rcx_group_member(g, parent), partial);
}

void rcx_tree_phase_reduce(struct rcx_builder *b, const struct rcx_group *g,
                           const struct rcx_topology *t,
                           struct rcx_span operand, struct rcx_span result)
{
    if (t->size == 1)
        rcx_step_copy(b, result, operand);
    for (int i = 0; i < t->trees; i++) {
        const int tree = tree_in_turn(t, g->rank, i);

        reduce_tree(b, g, t, tree, rcx_span_part(operand, t->trees, tree),
                    rcx_span_part(result, t->trees, tree));
    }
}

static void bcast_tree(struct rcx_builder *b, const struct rcx_group *g,
                       const struct rcx_topology *t, int tree,
                       struct rcx_span vector)
{
    const int me = g->rank, parent = rcx_topology_parent(t, tree, me);
    int children = 0;

    while (rcx_topology_child(t, tree, me, children) != NONE)
        children++;
    if (parent != NONE)
        rcx_step_recv(b, rcx_group_member(g, parent), vector);
    for (int i = children - 1; i >= 0; i--) {
        const int child = rcx_topology_child(t, tree, me, i);

        rcx_step_send(b, rcx_group_member(g, child), vector);
    }
}

/* The steps of the reduction in reverse, so that the broadcast takes as
 * long. */
void rcx_tree_phase_bcast(struct rcx_builder *b, const struct rcx_group *g,
                          const struct rcx_topology *t, struct rcx_span vector)
{
    for (int i = t->trees - 1; i >= 0; i--) {
        const int tree = tree_in_turn(t, g->rank, i);

        bcast_tree(b, g, t, tree, rcx_span_part(vector, t->trees, tree));
    }
}

/* ---- Costs --------------------------------------------------------------- */

/* Each link of a tree carries one message. */
static double idle_in(const struct rcx_topology *t, double rounds)
{
    return rounds - t->trees * (t->size - 1.0) / t->size;
}

struct rcx_cost rcx_tree_phase_reduce_cost(const struct rcx_topology *t,
                                           size_t count)
{
    const double rounds = rcx_topology_rounds(t);
    const double elements = rounds * (double)count / t->trees;

    const double again = rounds - rcx_topology_depth(t);
    const double others = rounds - rcx_topology_busiest(t);

    return (struct rcx_cost){
        .rounds = rounds,
        .volume = elements,
        .combines = elements,
        .saved = {again, 0.5 * again * (double)count / t->trees},
        .slack = {others, others * (double)count / t->trees},
        .idle = idle_in(t, rounds)};
}

struct rcx_cost rcx_tree_phase_bcast_cost(const struct rcx_topology *t,
                                          size_t count)
{
    const double rounds = rcx_topology_rounds(t);

    const double depth = rcx_topology_depth(t);
    const double part = (double)count / t->trees;
    const double others = rounds - rcx_topology_busiest(t);

    return (struct rcx_cost){.rounds = rounds,
                             .volume = rounds * part,
                             .saved = {rounds - depth, (rounds - depth) * part},
                             .slack = {others, others * part},
                             .idle = idle_in(t, rounds)};
}
