/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Builds maps of ranks to the groups of levels from ids of each rank, by
 * sorting. The caller knows the ids; nothing is detected here.
 */
#include "core/sched/nodes.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/hash.h"

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

void rcx_nodes_free(struct rcx_heap *heap, struct rcx_nodes *nodes)
{
    while (nodes) {
        struct rcx_nodes *coarser = nodes->coarser;

        rcx_nodes_free(heap, nodes->outer);
        rcx_heap_free(heap, nodes);
        nodes = coarser;
    }
}

/* ---- Levels -------------------------------------------------------------- */

const struct rcx_nodes *rcx_nodes_at(const struct rcx_nodes *n,
                                     enum rcx_level level)
{
    while (n && n->level != level)
        n = n->coarser;
    return n;
}

/* Whether the map of a level divides the ranks further than coarser ones do,
 * into groups that share something. Nodes count even if no rank shares one. */
static bool is_of_use(const struct rcx_nodes *n,
                      const struct rcx_nodes *coarser)
{
    return n->count > (coarser ? coarser->count : 1) &&
           (n->most > 1 || n->level == RCX_LEVEL_NODE);
}

/* Map the nodes of n by the levels coarser than it: a node lies where its first
 * rank does. */
static bool map_outer(struct rcx_heap *heap, struct rcx_nodes *n)
{
    int *leaders;
    bool good;

    if (!n->coarser)
        return true;
    leaders = rcx_heap_alloc(heap, (size_t)n->count * sizeof *leaders);
    for (int i = 0; leaders && i < n->count; i++)
        leaders[i] = n->ranks[n->first[i]];
    good = leaders &&
           rcx_nodes_map_subset(heap, n->coarser, leaders, n->count, &n->outer);
    rcx_heap_free(heap, leaders);
    return good;
}

/* Add the map of a level to *finest, if it is of use. unique: the ids of groups
 * of the last level, which become those of this one. */
static bool add_level(struct rcx_heap *heap, enum rcx_level level,
                      const uint64_t ids[], uint64_t unique[], int ranks,
                      struct rcx_nodes **finest)
{
    struct rcx_nodes *n;

    for (int i = 0; i < ranks; i++)
        unique[i] = rcx_hash(unique[i], ids[i]);
    n = rcx_nodes_create(heap, unique, ranks);
    if (!n)
        return false;
    n->level = level;
    if (!is_of_use(n, *finest)) {
        rcx_heap_free(heap, n);
        return true;
    }
    n->coarser = *finest;
    if (n->coarser)
        n->coarser->finer = n;
    *finest = n;
    return map_outer(heap, n);
}

bool rcx_nodes_map(struct rcx_heap *heap, const uint64_t *const ids[RCX_LEVELS],
                   int ranks, struct rcx_nodes **finest_p)
{
    uint64_t *unique = rcx_heap_zalloc(heap, (size_t)ranks * sizeof *unique);
    struct rcx_nodes *finest = NULL;
    bool good = unique;

    for (int level = 0; good && level < RCX_LEVELS; level++)
        if (ids[level])
            good = add_level(heap, (enum rcx_level)level, ids[level], unique,
                             ranks, &finest);
    rcx_heap_free(heap, unique);
    if (!good) {
        rcx_nodes_free(heap, finest);
        finest = NULL;
    }
    *finest_p = finest;
    return good;
}

bool rcx_nodes_map_subset(struct rcx_heap *heap, const struct rcx_nodes *all,
                          const int ranks[], int count,
                          struct rcx_nodes **finest_p)
{
    const uint64_t *ids[RCX_LEVELS] = {NULL};
    const size_t n = (size_t)count;
    uint64_t *list = rcx_heap_alloc(heap, RCX_LEVELS * n * sizeof *list);
    bool good = list;

    for (; good && all; all = all->coarser) {
        uint64_t *level = list + (size_t)all->level * n;

        for (int i = 0; i < count; i++)
            level[i] = (uint64_t)all->node[ranks[i]];
        ids[all->level] = level;
    }
    *finest_p = NULL;
    good = good && rcx_nodes_map(heap, ids, count, finest_p);
    rcx_heap_free(heap, list);
    return good;
}
