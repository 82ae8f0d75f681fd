/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Allreduce by nodes, which may have any number of ranks in any order (MPICH's
 * SMP-aware allreduce; Bayatpour et al. 2017, DPML). With one leader: reduce
 * within each node, allreduce among leaders, bcast within each node. With
 * several leaders, each has a share of the vector: ranks of a node
 * reduce-scatter shares, leaders at equal places of the nodes allreduce them,
 * and nodes allgather them. Thus all leaders use the network.
 *
 *   cost     2 (c-1) + 2 lg N messages or so, c ranks a node, N nodes
 *   volume   2 n (N-1)/N over the link of a node, with any leaders
 *   scratch  that of its phases
 *   order    SAME; RANK where the op does not commute, nodes are intervals of
 *            ranks, and the leaders' algorithm keeps that
 *
 * The phases are the cheapest ones, or within a node flat trees. If the ranks
 * of a node share a core, a context switch costs more than messages do, and
 * flat trees take the fewest switches.
 */
#include <string.h>

#include "algo/phase/by_nodes.h"
#include "algo/phase/topology.h"

enum { LEADERS, BETWEEN, WITHIN }; /* parameters */
enum { CHEAPEST };    /* value of BETWEEN; others name algorithms */
enum { CHEAP, FLAT }; /* values of WITHIN */

static const char *const betweens[] = {[CHEAPEST] = "cheapest",
                                       "recursive_doubling",
                                       "rabenseifner",
                                       "ring",
                                       "circulant",
                                       NULL};

static const char *const withins[] = {
    [CHEAP] = "cheapest", [FLAT] = "flat", NULL};

/* Candidates: one leader, or as many as the smallest node has ranks. */
static int64_t candidate(const struct rcx_shape *s, int i)
{
    switch (i) {
    case 0: return 1;
    case 1: return s->nodes ? s->nodes->least : 1;
    default: return RCX_PARAM_END;
    }
}

static const int64_t proved[] = {1, 2, 3, RCX_PARAM_END};
static const struct rcx_param params[] = {
    [LEADERS] = {.name = "leaders",
                 .doc = "leaders of a node, each with a share of the vector; "
                        "at most the ranks of the smallest node",
                 .least = 1,
                 .most = INT32_MAX,
                 .usual = RCX_PARAM_AUTO,
                 .proved = proved,
                 .candidate = candidate},
    [BETWEEN] = {.name = "between",
                 .doc = "the algorithm of the leaders",
                 .names = betweens,
                 .usual = CHEAPEST},
    [WITHIN] = {.name = "within",
                .doc = "with one leader: the trees of reduce and bcast within "
                       "a node",
                .names = withins,
                .usual = CHEAP},
    {.name = NULL},
};

/* Return the number of leaders of a node. The parameter is not auto here: cost
 * is called for each candidate, and the cheapest is taken. */
static int leaders_of(const struct rcx_shape *s)
{
    return s->params[LEADERS] < s->nodes->least ? (int)s->params[LEADERS]
                                                : s->nodes->least;
}

/* Return the elements of the longest share. */
static size_t share_of(const struct rcx_shape *s)
{
    const struct rcx_span whole = {.count = rcx_shape_longest(s)};

    return rcx_span_part(whole, leaders_of(s), 0).count;
}

/* Return the leaders' phase. Its parameters are those for the longest share, so
 * that all leaders take as long. */
static struct rcx_phase between(const struct rcx_shape *s)
{
    const char *name = betweens[s->params[BETWEEN]];
    const int nodes = s->nodes->count;
    struct rcx_phase phase;
    struct rcx_shape longest;

    if (s->params[BETWEEN] == CHEAPEST)
        return rcx_phase_cheapest(RCX_COLL_ALLREDUCE, rcx_by_nodes_needed(s), s,
                                  nodes, share_of(s),
                                  rcx_scope_between(s, leaders_of(s)));
    phase = rcx_phase_of(rcx_algo_find(RCX_COLL_ALLREDUCE, name));
    phase.scope = rcx_scope_between(s, leaders_of(s));
    longest = rcx_phase_shape(&phase, s, nodes, share_of(s));
    memcpy(phase.params, longest.params, sizeof phase.params);
    return phase;
}

/* ---- Shares -------------------------------------------------------------- */

/* Whether every rank has a share. If nodes have more ranks than leaders, the
 * others have none, and the phases are algorithms for unequal blocks. */
static bool shares_are_even(const struct rcx_shape *s)
{
    return leaders_of(s) == s->nodes->most;
}

static struct rcx_phase uneven_phase(enum rcx_coll coll)
{
    const char *name = coll == RCX_COLL_REDUCE_SCATTER ? "pairwise" : "ring";

    return rcx_phase_of(rcx_algo_find(coll, name));
}

static struct rcx_phase share_phase(enum rcx_coll coll,
                                    const struct rcx_shape *s, int ranks)
{
    return shares_are_even(s)
               ? rcx_by_nodes_within(coll, s, ranks, rcx_shape_longest(s))
               : uneven_phase(coll);
}

static struct rcx_cost shares_cost(const struct rcx_shape *s)
{
    const double others = s->nodes->most - 1;
    const size_t longest = rcx_shape_longest(s);

    if (shares_are_even(s))
        return rcx_cost_sum(
            rcx_by_nodes_within_cost(RCX_COLL_REDUCE_SCATTER, s, longest),
            rcx_by_nodes_within_cost(RCX_COLL_ALLGATHER, s, longest));
    return (struct rcx_cost){.rounds = 2 * others,
                             .volume = 2 * others * (double)share_of(s),
                             .combines = others * (double)share_of(s)};
}

