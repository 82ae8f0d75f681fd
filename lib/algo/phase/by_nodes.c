/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Common parts of the hierarchical algorithms: the cheapest phases within and
 * between nodes, their costs, and blocks in the order of nodes. The algorithms
 * are in hierarchical.c of each collective.
 */
#include "algo/phase/by_nodes.h"

enum { NOBODY = -1 };

bool rcx_by_nodes_fits(const struct rcx_shape *s)
{
    return rcx_nodes_are_shared(s->nodes);
}

rcx_order_t rcx_by_nodes_needed(const struct rcx_shape *s)
{
    return s->commutative ? RCX_ORDER_SAME : RCX_ORDER_RANK;
}

rcx_order_t rcx_by_nodes_order(const struct rcx_shape *s)
{
    return s->nodes->in_order ? rcx_by_nodes_needed(s) : RCX_ORDER_SAME;
}

struct rcx_phase rcx_by_nodes_within(enum rcx_coll coll,
                                     const struct rcx_shape *s, int ranks,
                                     size_t count)
{
    return rcx_phase_cheapest(coll, rcx_by_nodes_needed(s), s, ranks, count,
                              rcx_scope_within(s));
}

static void raise_to(double *most, double x)
{
    if (x > *most)
        *most = x;
}

static void raise_by(struct rcx_cost *most, enum rcx_coll coll,
                     const struct rcx_shape *s, int ranks, size_t count,
                     int root)
{
    struct rcx_phase phase = rcx_by_nodes_within(coll, s, ranks, count);
    struct rcx_cost cost;

    phase.root = root;
    cost = rcx_phase_cost(&phase, s, ranks, count);
    if (cost.rounds >= most->rounds) {
        most->saved = cost.saved;
        most->slack = cost.slack;
        most->idle = cost.idle;
    }
    raise_to(&most->rounds, cost.rounds);
    raise_to(&most->volume, cost.volume);
    raise_to(&most->combines, cost.combines);
    for (int l = 0; l < RCX_LEVELS; l++) {
        if (cost.across[l].rounds >= most->across[l].rounds) {
            most->across[l].saved = cost.across[l].saved;
            most->across[l].idle = cost.across[l].idle;
        }
        raise_to(&most->across[l].rounds, cost.across[l].rounds);
        raise_to(&most->across[l].volume, cost.across[l].volume);
    }
}

/* A phase within the root's node may have its root at any place, so it is
 * priced apart. */
struct rcx_cost rcx_by_nodes_within_cost(enum rcx_coll coll,
                                         const struct rcx_shape *s,
                                         size_t count)
{
    const int home = s->nodes->node[s->root], place = s->nodes->place[s->root];
    struct rcx_cost most = {0};

    for (int ranks = s->nodes->least; ranks <= s->nodes->most; ranks++)
        raise_by(&most, coll, s, ranks, count, 0);
    if (rcx_coll_is_rooted(coll) && place > 0)
        raise_by(&most, coll, s, rcx_nodes_size(s->nodes, home), count, place);
    return most;
}

struct rcx_phase rcx_by_nodes_between(enum rcx_coll coll,
                                      const struct rcx_shape *s, size_t count)
{
    return rcx_phase_cheapest(coll, rcx_by_nodes_needed(s), s, s->nodes->count,
                              count, rcx_scope_between(s, 1));
}

struct rcx_cost rcx_by_nodes_between_cost(enum rcx_coll coll,
                                          const struct rcx_shape *s,
                                          size_t count)
{
    struct rcx_phase phase = rcx_by_nodes_between(coll, s, count);

    if (rcx_coll_is_rooted(coll))
        phase.root = s->nodes->node[s->root];
    return rcx_phase_cost(&phase, s, s->nodes->count, count);
}

/* ---- Blocks, node by node ------------------------------------------------ */

static size_t block_of(const struct rcx_shape *s, int index)
{
    return rcx_shape_block(s, s->nodes->ranks[index]).count;
}

static void fill(const struct rcx_by_nodes_blocks *blocks,
                 const struct rcx_shape *s)
{
    const struct rcx_nodes *n = s->nodes;
    const int own = rcx_by_nodes_own(s);
    size_t at = 0;

    for (int k = 0; k < n->count; k++) {
        blocks->nodes[k] = at;
        for (int i = n->first[k]; i < n->first[k + 1]; i++) {
            if (k == own)
                blocks->own[i - n->first[k]] = at - blocks->nodes[k];
            at += block_of(s, i);
        }
        if (k == own)
            blocks->own[rcx_nodes_size(n, k)] = at - blocks->nodes[k];
    }
    blocks->nodes[n->count] = at;
}

