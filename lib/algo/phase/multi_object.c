/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Allgather of the parts of nodes with several ranks of each in a round, as a
 * phase of allgather, allreduce and barrier multi_object. multi_object.h has
 * the rounds.
 */
#include "algo/phase/multi_object.h"

#include "algo/phase/run.h"

struct gather {
    struct rcx_builder *b;
    const struct rcx_shape *s;
    const struct rcx_blocks *parts;
    struct rcx_span vector;
    struct rcx_group node;
};

bool rcx_multi_object_fits(const struct rcx_shape *s)
{
    return rcx_by_nodes_fits(s) && s->nodes->level == RCX_LEVEL_NODE;
}

/* ---- Weights ------------------------------------------------------------- */

/* Return the parts that a node has after weight w. */
static int64_t reached(const struct rcx_shape *s, int64_t w)
{
    const int64_t all = w * (s->nodes->least + 1);

    return all < s->nodes->count ? all : s->nodes->count;
}

/* ---- Steps --------------------------------------------------------------- */

/* Return the parts of nodes from to end - 1 above the own one. */
static struct rcx_run parts_of(const struct gather *g, int64_t from,
                               int64_t end)
{
    const int64_t first = rcx_by_nodes_own(g->s) + from;

    return (struct rcx_run){.blocks = g->parts,
                            .vector = g->vector,
                            .first = (int)(first % g->parts->n),
                            .n = (int)(end - from)};
}

/* Return the parts that a rank of the node gets at weight w, of those before
 * end; none: n is 0 or less. */
static struct rcx_run parts_for(const struct gather *g, int rank, int64_t w,
                                int64_t end)
{
    const int64_t from = (rank + 1) * w;

    return parts_of(g, from, from + w < end ? from + w : end);
}

/* Return the rank at this one's place of the node that is so far above. */
static int like(const struct gather *g, int64_t nodes)
{
    const struct rcx_nodes *n = g->s->nodes;
    const int64_t node = rcx_by_nodes_own(g->s) + nodes + n->count;

    return n->ranks[n->first[node % n->count] + g->node.rank];
}

/* Send what this rank got, if it is any, to the others of its node, and receive
 * what they got. */
static void share(const struct gather *g, int64_t w, int64_t end,
                  struct rcx_span got)
{
    const int me = g->node.rank, ranks = g->node.size;
    const struct rcx_run own = parts_for(g, me, w, end);

    for (int t = 1; t < ranks; t++) {
        const int above = (me + t) % ranks, below = (me + ranks - t) % ranks;
        const struct rcx_run theirs = parts_for(g, below, w, end);

        if (theirs.n > 0)
            rcx_run_recv(g->b, rcx_group_member(&g->node, below), &theirs);
        if (own.n > 0)
            rcx_step_send(g->b, rcx_group_member(&g->node, above), got);
    }
}

void rcx_multi_object_allgather(struct rcx_builder *b,
                                const struct rcx_shape *s,
                                const struct rcx_blocks *parts,
                                struct rcx_span vector)
{
    const struct gather g = {.b = b,
                             .s = s,
                             .parts = parts,
                             .vector = vector,
                             .node = rcx_by_nodes_neighbours(s)};

    for (int64_t w = 1; w < parts->n; w = reached(s, w)) {
        const int64_t end = reached(s, w), far = (g.node.rank + 1) * w;
        const struct rcx_run coming = parts_for(&g, g.node.rank, w, end);
        const struct rcx_run going = parts_of(&g, 0, coming.n);
        struct rcx_span got = {0};

        if (coming.n > 0) {
            got = rcx_run_recv(b, like(&g, far), &coming);
            rcx_run_send(b, like(&g, -far), &going);
        }
        share(&g, w, end, got);
    }
}

void rcx_multi_object_share(struct rcx_builder *b, const struct rcx_shape *s,
                            const struct rcx_phase *within, struct rcx_span in,
                            const struct rcx_blocks *parts,
                            struct rcx_span vector)
{
    const struct rcx_group node = rcx_by_nodes_neighbours(s);

    rcx_sched_within(b, within, &node, in,
                     rcx_block(parts, vector, rcx_by_nodes_own(s)));
    rcx_multi_object_allgather(b, s, parts, vector);
}

/* ---- Cost ---------------------------------------------------------------- */

/* Return the cost of the messages between nodes at a weight: the longest, and
 * over the link of a node those of all of its ranks. */
static struct rcx_cost between_cost(const struct rcx_shape *s, int64_t w,
                                    double part)
{
    const int64_t end = reached(s, w);
    const double longest = (double)(end - w < w ? end - w : w) * part;
    const double all = (double)(end - w) * part;
    const double beside = s->beside > 0 ? s->beside : 1;
    struct rcx_cost cost = {.rounds = 1, .volume = longest};

    cost.across[s->nodes->level] =
        (struct rcx_crossing){.rounds = 1, .volume = all * beside};
    rcx_cost_cross(&cost, s->nodes->outer, s,
                   (struct rcx_crossing){.rounds = 1, .volume = all});
    return cost;
}

/* Return the cost of the rounds, with the elements of the largest part. */
static struct rcx_cost rounds_cost(const struct rcx_shape *s, size_t part)
{
    struct rcx_phase direct =
        rcx_phase_of(rcx_algo_find(RCX_COLL_ALLGATHER, "direct"));
    const int ranks = s->nodes->most;
    struct rcx_cost cost = {0};

    direct.scope = rcx_scope_within(s);
    direct.params[0] = 0; /* all messages posted at once */
    for (int64_t w = 1; w < s->nodes->count; w = reached(s, w)) {
        const int64_t more = reached(s, w) - w, longest = more < w ? more : w;
        const size_t shared = (size_t)longest * part * (size_t)ranks;

        cost = rcx_cost_sum(cost, between_cost(s, w, (double)part));
        cost = rcx_cost_sum(cost, rcx_phase_cost(&direct, s, ranks, shared));
    }
    return cost;
}

struct rcx_cost rcx_multi_object_cost(enum rcx_coll coll,
                                      const struct rcx_shape *s, size_t count,
                                      size_t part)
{
    return rcx_cost_sum(rcx_by_nodes_within_cost(coll, s, count),
                        rounds_cost(s, part));
}
