/* SPDX-License-Identifier: BSD-3-Clause */
/* Groups: the ordered subsets of ranks that phases work on. A group computes
 * the rank of a member from a few numbers, a list, or a map of nodes; it
 * allocates nothing. */
#include "core/sched/algo.h"

static int strided_member(const struct rcx_group *g, int i)
{
    return g->a + i * g->b;
}

static int folded_member(const struct rcx_group *g, int i)
{
    return i < g->a ? 2 * i + 1 : i + g->a;
}

static int listed_member(const struct rcx_group *g, int i)
{
    return g->list[i];
}

static int place_member(const struct rcx_group *g, int i)
{
    return g->nodes->ranks[g->nodes->first[i] + g->a];
}

/* a: the root, which is the leader of its node. */
static int leader_member(const struct rcx_group *g, int i)
{
    return g->nodes->node[g->a] == i ? g->a
                                     : g->nodes->ranks[g->nodes->first[i]];
}

struct rcx_group rcx_group_strided(const struct rcx_shape *s, int first,
                                   int stride, int size)
{
    const int distance = s->rank - first;
    const bool member =
        distance >= 0 && distance % stride == 0 && distance / stride < size;

    return (struct rcx_group){.size = size,
                              .rank = member ? distance / stride : -1,
                              .member = strided_member,
                              .a = first,
                              .b = stride};
}

struct rcx_group rcx_group_all(const struct rcx_shape *s)
{
    return rcx_group_strided(s, 0, 1, s->size);
}

struct rcx_group rcx_group_folded(const struct rcx_shape *s, int r)
{
    int rank = s->rank - r;

    if (s->rank < 2 * r)
        rank = s->rank % 2 ? s->rank / 2 : -1;
    return (struct rcx_group){
        .size = s->size - r, .rank = rank, .member = folded_member, .a = r};
}

struct rcx_group rcx_group_node(const struct rcx_shape *s, int node)
{
    const struct rcx_nodes *n = s->nodes;

    return (struct rcx_group){
        .size = rcx_nodes_size(n, node),
        .rank = n->node[s->rank] == node ? n->place[s->rank] : -1,
        .member = listed_member,
        .list = n->ranks + n->first[node]};
}

struct rcx_group rcx_group_across(const struct rcx_shape *s, int place)
{
    const struct rcx_nodes *n = s->nodes;

    return (struct rcx_group){
        .size = n->count,
        .rank = n->place[s->rank] == place ? n->node[s->rank] : -1,
        .member = place_member,
        .a = place,
        .nodes = n};
}

struct rcx_group rcx_group_leaders(const struct rcx_shape *s)
{
    struct rcx_group g = {.size = s->nodes->count,
                          .rank = s->nodes->node[s->rank],
                          .member = leader_member,
                          .a = s->root,
                          .nodes = s->nodes};

    if (leader_member(&g, g.rank) != s->rank)
        g.rank = -1;
    return g;
}

struct rcx_group rcx_group_listed(const struct rcx_shape *s, const int *list,
                                  int size)
{
    struct rcx_group g = {
        .size = size, .rank = -1, .member = listed_member, .list = list};

    for (int i = 0; i < size; i++)
        if (list[i] == s->rank)
            g.rank = i;
    return g;
}