void rcx_by_nodes_build(struct rcx_builder *b, const struct rcx_shape *s,
                        void (*write)(struct rcx_builder *b,
                                      const struct rcx_shape *s,
                                      const struct rcx_by_nodes_blocks *blocks))
{
    const size_t nodes = (size_t)s->nodes->count;
    const size_t ranks = (size_t)rcx_nodes_size(s->nodes, rcx_by_nodes_own(s));
    struct rcx_by_nodes_blocks blocks = {
        .nodes = rcx_heap_alloc(b->heap,
                                (nodes + ranks + 2) * sizeof *blocks.nodes)};

    if (!blocks.nodes) {
        rcx_builder_fail(b, RCX_ERR_NOMEM);
        return;
    }
    blocks.own = blocks.nodes + nodes + 1;
    fill(&blocks, s);
    write(b, s, &blocks);
    rcx_heap_free(b->heap, blocks.nodes);
}

struct rcx_span rcx_by_nodes_part(const struct rcx_by_nodes_blocks *blocks,
                                  const struct rcx_shape *s,
                                  struct rcx_span all)
{
    const size_t *at = &blocks->nodes[rcx_by_nodes_own(s)];

    return rcx_span_sub(all, at[0], at[1] - at[0]);
}

size_t rcx_by_nodes_most(const struct rcx_shape *s)
{
    const struct rcx_blocks blocks = rcx_blocks_of(s);

    return rcx_blocks_largest(&blocks) * (size_t)s->nodes->most;
}

/* Copy blocks between vector, which is in rank order, and all, which is in the
 * order of nodes; is_back: to vector. The block of rank `but` is left out. */
static void copy_all(struct rcx_builder *b, const struct rcx_shape *s,
                     struct rcx_span all, struct rcx_span vector, bool is_back,
                     int but)
{
    size_t at = 0;

    for (int i = 0; i < s->size; i++) {
        const struct rcx_span block = rcx_shape_block(s, s->nodes->ranks[i]);
        const struct rcx_span there = rcx_span_sub(all, at, block.count);
        const struct rcx_span here =
            rcx_span_sub(vector, block.offset, block.count);

        if (block.count > 0 && s->nodes->ranks[i] != but)
            rcx_step_copy(b, is_back ? here : there, is_back ? there : here);
        at += block.count;
    }
}

void rcx_by_nodes_pack(struct rcx_builder *b, const struct rcx_shape *s,
                       struct rcx_span all, struct rcx_span vector)
{
    copy_all(b, s, all, vector, false, NOBODY);
}

void rcx_by_nodes_unpack(struct rcx_builder *b, const struct rcx_shape *s,
                         struct rcx_span vector, struct rcx_span all)
{
    copy_all(b, s, all, vector, true, NOBODY);
}

void rcx_by_nodes_pack_others(struct rcx_builder *b, const struct rcx_shape *s,
                              struct rcx_span all, struct rcx_span vector)
{
    copy_all(b, s, all, vector, false, s->rank);
}

void rcx_by_nodes_unpack_others(struct rcx_builder *b,
                                const struct rcx_shape *s,
                                struct rcx_span vector, struct rcx_span all)
{
    copy_all(b, s, all, vector, true, s->rank);
}

/* ---- Blocks to the root, or from it -------------------------------------- */

struct rcx_cost rcx_by_nodes_rooted_cost(const struct rcx_shape *s)
{
    const size_t part = rcx_by_nodes_most(s);
    const size_t most = part * (size_t)s->nodes->count;

    return rcx_cost_sum(rcx_by_nodes_within_cost(s->coll, s, part),
                        rcx_by_nodes_between_cost(s->coll, s, most));
}

struct rcx_by_nodes_rooted
rcx_by_nodes_rooted(struct rcx_builder *b, const struct rcx_shape *s,
                    const struct rcx_by_nodes_blocks *blocks,
                    struct rcx_span vector)
{
    const size_t part = rcx_by_nodes_most(s);
    const bool is_root = s->rank == s->root;
    struct rcx_by_nodes_rooted r = {.node = rcx_by_nodes_neighbours(s),
                                    .leaders = rcx_group_leaders(s),
                                    .all = vector,
                                    .mine = vector,
                                    .packs = is_root && !s->nodes->in_order};

    r.within = rcx_by_nodes_within(s->coll, s, r.node.size, part);
    r.within.root = rcx_by_nodes_leader(s);
    r.within.displs = blocks->own;
    r.between =
        rcx_by_nodes_between(s->coll, s, part * (size_t)s->nodes->count);
    r.between.root = s->nodes->node[s->root];
    r.between.displs = blocks->nodes;
    if (r.packs)
        r.all = rcx_span_scratch(b, s->count);
    if (is_root)
        r.mine = rcx_by_nodes_part(blocks, s, r.all);
    else if (r.leaders.rank >= 0)
        r.mine = rcx_span_scratch(b, blocks->own[r.node.size]);
    return r;
}