/* Return the starts of the shares, one for each rank of a node, and the end.
 * The caller frees them. NULL: no memory, and b fails. */
static size_t *cut(struct rcx_builder *b, const struct rcx_shape *s, int ranks)
{
    const struct rcx_span whole = {.count = s->count};
    const int leaders = leaders_of(s);
    size_t *starts =
        rcx_heap_alloc(b->heap, ((size_t)ranks + 1) * sizeof *starts);

    if (!starts)
        rcx_builder_fail(b, RCX_ERR_NOMEM);
    for (int i = 0; starts && i <= ranks; i++)
        starts[i] =
            i < leaders ? rcx_span_part(whole, leaders, i).offset : s->count;
    return starts;
}

static void build_shares(struct rcx_builder *b, const struct rcx_shape *s,
                         const struct rcx_group *node,
                         const struct rcx_group *leaders)
{
    const struct rcx_span out = rcx_span_out(s);
    struct rcx_phase in = share_phase(RCX_COLL_REDUCE_SCATTER, s, node->size);
    struct rcx_phase back = share_phase(RCX_COLL_ALLGATHER, s, node->size);
    size_t *starts = cut(b, s, node->size);
    const struct rcx_blocks shares = {
        .displs = starts, .count = s->count, .n = node->size};
    struct rcx_span own;
    struct rcx_phase across;

    if (!starts)
        return;
    in.displs = back.displs = starts;
    own = rcx_block(&shares, out, node->rank);
    across = between(s);
    rcx_sched_within(b, &in, node, rcx_span_in(s), own);
    rcx_sched_within(b, &across, leaders, own, own);
    rcx_sched_within(b, &back, node, own, out);
    rcx_heap_free(b->heap, starts);
}

/* ---- One leader ---------------------------------------------------------- */

static struct rcx_phase within(enum rcx_coll coll, const struct rcx_shape *s,
                               int ranks)
{
    struct rcx_phase phase;

    if (s->params[WITHIN] == CHEAP)
        return rcx_by_nodes_within(coll, s, ranks, rcx_shape_longest(s));
    phase = rcx_phase_of(rcx_algo_find(coll, "tree"));
    phase.scope = rcx_scope_within(s);
    rcx_topology_set_flat(phase.params);
    return phase;
}

/* Return the cost of a phase within the slowest node; with flat trees that is
 * the largest one. */
static struct rcx_cost within_cost(enum rcx_coll coll,
                                   const struct rcx_shape *s)
{
    struct rcx_phase flat;

    if (s->params[WITHIN] == CHEAP)
        return rcx_by_nodes_within_cost(coll, s, rcx_shape_longest(s));
    flat = within(coll, s, s->nodes->most);
    return rcx_phase_cost(&flat, s, s->nodes->most, rcx_shape_longest(s));
}

static struct rcx_cost alone_cost(const struct rcx_shape *s)
{
    return rcx_cost_sum(within_cost(RCX_COLL_REDUCE, s),
                        within_cost(RCX_COLL_BCAST, s));
}

static void build_alone(struct rcx_builder *b, const struct rcx_shape *s,
                        const struct rcx_group *node,
                        const struct rcx_group *leaders)
{
    const struct rcx_span out = rcx_span_out(s);
    const struct rcx_phase up = within(RCX_COLL_REDUCE, s, node->size);
    const struct rcx_phase down = within(RCX_COLL_BCAST, s, node->size);
    const struct rcx_phase across = between(s);

    rcx_sched_within(b, &up, node, rcx_span_in(s), out);
    rcx_sched_within(b, &across, leaders, out, out);
    rcx_sched_within(b, &down, node, out, out);
}

/* ---- One leader or several ----------------------------------------------- */

static struct rcx_cost cost(const struct rcx_shape *s)
{
    int leaders;
    size_t share;
    struct rcx_phase across;

    if (!s->nodes) /* the algorithm does not fit */
        return (struct rcx_cost){.rounds = 0};
    leaders = leaders_of(s);
    share = share_of(s);
    across = between(s);
    return rcx_cost_sum(leaders > 1 ? shares_cost(s) : alone_cost(s),
                        rcx_phase_cost(&across, s, s->nodes->count, share));
}

static rcx_order_t order(const struct rcx_shape *s)
{
    const struct rcx_phase across = between(s);
    const struct rcx_shape inner =
        rcx_phase_shape(&across, s, s->nodes->count, share_of(s));
    const rcx_order_t stated = rcx_by_nodes_order(s);
    const rcx_order_t named = rcx_algo_order(across.algo, &inner);

    return named < stated ? named : stated;
}

static void build(struct rcx_builder *b, const struct rcx_shape *s)
{
    const struct rcx_group node = rcx_by_nodes_neighbours(s);
    const int leaders = leaders_of(s), place = s->nodes->place[s->rank];
    const struct rcx_group across =
        rcx_group_across(s, place < leaders ? place : 0);

    if (leaders > 1)
        build_shares(b, s, &node, &across);
    else
        build_alone(b, s, &node, &across);
}

const struct rcx_algo rcx_allreduce_hierarchical = {
    .name = "hierarchical",
    .coll = RCX_COLL_ALLREDUCE,
    .formula = "leaders = 1: reduce and bcast of c, allreduce of N; L "
               "leaders: reduce_scatter and allgather of c, allreduce of N "
               "and n/L; N nodes of c ranks",
    .needs = RCX_BY_NODES_NEEDS,
    .known_as = "MPICH: smp; Open MPI: han, ml; UCC: cl/hier rab, split_rail",
    .source = "Bayatpour et al. 2017; composition: design",
    .params = params,
    .is_by_nodes = true,
    .fits = rcx_by_nodes_fits,
    .order = order,
    .cost = cost,
    .build = build,
};
