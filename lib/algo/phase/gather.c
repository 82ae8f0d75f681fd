/* SPDX-License-Identifier: BSD-3-Clause */
#include "algo/phase/gather.h"

#include "algo/phase/tree.h"

static bool has(struct rcx_interval members, int i)
{
    return members.lo <= i && i < members.hi;
}

static int collector(struct rcx_interval members, int root)
{
    return has(members, root) ? root : members.lo;
}

/* As the fixed tree, or mirrored where the root would be in the lesser half. */
static int split(struct rcx_interval members, int root)
{
    const int mid = rcx_tree_split(members);

    return mid <= root && root < members.hi ? members.hi - (mid - members.lo)
                                            : mid;
}

/* Where in the vector the members' blocks lie. */
static struct rcx_span place_of(const struct rcx_blocks *blocks,
                                struct rcx_interval members)
{
    const struct rcx_span vector = {.count = blocks->count};

    return rcx_block_range(blocks, vector, members.lo, members.hi);
}

/* The members whose blocks this one collects, and who gets them: -1 if it is
 * the root. */
static struct rcx_interval collected(const struct rcx_group *g, int root,
                                     int *parent_p)
{
    struct rcx_interval at = {.lo = 0, .hi = g->size};
    int parent = -1;

    while (collector(at, root) != g->rank) {
        const int mid = split(at, root);

        parent = collector(at, root);
        if (g->rank < mid)
            at.hi = mid;
        else
            at.lo = mid;
    }
    *parent_p = parent < 0 ? -1 : rcx_group_member(g, parent);
    return at;
}

void rcx_gather_begin(struct rcx_gather *gather, struct rcx_builder *b,
                      const struct rcx_group *g,
                      const struct rcx_blocks *blocks, int root,
                      struct rcx_span vector)
{
    struct rcx_interval at = collected(g, root, &gather->parent);
    const struct rcx_span place = place_of(blocks, at);
    struct rcx_span own;

    gather->b = b;
    gather->all = vector.count > 0
                      ? rcx_span_sub(vector, place.offset, place.count)
                      : rcx_span_scratch(b, place.count);
    gather->child_count = 0;
    while (at.hi - at.lo > 1) {
        const int mid = split(at, root), i = gather->child_count++;
        const struct rcx_interval low = {.lo = at.lo, .hi = mid},
                                  high = {.lo = mid, .hi = at.hi};
        const struct rcx_interval other = g->rank < mid ? high : low;
        const struct rcx_span theirs = place_of(blocks, other);

        gather->children[i].rank = rcx_group_member(g, collector(other, root));
        gather->children[i].blocks = rcx_span_sub(
            gather->all, theirs.offset - place.offset, theirs.count);
        at = g->rank < mid ? low : high;
    }
    own = place_of(blocks, at);
    gather->own =
        rcx_span_sub(gather->all, own.offset - place.offset, own.count);
}

void rcx_gather_finish(struct rcx_gather *gather)
{
    for (int i = gather->child_count - 1; i >= 0; i--)
        rcx_step_recv(gather->b, gather->children[i].rank,
                      gather->children[i].blocks);
    if (gather->parent >= 0)
        rcx_step_send(gather->b, gather->parent, gather->all);
}

void rcx_gather_reverse(struct rcx_gather *gather)
{
    if (gather->parent >= 0)
        rcx_step_recv(gather->b, gather->parent, gather->all);
    for (int i = 0; i < gather->child_count; i++)
        rcx_step_send(gather->b, gather->children[i].rank,
                      gather->children[i].blocks);
}

struct rcx_cost rcx_gather_cost(const struct rcx_blocks *blocks)
{
    const double rounds = rcx_log2_ceil(blocks->n);
    const double most = rounds * (double)blocks->count;
    const double others = (blocks->n - 1) * (double)rcx_blocks_largest(blocks);

    return (struct rcx_cost){.rounds = rounds,
                             .volume = others < most ? others : most};
}
