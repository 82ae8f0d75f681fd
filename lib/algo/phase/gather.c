/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Gather of blocks to a root along a tree of topology.h, and scatter by the
 * same messages in reverse, as phases. They serve gather, scatter, reduce,
 * bcast and reduce-scatter algorithms. gather.h has the contracts.
 */
#include "algo/phase/gather.h"

enum { NONE = RCX_TOPOLOGY_NONE };

/* Return where the blocks of members lie in the vector. */
static struct rcx_span place_of(const struct rcx_blocks *blocks,
                                struct rcx_interval members)
{
    const struct rcx_span vector = {.count = blocks->count};

    return rcx_block_range(blocks, vector, members.lo, members.hi);
}

/* Return the blocks of members, within those that this member collects. */
static struct rcx_span blocks_of(const struct rcx_gather *gather,
                                 struct rcx_interval members)
{
    const struct rcx_span all = place_of(gather->blocks, gather->members);
    const struct rcx_span place = place_of(gather->blocks, members);

    return rcx_span_sub(gather->all, place.offset - all.offset, place.count);
}

void rcx_gather_begin_along(struct rcx_gather *gather, struct rcx_builder *b,
                            const struct rcx_group *g,
                            const struct rcx_blocks *blocks,
                            const struct rcx_topology *tree,
                            struct rcx_span vector, struct rcx_span own)
{
    const int me = g->rank;
    const struct rcx_interval members = rcx_topology_below(tree, 0, me);
    const struct rcx_span place = place_of(blocks, members);

    *gather = (struct rcx_gather){
        .b = b, .g = g, .blocks = blocks, .tree = *tree, .members = members};
    if (vector.count > 0)
        gather->all = rcx_span_sub(vector, place.offset, place.count);
    else if (rcx_topology_child(tree, 0, me, 0) == NONE)
        gather->all = own;
    else
        gather->all = rcx_span_scratch(b, place.count);
    gather->own =
        blocks_of(gather, (struct rcx_interval){.lo = me, .hi = me + 1});
}

void rcx_gather_begin(struct rcx_gather *gather, struct rcx_builder *b,
                      const struct rcx_group *g,
                      const struct rcx_blocks *blocks, int root,
                      struct rcx_span vector)
{
    const struct rcx_span block = place_of(
        blocks, (struct rcx_interval){.lo = g->rank, .hi = g->rank + 1});
    const struct rcx_topology tree =
        rcx_topology_gathering(rcx_topology_binomial(g->size, root));
    const bool needs_it =
        vector.count == 0 && rcx_topology_child(&tree, 0, g->rank, 0) == NONE;

    rcx_gather_begin_along(gather, b, g, blocks, &tree, vector,
                           rcx_span_scratch(b, needs_it ? block.count : 0));
}

static int child_of(const struct rcx_gather *gather, int i)
{
    return rcx_topology_child(&gather->tree, 0, gather->g->rank, i);
}

static struct rcx_span blocks_below(const struct rcx_gather *gather, int child)
{
    return blocks_of(gather, rcx_topology_below(&gather->tree, 0, child));
}

void rcx_gather_finish(struct rcx_gather *gather)
{
    const int parent = rcx_topology_parent(&gather->tree, 0, gather->g->rank);
    int child;

    for (int i = 0; (child = child_of(gather, i)) != NONE; i++)
        rcx_step_recv(gather->b, rcx_group_member(gather->g, child),
                      blocks_below(gather, child));
    if (parent != NONE)
        rcx_step_send(gather->b, rcx_group_member(gather->g, parent),
                      gather->all);
}

void rcx_gather_reverse(struct rcx_gather *gather)
{
    const int parent = rcx_topology_parent(&gather->tree, 0, gather->g->rank);
    int children = 0;

    while (child_of(gather, children) != NONE)
        children++;
    if (parent != NONE)
        rcx_step_recv(gather->b, rcx_group_member(gather->g, parent),
                      gather->all);
    for (int i = children - 1; i >= 0; i--) {
        const int child = child_of(gather, i);

        rcx_step_send(gather->b, rcx_group_member(gather->g, child),
                      blocks_below(gather, child));
    }
}

void rcx_gather_reduced(struct rcx_builder *b, const struct rcx_shape *s,
                        rcx_reduce_scatter_phase *phase)
{
    const struct rcx_group all = rcx_group_all(s);
    const struct rcx_blocks blocks = rcx_blocks_of(s);
    struct rcx_gather gather;

    rcx_gather_begin(&gather, b, &all, &blocks, s->root, rcx_span_out(s));
    phase(b, &all, &blocks, rcx_span_in(s), gather.own);
    rcx_gather_finish(&gather);
}

static struct rcx_cost cost_along(const struct rcx_topology *tree,
                                  const struct rcx_blocks *blocks)
{
    const double rounds = rcx_topology_rounds(tree);
    const double most = rounds * (double)blocks->count;
    const double volume =
        rcx_topology_blocks(tree) * (double)rcx_blocks_largest(blocks);

    return (struct rcx_cost){.rounds = rounds,
                             .volume = volume < most ? volume : most,
                             .idle = rounds - (tree->size - 1.0) / tree->size};
}

struct rcx_cost rcx_gather_cost(const struct rcx_blocks *blocks)
{
    const struct rcx_topology tree = rcx_topology_binomial(blocks->n, 0);

    return cost_along(&tree, blocks);
}

struct rcx_cost rcx_gather_tree_cost(const struct rcx_shape *s)
{
    const struct rcx_blocks blocks = rcx_blocks_of(s);
    const struct rcx_topology tree = rcx_topology_of(s);

    return cost_along(&tree, &blocks);
}
