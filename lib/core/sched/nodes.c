/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Builds maps of ranks to nodes or cores from an id per rank, by sorting. The
 * caller knows the ids; nothing is detected here.
 */
#include "core/sched/nodes.h"

#include <stdlib.h>

/* A rank, for sorting by node. */
struct member {
    uint64_t id;
    int rank, lowest; /* the rank; the lowest rank of its node */
};

/* The map and its lists, in one block of memory. */
struct map {
    struct rcx_nodes nodes;
    int *node, *place, *ranks, *first;
};

static int by_id(const void *a, const void *b)
{
    const struct member *x = a, *y = b;

    if (x->id != y->id)
        return x->id < y->id ? -1 : 1;
    return x->rank - y->rank;
}

static int by_node(const void *a, const void *b)
{
    const struct member *x = a, *y = b;

    return x->lowest != y->lowest ? x->lowest - y->lowest : x->rank - y->rank;
}

static void sort(struct member members[], const uint64_t ids[], int n)
{
    for (int i = 0; i < n; i++)
        members[i] = (struct member){.id = ids[i], .rank = i};
    qsort(members, (size_t)n, sizeof *members, by_id);
    for (int i = 0; i < n; i++)
        members[i].lowest = i > 0 && members[i].id == members[i - 1].id
                                ? members[i - 1].lowest
                                : members[i].rank;
    qsort(members, (size_t)n, sizeof *members, by_node);
}

static void fill(struct map *m, const struct member members[], int n)
{
    int node = -1;

    m->nodes.in_order = true;
    for (int i = 0; i < n; i++) {
        const int rank = members[i].rank;

        if (rank == members[i].lowest)
            m->first[++node] = i;
        m->node[rank] = node;
        m->place[rank] = i - m->first[node];
        m->ranks[i] = rank;
        m->nodes.in_order &= rank == i;
    }
    m->first[node + 1] = n;
    m->nodes.count = node + 1;
}

static void measure(struct rcx_nodes *nodes)
{
    nodes->least = nodes->most = rcx_nodes_size(nodes, 0);
    for (int i = 1; i < nodes->count; i++) {
        const int size = rcx_nodes_size(nodes, i);

        nodes->least = size < nodes->least ? size : nodes->least;
        nodes->most = size > nodes->most ? size : nodes->most;
    }
}

struct rcx_nodes *rcx_nodes_create(struct rcx_heap *heap, const uint64_t ids[],
                                   int ranks)
{
    const size_t n = (size_t)ranks;
    struct member *members = rcx_heap_alloc(heap, n * sizeof *members);
    struct map *m = rcx_heap_alloc(heap, sizeof *m + (4 * n + 1) * sizeof(int));

    if (members && m) {
        m->node = (int *)(m + 1);
        m->place = m->node + n;
        m->ranks = m->place + n;
        m->first = m->ranks + n;
        m->nodes = (struct rcx_nodes){.node = m->node,
                                      .place = m->place,
                                      .ranks = m->ranks,
                                      .first = m->first};
        sort(members, ids, ranks);
        fill(m, members, ranks);
        measure(&m->nodes);
    }
    rcx_heap_free(heap, members);
    if (members && m)
        return &m->nodes;
    rcx_heap_free(heap, m);
    return NULL;
}

bool rcx_nodes_map(struct rcx_heap *heap, const uint64_t ids[], int ranks,
                   struct rcx_nodes **nodes_p)
{
    struct rcx_nodes *nodes = rcx_nodes_create(heap, ids, ranks);

    *nodes_p = nodes;
    if (!nodes || nodes->count > 1)
        return nodes;
    rcx_heap_free(heap, nodes);
    *nodes_p = NULL;
    return true;
}
